// SPDX-License-Identifier: MIT

// A chart in the panel: a canvas of which the pointer and the keyboard select a part.

import { CanvasSurface } from "../draw/canvas";
import type { Palette } from "../draw/colours";
import type { Plot } from "../draw/distribution";
import type { Surface } from "../draw/surface";
import { make, onDrag } from "./dom";

const DRAG_MIN_PX = 4; // less is a click

export interface Point {
    x: number;
    y: number;
}

export interface ChartActions {
    // Called with the part between two points, while it is dragged and at the end.
    select(a: Point, b: Point, done: boolean): void;
    clear(): void;
    // Returns what is at a point, as text.
    describe(at: Point): string;
    // Called for an arrow key: -1, 0 or 1 in each direction. GROWS: it extends the selection.
    step(right: number, up: number, grows: boolean): string;
}

export class Chart {
    readonly element = make("figure", "chart");
    private readonly canvas = make("canvas");
    private readonly readout = make("p", "readout");
    private readonly surface: CanvasSurface;

    constructor(
        title: string,
        private readonly draw: (surface: Surface, plot: Plot, palette: Palette) => void,
        private readonly actions: ChartActions,
    ) {
        const caption = make("figcaption", "", title);
        this.canvas.tabIndex = 0;
        this.canvas.setAttribute("role", "application");
        this.canvas.setAttribute("aria-label", `${title}. Arrow keys read it, with Shift they select a part, Escape selects all`);
        this.readout.setAttribute("aria-live", "polite");
        this.element.append(caption, this.canvas, this.readout);
        this.surface = new CanvasSurface(this.canvas);
        this.listen();
    }

    get width(): number {
        return Math.max(1, this.canvas.clientWidth);
    }
    get height(): number {
        return Math.max(1, this.canvas.clientHeight);
    }

    show(plot: Plot, palette: Palette, summary: string): void {
        this.surface.resize(plot.width, plot.height, devicePixelRatio);
        this.draw(this.surface, plot, palette);
        if (!this.readout.textContent) this.readout.textContent = summary;
    }

    reset(): void {
        this.readout.textContent = "";
    }

    private listen(): void {
        const { canvas, actions } = this;
        let start: Point = { x: 0, y: 0 };
        let last = start;
        const place = (event: MouseEvent): Point => {
            const box = canvas.getBoundingClientRect();
            return { x: event.clientX - box.left, y: event.clientY - box.top };
        };
        const isDragged = () => Math.hypot(last.x - start.x, last.y - start.y) >= DRAG_MIN_PX;
        canvas.addEventListener("pointerdown", (event) => (start = last = place(event)));
        onDrag(
            canvas,
            (event) => {
                last = place(event);
                if (isDragged()) actions.select(start, last, false);
            },
            () => {
                if (isDragged()) actions.select(start, last, true);
                else actions.clear();
            },
        );
        canvas.addEventListener("pointermove", (event) => {
            if (!event.buttons) this.readout.textContent = actions.describe(place(event));
        });
        canvas.addEventListener("keydown", (event) => {
            const right = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            const up = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
            if (event.key === "Escape") actions.clear();
            else if (right || up) this.readout.textContent = actions.step(right, up, event.shiftKey);
            else return;
            event.preventDefault();
            event.stopPropagation();
        });
    }
}
