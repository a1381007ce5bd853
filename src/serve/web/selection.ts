// SPDX-License-Identifier: MIT

// The selected slice: requests its details, and the arrows and stages of its request across layers.

import { FLAG_OPEN, SLICE_BEGIN, SLICE_END, SLICE_NUMBERS, ask, errorText, isAbort } from "./api";
import type { Arrow, ArrowsAnswer, SliceAnswer, SlicesAnswer, Trace } from "./api";
import type { DetailsPanel } from "./panel/details";
import type { SelectedSlice, SlicePlace, State } from "./view/state";

const ARROWS_MAX = 2000;
const STEPS_MAX = 16; // from slice to slice, of one request
const STAGES_MAX = 12; // of which the details are asked for

export class Selection {
    private abort: AbortController | null = null;

    constructor(
        private readonly trace: Trace,
        private readonly state: State,
        private readonly details: DetailsPanel,
        private readonly onChange: () => void,
    ) {}

    get busy(): boolean {
        return this.abort !== null;
    }

    clear(): void {
        this.abort?.abort();
        this.abort = null;
        this.state.slice = null;
        this.state.sliceArrows = [];
        this.details.showNothing();
        this.onChange();
    }

    // Selects the slice at PLACE, or null if there is none, which the details then say. Its arrows and stages arrive
    // later.
    async select(place: SlicePlace, mayHaveMoved = true): Promise<SliceAnswer | null> {
        this.abort?.abort();
        const abort = (this.abort = new AbortController());
        const { state } = this;
        try {
            const time = Math.min(Math.max(0, Math.round(place.time)), this.trace.duration);
            const { track, depth } = place;
            const slice = await ask<SliceAnswer>("slice", { track, depth, time }, abort.signal);
            const { begin, end } = slice;
            const beginErrorNs = slice.begin_error_ns ?? 0;
            const endErrorNs = slice.end_error_ns ?? 0;
            const open = (slice.flags & FLAG_OPEN) !== 0;
            state.slice = { track, depth, time: begin, begin, end, beginErrorNs, endErrorNs, open };
            state.sliceArrows = [];
            this.details.show(slice);
            this.onChange();
            void this.addRequest(slice, abort);
            return slice;
        } catch (error) {
            if (isAbort(error)) return null;
            // A link may be older than the end of the recording, where times of other clocks became exact.
            const moved = mayHaveMoved ? await this.findMoved({ ...place, begin: place.time, end: null }) : null;
            if (moved && this.abort === abort) return this.select(moved, false);
            state.slice = null;
            this.details.showError(errorText(error));
        }
        this.end(abort);
        return null;
    }

    // Finds where the slice that was at these times is now. While the recording continues, clocks are related more
    // exactly, and times move by less than their error. Null if it is not found.
    private async findMoved(old: { track: number; depth: number; begin: number; end: number | null }): Promise<SlicePlace | null> {
        const { track, depth, begin, end } = old;
        const reach = 2 * (this.trace.error_ns ?? 0);
        if (!reach) return null;
        const from = Math.max(0, Math.floor(begin - reach));
        const to = Math.min(this.trace.duration, Math.ceil(begin + reach));
        let best: SlicePlace | null = null;
        let least = Infinity;
        try {
            const answer = await ask<SlicesAnswer>("slices", { from, to, pixels: NEIGHBOUR_PIXELS, tracks: track });
            const list = answer.tracks[0]?.depths[depth] ?? [];
            for (let i = 0; i < list.length; i += SLICE_NUMBERS) {
                const time = list[i + SLICE_BEGIN];
                const longer = end === null ? 0 : Math.abs(list[i + SLICE_END] - time - (end - begin));
                const off = Math.abs(time - begin) + longer;
                if (off < least) {
                    least = off;
                    best = { track, depth, time };
                }
            }
        } catch {
            return null;
        }
        return best;
    }

    // The index is a newer one, in which times are BY ns later. A slice that was open has become longer, or has ended.
    async renew(by: number): Promise<void> {
        const { slice } = this.state;
        if (!slice) return;
        slice.begin += by;
        slice.end += by;
        slice.time += by;
        if (by) {
            void this.select(slice);
            return;
        }
        if (this.busy) return;
        if (!slice.open) {
            const moved = await this.findMoved(slice);
            if (moved && this.state.slice === slice && moved.time !== slice.begin) void this.select(moved, false);
            return;
        }
        try {
            const { track, depth, time } = slice;
            const answer = await ask<SliceAnswer>("slice", { track, depth, time });
            if (this.state.slice !== slice || answer.begin !== slice.begin) return;
            slice.end = answer.end;
            if (!(answer.flags & FLAG_OPEN)) void this.select(slice);
            else this.onChange();
        } catch {
            // It stays as it was.
        }
    }

    // Finds the slices of the request of the selected SLICE, in all layers.
    private async addRequest(slice: SliceAnswer, abort: AbortController): Promise<void> {
        const { state } = this;
        try {
            state.sliceArrows = await this.findArrows(slice, abort.signal);
            this.onChange();
            this.details.showStages(slice, await this.findStages(slice, state.sliceArrows, abort.signal));
        } catch (error) {
            if (isAbort(error)) return;
            this.details.showError(errorText(error));
        }
        this.end(abort);
    }

    private end(abort: AbortController): void {
        if (this.abort === abort) this.abort = null;
        this.onChange();
    }

    // The slices at the ends of ARROWS, in the order of time, with SLICE; only the first ones if there are many.
    private async findStages(slice: SliceAnswer, arrows: Arrow[], signal: AbortSignal): Promise<SliceAnswer[]> {
        const places = new Map<string, SlicePlace>();
        for (const [begin, fromTrack, fromDepth, end, toTrack, toDepth] of arrows)
            for (const place of [
                { track: fromTrack, depth: fromDepth, time: begin },
                { track: toTrack, depth: toDepth, time: end },
            ]) {
                const isSame = place.track === slice.track && place.depth === slice.depth;
                if (isSame && place.time >= slice.begin && place.time <= slice.end) continue;
                places.set(`${place.track}.${place.depth}.${place.time}`, place);
            }
        const stages = [slice];
        for (const { track, depth, time } of [...places.values()].slice(0, STAGES_MAX))
            stages.push(await ask<SliceAnswer>("slice", { track, depth, time }, signal));
        return stages.sort((a, b) => a.begin - b.begin);
    }

    // The end of an arrow from the selected slice (BY is 1) or to it (-1); null if there is none.
    follow(by: number): SlicePlace | null {
        const { slice, sliceArrows } = this.state;
        if (!slice) return null;
        for (const [begin, fromTrack, fromDepth, end, toTrack, toDepth] of sliceArrows) {
            const from = { track: fromTrack, depth: fromDepth, time: begin };
            const to = { track: toTrack, depth: toDepth, time: end };
            const [near, far] = by > 0 ? [from, to] : [to, from];
            if (near.track !== slice.track || near.depth !== slice.depth) continue;
            if (near.time >= slice.begin && near.time <= slice.end) return far;
        }
        return null;
    }

    // The arrows that touch the slice, and those from their other ends on.
    private async findArrows(slice: SliceAnswer, signal: AbortSignal): Promise<Arrow[]> {
        let { begin, end } = slice;
        const found = new Map<string, Arrow>();
        const ends = new Set<string>();
        for (let step = 0; step < STEPS_MAX; step++) {
            const parameters = { from: begin, to: end, max: ARROWS_MAX };
            const answer = await ask<ArrowsAnswer>("arrows", parameters, signal);
            const before = found.size;
            for (const arrow of answer.arrows) {
                const [t0, track0, depth0, t1, track1, depth1] = arrow;
                const touches = (time: number, track: number, depth: number) =>
                    (track === slice.track && depth === slice.depth && time >= slice.begin && time <= slice.end) ||
                    ends.has(`${track}.${depth}.${time}`);
                if (!touches(t0, track0, depth0) && !touches(t1, track1, depth1)) continue;
                found.set(arrow.join(), arrow);
                ends.add(`${track0}.${depth0}.${t0}`).add(`${track1}.${depth1}.${t1}`);
                begin = Math.min(begin, t0, t1);
                end = Math.max(end, t0, t1);
            }
            if (found.size === before) break;
        }
        return [...found.values()];
    }
}

const NEIGHBOUR_PIXELS = 4096;
const NEIGHBOUR_GROWTH = 64; // of the time in which it is looked for

// A time in the slice before (BY is -1) or after (1) a slice on the same track and depth; null if there is none.
export async function findNeighbour(trace: Trace, slice: SelectedSlice, by: number): Promise<number | null> {
    const { track, depth, begin, end } = slice;
    for (let reach = NEIGHBOUR_PIXELS * NEIGHBOUR_GROWTH; ; reach *= NEIGHBOUR_GROWTH) {
        const from = by > 0 ? end + 1 : Math.max(0, begin - 1 - reach);
        const to = by > 0 ? Math.min(trace.duration, end + 1 + reach) : begin - 1;
        if (from > to) return null;
        const parameters = { from, to, pixels: NEIGHBOUR_PIXELS, tracks: track };
        const answer = await ask<SlicesAnswer>("slices", parameters);
        const list = answer.tracks[0]?.depths[depth] ?? [];
        if (by > 0) {
            for (let i = 0; i < list.length; i += SLICE_NUMBERS)
                if (list[i + SLICE_BEGIN] >= end) return list[i + SLICE_BEGIN];
        } else {
            for (let i = list.length - SLICE_NUMBERS; i >= 0; i -= SLICE_NUMBERS) {
                const last = list[i + SLICE_END];
                // At its end, another may begin.
                if (last <= begin) return last === begin ? begin - 1 : last;
            }
        }
        if ((by > 0 && to >= trace.duration) || (by < 0 && from <= 0)) return null;
    }
}
