// SPDX-License-Identifier: MIT

// The selected slice as text: its times, how far they may be off, its event, and what it is connected with.

import { FLAG_CUT, FLAG_IDLE, FLAG_LOST, FLAG_NO_BEGIN, FLAG_OPEN, FLAG_UNKNOWN } from "../api";
import type { Arrow, SliceAnswer, Trace } from "../api";
import type { TrackTree } from "../model/tracks";
import { formatAbsolute, formatDuration, formatExact } from "../model/time";
import { byId, make, makeButton, makeFields } from "./dom";

const FLAG_TEXTS: [number, string][] = [
    [FLAG_CUT, "its end is not in the trace"],
    [FLAG_OPEN, "still open at the end of the trace"],
    [FLAG_NO_BEGIN, "its begin is not in the trace"],
    [FLAG_UNKNOWN, "what happened is unknown: events contradict each other or are missing"],
    [FLAG_LOST, "events were lost"],
    [FLAG_IDLE, "idle"],
];

export interface DetailsActions {
    follow(track: number, depth: number, time: number): void;
}

export class DetailsPanel {
    private readonly element = byId<HTMLDivElement>("details");
    private readonly connected = make("div");

    constructor(
        private readonly trace: Trace,
        private readonly tree: TrackTree,
        private readonly actions: DetailsActions,
    ) {
        this.showNothing();
    }

    showNothing(): void {
        this.element.replaceChildren(make("p", "hint", "Click on a slice to see what it is. Press ? for the keys."));
    }

    showError(text: string): void {
        this.element.replaceChildren(make("p", "failed", text));
    }

    show(slice: SliceAnswer): void {
        const { trace } = this;
        const begin = BigInt(trace.begin_ns);
        const columns = make("div", "columns");
        const left = make("div");
        const state = slice.state !== undefined ? trace.states[slice.state] : undefined;
        const error = slice.event?.error_ns ?? slice.error_ns ?? trace.error_ns;
        left.append(
            make("h3", "", slice.name || state || "(no name)"),
            makeFields([
                ["track", this.tree.path(slice.track)],
                ["state", state === slice.name || this.tree.byId.get(slice.track)?.kind !== "states" ? "" : state],
                ["duration", formatDuration(slice.end - slice.begin)],
                ["begin", `${formatAbsolute(begin, slice.begin)} (${formatExact(slice.begin)} after the begin)`],
                ["end", formatAbsolute(begin, slice.end)],
                ["clock error", error ? `may be off by ±${formatDuration(error)}` : ""],
                ...FLAG_TEXTS.filter(([flag]) => slice.flags & flag).map(([, text]): [string, string] => ["note", text]),
            ]),
            this.connected,
        );
        this.connected.replaceChildren();
        columns.append(left);
        if (slice.event) columns.append(this.makeEvent(slice.event));
        this.element.replaceChildren(columns);
    }

    private makeEvent(event: NonNullable<SliceAnswer["event"]>): HTMLElement {
        const right = make("div");
        const { trace } = this;
        right.append(
            make("h3", "", event.name),
            makeFields([
                ["layer", event.layer],
                ["cpu", event.cpu],
                ["vcpu", event.vcpu],
                ["pid", event.pid],
                ["task", event.comm],
                ["time", formatAbsolute(BigInt(trace.begin_ns), event.time)],
                ...Object.entries(event.fields ?? {}).map(([name, value]): [string, string] => [name, fieldText(value)]),
            ]),
        );
        if (event.text) right.append(make("p", "text", event.text));
        return right;
    }

    // TRACK and DEPTH are the selected slice's.
    showArrows(arrows: Arrow[], track: number, depth: number): void {
        this.connected.replaceChildren();
        if (!arrows.length) return;
        const line = make("p", "", "connected with: ");
        const seen = new Set([`${track}.${depth}`]);
        for (const [begin, fromTrack, fromDepth, end, toTrack, toDepth] of arrows)
            for (const place of [
                { track: fromTrack, depth: fromDepth, time: begin },
                { track: toTrack, depth: toDepth, time: end },
            ]) {
                const key = `${place.track}.${place.depth}`;
                if (seen.has(key)) continue;
                seen.add(key);
                if (seen.size > 2) line.append(", ");
                const go = () => this.actions.follow(place.track, place.depth, place.time);
                line.append(makeButton(this.tree.path(place.track), "link", go));
            }
        if (seen.size > 1) this.connected.append(line);
    }
}

function fieldText(value: unknown): string {
    return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}
