// SPDX-License-Identifier: MIT

// Shows how many slices each name has in a span of time, and how long they take.

import { ask, errorText, isAbort } from "../api";
import type { StatisticsAnswer, StatisticsRow } from "../api";
import type { Names } from "../model/names";
import type { TrackTree } from "../model/tracks";
import { formatCount, formatDuration } from "../model/time";
import type { Span } from "../view/view";
import { byId, make, makeButton } from "./dom";

const TRACKS_MAX = 200;
const ROWS_MAX = 500;

type Column = "track" | "name" | "n" | "total" | "min" | "mean" | "max";
const COLUMNS: [Column, string, boolean][] = [
    ["track", "track", false],
    ["name", "name", false],
    ["n", "count", true],
    ["total", "total", true],
    ["min", "min", true],
    ["mean", "mean", true],
    ["max", "max", true],
];

export class StatisticsPanel {
    private readonly element = byId<HTMLDivElement>("statistics");
    private abort: AbortController | null = null;
    private rows: StatisticsRow[] = [];
    private heading = "";
    private sorted: Column = "total";
    private descending = true;

    constructor(
        private readonly tree: TrackTree,
        private readonly names: Names,
    ) {
        this.showNothing();
    }

    get busy(): boolean {
        return this.abort !== null;
    }

    showNothing(): void {
        this.abort?.abort();
        this.abort = null;
        this.element.replaceChildren(
            make("p", "hint", "Select a span of time: hold shift and drag, or drag in the ruler above the rows."),
        );
    }

    async show(span: Span, tracks: number[]): Promise<void> {
        this.abort?.abort();
        const abort = (this.abort = new AbortController());
        const counted = tracks.slice(0, TRACKS_MAX);
        const parameters = {
            from: Math.max(0, Math.floor(span.from)),
            to: Math.max(0, Math.ceil(span.to)),
            tracks: counted.join(","),
        };
        try {
            if (!counted.length) throw new Error("no track with slices is shown; open a group");
            const answer = await ask<StatisticsAnswer>("statistics", parameters, abort.signal);
            this.rows = answer.rows;
            const left = tracks.length - counted.length;
            this.heading =
                `${formatDuration(span.to - span.from)}, ${formatCount(counted.length)} tracks that are shown` +
                (left ? `; ${formatCount(left)} others are left out` : "");
            this.draw();
        } catch (error) {
            if (isAbort(error)) return;
            this.element.replaceChildren(make("p", "failed", errorText(error)));
        }
        if (this.abort === abort) this.abort = null;
    }

    private compare(a: StatisticsRow, b: StatisticsRow): number {
        const { sorted } = this;
        const text = (row: StatisticsRow) => (sorted === "track" ? this.tree.path(row.track) : this.names.get(row.name));
        const order =
            sorted === "track" || sorted === "name" ? text(a).localeCompare(text(b)) : a[sorted] - b[sorted];
        return this.descending ? -order : order;
    }

    private draw(): void {
        const table = make("table");
        const head = make("tr");
        for (const [column, title, isNumber] of COLUMNS) {
            const cell = make("th", isNumber ? "number" : "");
            cell.scope = "col";
            if (column === this.sorted) cell.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
            cell.append(makeButton(title, "", () => this.sortBy(column, isNumber)));
            head.append(cell);
        }
        table.createTHead().append(head);
        const body = table.createTBody();
        const rows = [...this.rows].sort((a, b) => this.compare(a, b));
        for (const row of rows.slice(0, ROWS_MAX)) {
            const line = make("tr");
            line.append(make("td", "", this.tree.path(row.track)), make("td", "", this.names.get(row.name)));
            line.append(make("td", "number", formatCount(row.n)));
            for (const value of [row.total, row.min, row.mean, row.max])
                line.append(make("td", "number", formatDuration(value)));
            body.append(line);
        }
        const more = rows.length > ROWS_MAX ? `; the first ${ROWS_MAX} of ${formatCount(rows.length)} rows` : "";
        this.element.replaceChildren(
            make("p", "hint", rows.length ? this.heading + more : `${this.heading}: no slice lies within`),
            ...(rows.length ? [table] : []),
        );
    }

    private sortBy(column: Column, isNumber: boolean): void {
        this.descending = column === this.sorted ? !this.descending : isNumber;
        this.sorted = column;
        this.draw();
    }
}
