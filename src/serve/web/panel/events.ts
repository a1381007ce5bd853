// SPDX-License-Identifier: MIT

// The table of events from the cursor on.

import { ask, errorText, isAbort } from "../api";
import type { EventAnswer, EventsAnswer, Parameters, Trace } from "../api";
import { formatAbsolute, formatError } from "../model/time";
import { byId, make, makeButton } from "./dom";

const LIMIT = 100;
const ROWS_MAX = 2000;
const TYPING_MS = 350;

export interface EventsActions {
    goTo(time: number): void;
}

export class EventsPanel {
    private readonly element = byId<HTMLDivElement>("events");
    private readonly filter = make("input");
    private readonly message = make("p", "hint");
    private readonly body: HTMLTableSectionElement;
    private readonly more: HTMLButtonElement;
    private abort: AbortController | null = null;
    private shownFrom: number | null = null;
    private next: number | null = null;
    private skip = 0; // events at that time that are shown already
    private typing = 0;

    constructor(
        private readonly trace: Trace,
        private readonly actions: EventsActions,
    ) {
        const bar = make("div", "bar");
        this.filter.type = "search";
        this.filter.placeholder = "Filter, as in strata report -e";
        this.filter.setAttribute("aria-label", "Filter events");
        this.filter.addEventListener("input", () => {
            clearTimeout(this.typing);
            this.typing = window.setTimeout(() => void this.fetchFrom(this.shownFrom ?? 0, true), TYPING_MS);
        });
        bar.append(this.filter, this.message);
        const table = make("table");
        const head = make("tr");
        for (const title of ["time", "±", "layer", "cpu", "task", "event", "fields"]) {
            const cell = make("th", "", title);
            cell.scope = "col";
            head.append(cell);
        }
        table.createTHead().append(head);
        this.body = table.createTBody();
        this.more = makeButton("More", "", () => {
            if (this.next !== null) void this.fetchFrom(this.next, false);
        });
        this.more.hidden = true;
        this.element.replaceChildren(bar, table, this.more);
    }

    get busy(): boolean {
        return this.abort !== null;
    }

    // Shows events from TIME on, if the table is visible.
    show(time: number): void {
        if (this.element.hidden || time === this.shownFrom) return;
        void this.fetchFrom(time, true);
    }

    // The index is a newer one, in which times are BY ns later, and may have more events.
    renew(by: number): void {
        if (this.shownFrom !== null) this.shownFrom += by;
        if (this.next !== null) this.next += by;
        const atEnd = this.next === null && this.body.rows.length <= LIMIT;
        if ((by || atEnd) && this.shownFrom !== null && !this.element.hidden && !this.busy)
            void this.fetchFrom(this.shownFrom, true, this.element.scrollTop);
    }

    private async fetchFrom(time: number, anew: boolean, scrollTop = 0): Promise<void> {
        this.abort?.abort();
        const abort = (this.abort = new AbortController());
        if (anew) this.shownFrom = time;
        const parameters: Parameters = { from: Math.max(0, Math.floor(time)), limit: LIMIT };
        if (!anew) parameters.skip = this.skip;
        if (this.filter.value.trim()) parameters.filter = this.filter.value.trim();
        try {
            const answer = await ask<EventsAnswer>("events", parameters, abort.signal);
            if (anew) this.body.replaceChildren();
            this.message.className = "hint";
            this.message.textContent = answer.events.length ? "" : "no event from there on";
            for (const event of answer.events) this.body.append(this.makeRow(event));
            this.next = answer.next;
            this.skip = answer.skip ?? 0;
            this.more.hidden = answer.next === null || this.body.rows.length >= ROWS_MAX;
            if (anew) this.element.scrollTop = scrollTop;
        } catch (error) {
            if (isAbort(error)) return;
            this.message.className = "failed";
            this.message.textContent = errorText(error);
        }
        if (this.abort === abort) this.abort = null;
    }

    private makeRow(event: EventAnswer): HTMLElement {
        const row = make("tr");
        const time = make("td", "number");
        const text = formatAbsolute(BigInt(this.trace.begin_ns), event.time);
        time.append(makeButton(text, "link", () => this.actions.goTo(event.time)));
        const task = event.comm ? `${event.comm}${event.pid != null ? `-${event.pid}` : ""}` : event.pid ?? "";
        row.append(
            time,
            make("td", "number", event.error_ns === 0 || event.error_ns === undefined ? "" : formatError(event.error_ns)),
            make("td", "", event.layer ?? ""),
            make("td", "number", event.cpu != null && event.cpu >= 0 ? String(event.cpu) : ""),
            make("td", "", String(task)),
            make("td", "", event.name),
            make("td", "wide", event.text ?? ""),
        );
        return row;
    }
}
