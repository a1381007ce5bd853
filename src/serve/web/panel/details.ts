// SPDX-License-Identifier: MIT

// Shows the selected slice as text: its times and their errors, its events, and the slices it is connected with.

import { FLAG_CUT, FLAG_IDLE, FLAG_LOST, FLAG_NO_BEGIN, FLAG_OPEN, FLAG_UNKNOWN } from "../api";
import type { SliceAnswer, Trace } from "../api";
import type { TrackTree } from "../model/tracks";
import { formatAbsolute, formatDuration, formatError, formatExact } from "../model/time";
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
        left.append(
            make("h3", "", slice.name || state || "(no name)"),
            makeFields([
                ["track", this.tree.path(slice.track)],
                ["state", state === slice.name || this.tree.byId.get(slice.track)?.kind !== "states" ? "" : state],
                ["duration", formatDuration(slice.end - slice.begin)],
                ["begin", `${formatAbsolute(begin, slice.begin)} (${formatExact(slice.begin)} after the begin)`],
                ["end", formatAbsolute(begin, slice.end)],
                ["clock error", offText(slice)],
                ...FLAG_TEXTS.filter(([flag]) => slice.flags & flag).map(([, text]): [string, string] => ["note", text]),
            ]),
        );
        this.connected.replaceChildren();
        this.connected.hidden = true;
        columns.append(left, this.connected);
        if (slice.event) columns.append(this.makeEvent("begin", slice.event));
        if (slice.end_event) columns.append(this.makeEvent("end", slice.end_event));
        this.element.replaceChildren(columns);
    }

    private makeEvent(of: string, event: NonNullable<SliceAnswer["event"]>): HTMLElement {
        const right = make("div");
        const { trace } = this;
        right.append(
            make("h3", "", `${of}: ${event.name}`),
            makeFields([
                ["layer", event.layer],
                ["cpu", event.cpu],
                ["vcpu", event.vcpu],
                ["pid", event.pid],
                ["task", event.comm],
                ["time", formatAbsolute(BigInt(trace.begin_ns), event.time)],
                ...(event.shown ?? []),
            ]),
        );
        if (event.text) right.append(make("p", "text", event.text));
        return right;
    }

    // Shows what happened to the request of SLICE in all layers. STAGES are in the order of time, and include SLICE.
    showStages(slice: SliceAnswer, stages: SliceAnswer[]): void {
        this.connected.replaceChildren();
        this.connected.hidden = stages.length < 2;
        if (stages.length < 2) return;
        const table = make("table");
        const head = make("tr");
        for (const [title, isNumber] of [
            ["stage", false],
            ["name", false],
            ["begins", true],
            ["takes", true],
        ] as [string, boolean][]) {
            const cell = make("th", isNumber ? "number" : "", title);
            cell.scope = "col";
            head.append(cell);
        }
        table.createTHead().append(head);
        const body = table.createTBody();
        for (const stage of stages) {
            const row = make("tr");
            const cell = make("td");
            const path = this.tree.path(stage.track);
            const go = () => this.actions.follow(stage.track, stage.depth, stage.begin);
            if (stage === slice) row.className = "selected";
            cell.append(stage === slice ? path : makeButton(path, "link", go));
            const after = stage.begin - slice.begin;
            const begins = stage === slice ? "" : `${after < 0 ? "−" : "+"}${formatDuration(Math.abs(after))}`;
            row.append(
                cell,
                make("td", "", stage.name),
                make("td", "number", begins),
                make("td", "number", formatDuration(stage.end - stage.begin)),
            );
            body.append(row);
        }
        this.connected.append(make("p", "hint", "connected with; [ and ] follow the arrows"), table);
    }
}

// The errors of the ends of SLICE; "" if they are exact.
function offText(slice: SliceAnswer): string {
    if (slice.begin_error_ns === 0 && slice.end_error_ns === 0) return "";
    const begin = formatError(slice.begin_error_ns);
    const end = formatError(slice.end_error_ns);
    return begin === end ? `may be off by ${begin}` : `may be off by ${begin} at its begin, by ${end} at its end`;
}
