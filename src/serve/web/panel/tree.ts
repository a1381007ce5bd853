// SPDX-License-Identifier: MIT

// Shows the names of the tracks as a tree. Only visible rows have elements.

import type { Row, TrackTree } from "../model/tracks";
import { rowsBetween } from "../model/tracks";
import { formatCount } from "../model/time";
import type { Palette } from "../draw/colours";
import { byId, make, makeButton } from "./dom";

const INDENT_PX = 12;

export interface TreeActions {
    changed(): void; // rows have changed
    focus(track: number | null): void;
    scrollTo(row: Row): void;
    scrollBy(px: number): void;
    openSlice(track: number): void;
}

export class TreePanel {
    private readonly element = byId<HTMLDivElement>("tree");
    private readonly pinnedPart = make("div", "part pinned");
    private readonly part = make("div", "part");
    private drawn = "";
    private focused: number | null = null;
    private dragged: { id: number; y: number } | null = null;

    constructor(
        private readonly tree: TrackTree,
        private readonly actions: TreeActions,
    ) {
        this.pinnedPart.setAttribute("role", "group");
        this.pinnedPart.setAttribute("aria-label", "Pinned tracks");
        this.part.setAttribute("role", "presentation");
        this.element.append(this.pinnedPart, this.part);
        this.element.addEventListener("keydown", (event) => this.onKey(event));
        this.element.addEventListener("wheel", (event) => {
            event.preventDefault();
            this.actions.scrollBy(event.deltaY);
        });
        this.element.addEventListener("pointermove", (event) => this.onDragMove(event));
        this.element.addEventListener("pointerup", () => (this.dragged = null));
        this.element.addEventListener("pointerleave", () => (this.dragged = null));
    }

    draw(scroll: number, height: number, pinnedHeight: number, focus: number | null, palette: Palette): void {
        this.focused = focus;
        const rows = this.tree.rowsBetween(scroll, scroll + height - pinnedHeight);
        const pinned = rowsBetween(this.tree.pinnedRows, 0, pinnedHeight);
        const state = [this.tree.version, scroll, height, pinnedHeight, focus, palette.background, rows.map(rowState), pinned.map(rowState)];
        const drawn = JSON.stringify(state);
        if (drawn === this.drawn) return;
        this.drawn = drawn;
        this.pinnedPart.hidden = !pinned.length;
        this.pinnedPart.style.top = "0";
        this.pinnedPart.style.height = `${pinnedHeight}px`;
        this.part.style.top = `${pinnedHeight}px`;
        this.part.style.height = `${Math.max(0, height - pinnedHeight)}px`;
        this.pinnedPart.replaceChildren(...pinned.map((row) => this.makeRow(row, row.top, true, palette)));
        this.part.replaceChildren(...rows.map((row) => this.makeRow(row, row.top - scroll, false, palette)));
        const active = focus !== null && rows.some((row) => row.track.id === focus);
        if (active) this.element.setAttribute("aria-activedescendant", `row-${focus}`);
        else this.element.removeAttribute("aria-activedescendant");
    }

    private makeRow(row: Row, top: number, pinned: boolean, palette: Palette): HTMLElement {
        const { track } = row;
        const element = make("div", `row${track.kind === "group" ? " group" : ""}`);
        const isFocused = track.id === this.focused;
        element.style.top = `${top}px`;
        element.style.height = `${row.height}px`;
        element.style.paddingLeft = `${6 + (pinned ? 0 : row.level * INDENT_PX)}px`;
        element.title = this.tree.path(track.id);
        element.classList.toggle("focused", isFocused);
        element.setAttribute("role", "treeitem");
        element.setAttribute("aria-level", String(row.level + 1));
        element.setAttribute("aria-posinset", String(row.position));
        element.setAttribute("aria-setsize", String(row.siblings));
        element.setAttribute("aria-selected", String(isFocused));
        if (row.hasChildren) element.setAttribute("aria-expanded", String(row.open));
        if (!pinned) element.id = `row-${track.id}`;
        const layer = make("span", "layer");
        layer.style.background = palette.layers.get(track.layer) ?? palette.faint;
        layer.title = track.layer;
        const twisty = make("span", "twisty", row.hasChildren ? (row.open ? "▾" : "▸") : "");
        const name = pinned ? this.tree.path(track.id) : track.name;
        const isPinned = this.tree.pinned.includes(track.id);
        const pin = makeButton(isPinned ? "unpin" : "pin", "pin", () => {
            this.tree.togglePin(track.id);
            this.actions.changed();
        });
        pin.tabIndex = -1;
        pin.setAttribute("aria-pressed", String(isPinned));
        pin.setAttribute("aria-label", `Pin ${track.name}`);
        element.append(
            twisty,
            layer,
            make("span", "name", name),
            make("span", "note", noteOf(row)),
            ...(track.kind === "group" ? [] : [pin]),
        );
        element.addEventListener("click", (event) => {
            if (event.target === pin) return;
            this.actions.focus(track.id);
            if (row.hasChildren && (event.target === twisty || track.kind === "group")) {
                this.tree.toggle(track.id);
                this.actions.changed();
            }
        });
        element.addEventListener("pointerdown", (event) => {
            if (!pinned && event.button === 0) this.dragged = { id: track.id, y: event.clientY };
        });
        return element;
    }

    // A dragged row changes places with its neighbour after it has passed half of it.
    private onDragMove(event: PointerEvent): void {
        const { dragged } = this;
        if (!dragged || !(event.buttons & 1)) return;
        const row = this.tree.rowOf(dragged.id);
        if (!row) return;
        const by = event.clientY - dragged.y;
        if (Math.abs(by) < Math.max(14, row.height * 0.7)) return;
        if (this.tree.move(dragged.id, by > 0 ? 1 : -1)) this.actions.changed();
        dragged.y = event.clientY;
    }

    private onKey(event: KeyboardEvent): void {
        const { rows } = this.tree;
        const at = rows.findIndex((row) => row.track.id === this.focused);
        const row = rows[at] as Row | undefined;
        const go = (to: number) => {
            const next = rows[Math.max(0, Math.min(rows.length - 1, to))];
            if (!next) return;
            this.focused = next.track.id; // the next key may come before it is drawn
            this.actions.focus(next.track.id);
            this.actions.scrollTo(next);
        };
        if (event.altKey && row && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
            if (this.tree.move(row.track.id, event.key === "ArrowUp" ? -1 : 1)) this.actions.changed();
        } else if (event.ctrlKey || event.metaKey || event.altKey) {
            return;
        } else if (event.key === "ArrowDown") go(at + 1);
        else if (event.key === "ArrowUp") go(at < 0 ? 0 : at - 1);
        else if (event.key === "Home") go(0);
        else if (event.key === "End") go(rows.length - 1);
        else if (event.key === "PageDown") go(at + 10);
        else if (event.key === "PageUp") go(at - 10);
        else if (row && event.key === "ArrowRight" && row.hasChildren && !row.open) this.toggle(row);
        else if (row && event.key === "ArrowRight" && row.hasChildren) go(at + 1);
        else if (row && event.key === "ArrowLeft" && row.hasChildren && row.open) this.toggle(row);
        else if (row && event.key === "ArrowLeft") go(rows.findIndex((other) => other.track.id === row.track.parent));
        else if (row && event.key === "Enter" && row.hasChildren) this.toggle(row);
        else if (row && event.key === "Enter") this.actions.openSlice(row.track.id);
        else if (row && (event.key === "p" || event.key === "P") && row.track.kind !== "group") {
            this.tree.togglePin(row.track.id);
            this.actions.changed();
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }

    private toggle(row: Row): void {
        this.tree.toggle(row.track.id);
        this.actions.changed();
    }
}

function rowState(row: Row): (number | boolean)[] {
    return [row.track.id, row.top, row.level, row.open];
}

function noteOf({ track }: Row): string {
    if (track.kind === "group" || !track.n) return "";
    return track.kind === "counter" ? track.unit ?? "" : formatCount(track.n);
}
