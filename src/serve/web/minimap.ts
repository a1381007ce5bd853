// SPDX-License-Identifier: MIT

// The whole trace: numbers of events, where events were lost, and which part is shown.

import { SLICE_BEGIN, SLICE_END, SLICE_NUMBERS, ask, isAbort } from "./api";
import type { CountsAnswer, SlicesAnswer, Trace, Track } from "./api";
import { CanvasSurface } from "./draw/canvas";
import type { Palette } from "./draw/colours";
import { textWidth } from "./draw/surface";
import { byId, onDrag } from "./panel/dom";
import { formatDuration } from "./model/time";
import type { State } from "./view/state";
import type { View } from "./view/view";

const BARS = 600;
const ALL_EVENTS = "all events"; // of a source
const TRACKS_MAX = 200;
const GRAB_PX = 5;

export class Minimap {
    private readonly canvas = byId<HTMLCanvasElement>("minimap");
    private readonly surface = new CanvasSurface(this.canvas);
    private counts: number[] = [];
    private losses: [number, number][] = [];
    private abort: AbortController | null = null;

    constructor(
        private readonly trace: Trace,
        private readonly view: View,
        private readonly onArrive: () => void,
        private readonly onError: (error: unknown) => void,
    ) {
        this.listen();
        void this.fetch();
    }

    get busy(): boolean {
        return this.abort !== null;
    }

    // Call when the trace has changed.
    renew(): void {
        void this.fetch();
    }

    private async fetch(): Promise<void> {
        const { trace } = this;
        this.abort?.abort();
        const abort = (this.abort = new AbortController());
        const counts: number[] = [];
        const losses: [number, number][] = [];
        const range = { from: 0, to: Math.max(1, trace.duration), pixels: BARS };
        const named = trace.tracks.filter((track) => track.kind === "events" && track.name === ALL_EVENTS);
        const counted = named.length ? named : trace.tracks.filter((track) => track.kind === "events");
        const lost = trace.tracks.filter((track) => track.kind === "losses");
        try {
            if (counted.length) {
                const answer = await ask<CountsAnswer>("counts", { ...range, tracks: ids(counted) }, abort.signal);
                for (const track of answer.tracks)
                    track.counts.forEach((count, i) => (counts[i] = (counts[i] ?? 0) + count));
            }
            if (lost.length) {
                const answer = await ask<SlicesAnswer>("slices", { ...range, tracks: ids(lost) }, abort.signal);
                for (const list of answer.tracks.flatMap((track) => track.depths))
                    for (let i = 0; i < list.length; i += SLICE_NUMBERS)
                        losses.push([list[i + SLICE_BEGIN], list[i + SLICE_END]]);
            }
            this.counts = counts;
            this.losses = losses;
        } catch (error) {
            if (isAbort(error)) return;
            this.onError(error);
        }
        if (this.abort === abort) this.abort = null;
        this.onArrive();
    }

    draw(palette: Palette, state: State): void {
        const width = this.canvas.clientWidth;
        const height = this.canvas.clientHeight;
        const { surface, view, trace } = this;
        const duration = Math.max(1, trace.duration);
        const x = (time: number) => (time / duration) * width;
        surface.resize(width, height, devicePixelRatio);
        surface.rect(0, 0, width, height, palette.background);
        const most = this.counts.reduce((a, b) => Math.max(a, b), 1);
        const edge = (i: number) => Math.round((i / BARS) * width * devicePixelRatio) / devicePixelRatio;
        this.counts.forEach((count, i) => {
            // The root shows quiet pieces beside loud ones.
            const h = count ? Math.max(2, Math.sqrt(count / most) * (height - 6)) : 0;
            if (h) surface.rect(edge(i), height - h, edge(i + 1) - edge(i), h, palette.density);
        });
        for (const [begin, end] of this.losses)
            surface.hatch(x(begin), 0, Math.max(3, x(end) - x(begin)), height, palette.lost);
        for (const mark of state.marks) surface.rect(x(mark.from) - 0.5, 0, 2, height, palette.mark);
        if (state.span) surface.rect(x(state.span.from), 0, x(state.span.to) - x(state.span.from), height, palette.selection);
        const length = formatDuration(trace.duration);
        surface.rect(width - 8 - textWidth(length, false, 9), 2, textWidth(length, false, 9) + 4, 12, palette.background + "c0");
        surface.text(width - 6, 8, length, palette.faint, { size: 9, end: true });
        const left = Math.max(0, x(view.from));
        const right = Math.min(width, x(view.to));
        const shade = palette.group + "b8";
        if (left > 0) surface.rect(0, 0, left, height, shade);
        if (right < width) surface.rect(right, 0, width - right, height, shade);
        surface.outline(left, 0, Math.max(3, right - left), height, palette.accent, 1.5);
    }

    // Dragging the shown part moves it, dragging its ends changes it, and dragging elsewhere shows another part. A
    // click jumps.
    private listen(): void {
        const { canvas, view } = this;
        let mode: "move" | "from" | "to" | "new" | null = null;
        let start = 0;
        let moved = false;
        const time = (event: PointerEvent) =>
            ((event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth) * view.duration;
        const centre = (at: number) => view.moveTo({ from: at - view.length / 2, to: at + view.length / 2 });
        canvas.addEventListener("pointerdown", (event) => {
            start = time(event);
            moved = false;
            const reach = (GRAB_PX / canvas.clientWidth) * view.duration;
            if (Math.abs(start - view.from) < reach) mode = "from";
            else if (Math.abs(start - view.to) < reach) mode = "to";
            else if (start > view.from && start < view.to && view.length < view.duration * 0.95) mode = "move";
            else mode = "new";
        });
        onDrag(
            canvas,
            (event) => {
                const now = time(event);
                moved = true;
                if (mode === "from" && now < view.to) view.show({ from: now, to: view.to });
                else if (mode === "to" && now > view.from) view.show({ from: view.from, to: now });
                else if (mode === "new") view.show({ from: Math.min(start, now), to: Math.max(start, now) });
                else if (mode === "move") {
                    view.show({ from: view.from + now - start, to: view.to + now - start });
                    start = now;
                }
            },
            () => {
                if (!moved) centre(start);
            },
        );
    }
}

function ids(tracks: Track[]): string {
    return tracks
        .slice(0, TRACKS_MAX)
        .map((track) => track.id)
        .join(",");
}
