// SPDX-License-Identifier: MIT

// The tracks as rows: which are shown, in which order, and where.

import type { Track } from "../api";

export interface Row {
    track: Track;
    level: number; // 0: at the top of the tree
    top: number; // px from the first row of its part
    height: number;
    hasChildren: boolean;
    open: boolean;
    position: number; // among its siblings, from 1
    siblings: number;
}

export const GROUP_HEIGHT = 22;
export const DEPTH_HEIGHT = 17;
export const ROW_PADDING = 3;
const STATES_HEIGHT = 18;
const EVENTS_HEIGHT = 20;
const COUNTER_HEIGHT = 30;
const LOSSES_HEIGHT = 16;
// A group with more tracks than this is closed when the page opens.
const OPEN_CHILDREN_MAX = 24;
// In the order from the guest down, as a request passes.
const LAYERS = ["guest", "program", "vmm", "hypervisor", "host"];

export function rowHeight(track: Track): number {
    switch (track.kind) {
        case "group":
            return GROUP_HEIGHT;
        case "states":
            return STATES_HEIGHT + 2 * ROW_PADDING;
        case "events":
            return EVENTS_HEIGHT + 2 * ROW_PADDING;
        case "counter":
            return COUNTER_HEIGHT + 2 * ROW_PADDING;
        case "losses":
            return LOSSES_HEIGHT + 2 * ROW_PADDING;
        default:
            return Math.max(1, track.depths) * DEPTH_HEIGHT + 2 * ROW_PADDING;
    }
}

export class TrackTree {
    readonly byId = new Map<number, Track>();
    private readonly children = new Map<number | null, Track[]>();
    closed = new Set<number>();
    pinned: number[] = [];
    filter = "";
    moved = new Map<number, number>(); // track to its rank, where the user changed it
    rows: Row[] = [];
    height = 0;
    pinnedRows: Row[] = [];
    pinnedHeight = 0;
    version = 0; // changes with the rows

    tracks: Track[] = [];

    constructor(tracks: Track[]) {
        this.fill(tracks);
        this.closeLarge();
        this.update();
    }

    private fill(tracks: Track[]): void {
        this.tracks = tracks;
        this.byId.clear();
        this.children.clear();
        for (const track of tracks) {
            this.byId.set(track.id, track);
            const siblings = this.children.get(track.parent);
            if (siblings) siblings.push(track);
            else this.children.set(track.parent, [track]);
        }
    }

    // Updates to the tracks of a newer index. Closed, pinned and moved tracks stay so.
    renew(tracks: Track[]): void {
        const before = new Set(this.children.keys());
        this.fill(tracks);
        this.closeLarge(before);
        this.update();
    }

    // All but the groups EXCEPT.
    private closeLarge(except: Set<number | null> = new Set()): void {
        for (const [parent, list] of this.children) {
            if (except.has(parent)) continue;
            // What lies in a CPU's track is a second look at it.
            const isGroup = parent !== null && this.byId.get(parent)?.kind === "group";
            if (parent !== null && (!isGroup || list.length > OPEN_CHILDREN_MAX)) this.closed.add(parent);
        }
    }

    reset(): void {
        this.closed.clear();
        this.pinned = [];
        this.moved.clear();
        this.filter = "";
        this.closeLarge();
    }

    childrenOf(parent: number | null): Track[] {
        const list = this.children.get(parent) ?? [];
        const rank = (track: Track) => this.moved.get(track.id) ?? track.rank;
        const layer = (track: Track) =>
            parent === null && !this.moved.has(track.id) ? LAYERS.indexOf(track.layer) : 0;
        return [...list].sort((a, b) => layer(a) - layer(b) || rank(a) - rank(b));
    }

    // "guest / Threads / dd"
    path(id: number): string {
        const names: string[] = [];
        for (let track = this.byId.get(id); track && names.length < 32; ) {
            names.unshift(track.name);
            track = track.parent === null ? undefined : this.byId.get(track.parent);
        }
        return names.join(" / ");
    }

    // Makes `rows` from the closed, pinned, filtered and moved tracks.
    update(): void {
        const matches = this.filter ? this.matching() : null;
        this.version++;
        this.rows = [];
        let top = 0;
        const add = (parent: number | null, level: number) => {
            const list = this.childrenOf(parent).filter((track) => !matches || matches.all.has(track.id));
            list.forEach((track, i) => {
                const hasChildren = this.children.has(track.id);
                const open = hasChildren && (matches?.around.has(track.id) || !this.closed.has(track.id));
                const height = rowHeight(track);
                this.rows.push({ track, level, top, height, hasChildren, open, position: i + 1, siblings: list.length });
                top += height;
                if (open && level < 32) add(track.id, level + 1);
            });
        };
        add(null, 0);
        this.height = top;
        this.updatePinned();
    }

    private updatePinned(): void {
        let top = 0;
        this.pinnedRows = [];
        this.pinned.forEach((id, i) => {
            const track = this.byId.get(id);
            if (!track) return;
            const height = rowHeight(track);
            const row = { track, level: 0, top, height, hasChildren: false, open: false };
            this.pinnedRows.push({ ...row, position: i + 1, siblings: this.pinned.length });
            top += height;
        });
        this.pinnedHeight = top;
    }

    // The tracks that match the filter, with their contents, and the groups around them, which are open. "a b, c"
    // means: a and b, or c.
    private matching(): { all: Set<number>; around: Set<number> } {
        const choices = this.filter
            .toLowerCase()
            .split(",")
            .map((choice) => choice.split(/\s+/).filter(Boolean))
            .filter((words) => words.length);
        const found = new Set<number>();
        const around = new Set<number>();
        const addBelow = (id: number) => {
            found.add(id);
            for (const child of this.children.get(id) ?? []) if (!found.has(child.id)) addBelow(child.id);
        };
        for (const track of this.tracks) {
            const text = this.path(track.id).toLowerCase();
            if (!choices.some((words) => words.every((word) => text.includes(word)))) continue;
            addBelow(track.id);
        }
        for (const id of found)
            for (let up = this.byId.get(id)?.parent ?? null; up !== null; up = this.byId.get(up)?.parent ?? null)
                if (!found.has(up)) around.add(up);
        for (const id of around) found.add(id);
        return { all: found, around };
    }

    toggle(id: number): void {
        if (!this.closed.delete(id)) this.closed.add(id);
        this.update();
    }

    togglePin(id: number): void {
        const at = this.pinned.indexOf(id);
        if (at >= 0) this.pinned.splice(at, 1);
        else this.pinned.push(id);
        this.update();
    }

    // Moves a track among its siblings: BY is -1 or 1. False if it is at the end already.
    move(id: number, by: number): boolean {
        const track = this.byId.get(id);
        if (!track) return false;
        const list = this.childrenOf(track.parent);
        const at = list.findIndex((other) => other.id === id);
        const to = at + by;
        if (to < 0 || to >= list.length) return false;
        list.splice(to, 0, ...list.splice(at, 1));
        list.forEach((other, i) => this.moved.set(other.id, i));
        this.update();
        return true;
    }

    // Opens all groups around a track. True if rows changed.
    reveal(id: number): boolean {
        let changed = false;
        if (!this.rows.some((row) => row.track.id === id) && this.filter) {
            this.filter = "";
            changed = true;
        }
        for (let up = this.byId.get(id)?.parent ?? null; up !== null; up = this.byId.get(up)?.parent ?? null)
            changed = this.closed.delete(up) || changed;
        if (changed) this.update();
        return changed;
    }

    rowOf(id: number): Row | undefined {
        return this.rows.find((row) => row.track.id === id);
    }

    // The rows between TOP and BOTTOM.
    rowsBetween(top: number, bottom: number): Row[] {
        return rowsBetween(this.rows, top, bottom);
    }
}

export function rowsBetween(rows: Row[], top: number, bottom: number): Row[] {
    let low = 0;
    let high = rows.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (rows[middle].top + rows[middle].height <= top) low = middle + 1;
        else high = middle;
    }
    let end = low;
    while (end < rows.length && rows[end].top < bottom) end++;
    return rows.slice(low, end);
}
