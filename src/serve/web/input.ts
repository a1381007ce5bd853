// SPDX-License-Identifier: MIT

// Keys, wheel and pointer on the timeline.

import { RULER_HEIGHT } from "./draw/scene";
import type { Span, View } from "./view/view";

const ZOOM_STEP = 0.7;
const PAN_STEP = 0.15;
const SCROLL_STEP_PX = 60;
const WHEEL_ZOOM_PX = 450; // of the wheel, for a factor of e
const CLICK_PX = 4; // a drag that is shorter is a click
const LINE_PX = 18;

export interface Actions {
    click(x: number, y: number): void;
    doubleClick(x: number, y: number): void;
    hover(x: number, y: number): void;
    leave(): void;
    select(span: Span, done: boolean): void;
    scrollBy(px: number): void;
    search(): void;
    mark(): void;
    fit(): void;
    help(): void;
    arrows(): void;
    events(): void;
    latency(): void;
    toggleFollow(): void;
    neighbour(by: number): void;
    follow(by: number): void;
    enter(): void;
    escape(): void;
}

export class Input {
    private pointer: number | null = null; // x

    constructor(
        private readonly canvas: HTMLCanvasElement,
        private readonly view: View,
        private readonly actions: Actions,
    ) {
        document.addEventListener("keydown", (event) => this.onKey(event));
        canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
        canvas.addEventListener("pointerdown", (event) => this.onPress(event));
        canvas.addEventListener("pointermove", (event) => {
            const { x, y } = this.place(event);
            this.pointer = x;
            if (!event.buttons) actions.hover(x, y);
        });
        canvas.addEventListener("pointerleave", () => {
            this.pointer = null;
            actions.leave();
        });
        canvas.addEventListener("dblclick", (event) => {
            const { x, y } = this.place(event);
            actions.doubleClick(x, y);
        });
    }

    private place(event: MouseEvent): { x: number; y: number } {
        const box = this.canvas.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    // Zooms at the pointer if it is over the rows, or in the middle.
    private zoomAt(): number {
        const { view } = this;
        return this.pointer !== null && !view.moving ? view.time(this.pointer) : (view.goal.from + view.goal.to) / 2;
    }

    zoomIn(): void {
        this.view.zoom(ZOOM_STEP, this.zoomAt(), true);
    }

    zoomOut(): void {
        this.view.zoom(1 / ZOOM_STEP, this.zoomAt(), true);
    }

    private onKey(event: KeyboardEvent): void {
        const { target } = event;
        const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
        const inDialog = target instanceof Element && target.closest("dialog") !== null;
        // AltGr makes letters on many keyboards, and may look like Ctrl and Alt.
        const commands = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph");
        if (event.defaultPrevented || typing || inDialog || commands) return;
        // Keys that move a table, a list or a control, and press a button, are theirs.
        const onTimeline = target === this.canvas || target === document.body;
        const run = this.keyAction(event.key.length === 1 ? event.key.toLowerCase() : event.key, onTimeline);
        if (!run) return;
        event.preventDefault();
        run();
    }

    private keyAction(key: string, onTimeline: boolean): (() => void) | null {
        const { view, actions } = this;
        switch (key) {
            case "w":
                return () => this.zoomIn();
            case "s":
                return () => this.zoomOut();
            case "a":
                return () => view.pan(-PAN_STEP, true);
            case "d":
                return () => view.pan(PAN_STEP, true);
            case "0":
                return () => view.moveTo(view.whole());
            case "/":
                return () => actions.search();
            case "m":
                return () => actions.mark();
            case "f":
                return () => actions.fit();
            case "g":
                return () => actions.toggleFollow();
            case "r":
                return () => actions.arrows();
            case "l":
                return () => actions.latency();
            case "e":
                return () => actions.events();
            case "?":
                return () => actions.help();
            case ",":
                return () => actions.neighbour(-1);
            case ".":
                return () => actions.neighbour(1);
            case "[":
                return () => actions.follow(-1);
            case "]":
                return () => actions.follow(1);
            case "Escape":
                return () => actions.escape();
        }
        if (!onTimeline) return null;
        switch (key) {
            case "ArrowLeft":
                return () => view.pan(-PAN_STEP, true);
            case "ArrowRight":
                return () => view.pan(PAN_STEP, true);
            case "ArrowUp":
                return () => actions.scrollBy(-SCROLL_STEP_PX);
            case "ArrowDown":
                return () => actions.scrollBy(SCROLL_STEP_PX);
            case "PageUp":
                return () => actions.scrollBy(-this.canvas.clientHeight * 0.8);
            case "PageDown":
                return () => actions.scrollBy(this.canvas.clientHeight * 0.8);
            case "Enter":
                return () => actions.enter();
            default:
                return null;
        }
    }

    private onWheel(event: WheelEvent): void {
        event.preventDefault();
        const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
        const dx = event.deltaX * unit;
        const dy = event.deltaY * unit;
        const { view } = this;
        if (event.shiftKey) view.pan((dy || dx) / view.width, false);
        else if (Math.abs(dx) > Math.abs(dy)) view.pan(dx / view.width, false);
        else view.zoom(Math.exp(dy / WHEEL_ZOOM_PX), view.time(this.place(event).x), false);
    }

    private onPress(event: PointerEvent): void {
        if (event.button !== 0) return;
        const { canvas, view, actions } = this;
        const start = this.place(event);
        const from = view.time(start.x);
        const selects = event.shiftKey || start.y < RULER_HEIGHT;
        let before = start;
        let dragged = false;
        canvas.focus();
        canvas.setPointerCapture(event.pointerId);
        actions.leave();
        const onMove = (moved: PointerEvent) => {
            const now = this.place(moved);
            if (Math.hypot(now.x - start.x, now.y - start.y) >= CLICK_PX) dragged = true;
            if (!dragged) return;
            if (selects) {
                actions.select(spanOf(from, view.time(now.x)), false);
            } else {
                view.pan((before.x - now.x) / view.width, false);
                actions.scrollBy(before.y - now.y);
            }
            before = now;
        };
        const onEnd = (ended: PointerEvent) => {
            canvas.removeEventListener("pointermove", onMove);
            canvas.removeEventListener("pointerup", onEnd);
            canvas.removeEventListener("pointercancel", onEnd);
            if (ended.type === "pointercancel") return;
            if (!dragged) actions.click(start.x, start.y);
            else if (selects) actions.select(spanOf(from, view.time(this.place(ended).x)), true);
        };
        canvas.addEventListener("pointermove", onMove);
        canvas.addEventListener("pointerup", onEnd);
        canvas.addEventListener("pointercancel", onEnd);
    }
}

function spanOf(a: number, b: number): Span {
    return { from: Math.min(a, b), to: Math.max(a, b) };
}
