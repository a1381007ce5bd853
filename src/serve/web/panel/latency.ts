// SPDX-License-Identifier: MIT

// Shows how long slices take: numbers, histogram, heatmap over time, names, and the slowest slices with links to their
// places.

import { ask, errorText, isAbort } from "../api";
import type { FoundSlice, LatencyAnswer, LatencyNumbers, Parameters, Trace, Track } from "../api";
import type { Palette } from "../draw/colours";
import {
    BUCKET_NUMBERS,
    CELL_NUMBERS,
    barsOf,
    drawHeatmap,
    drawHistogram,
    durationsOf,
    heatmapDuration,
    heatmapTime,
    histogramDuration,
} from "../draw/distribution";
import type { Plot, Range } from "../draw/distribution";
import type { Names } from "../model/names";
import type { TrackTree } from "../model/tracks";
import { formatAbsolute, formatCount, formatDuration, formatExact, formatWhole } from "../model/time";
import type { Span } from "../view/view";
import { Chart } from "./chart";
import type { Point } from "./chart";
import { byId, make, makeButton } from "./dom";

const DELAY_MS = 150;
const COLUMN_PX = 4;
const COLUMNS_MAX = 256;
const LIST_MAX = 100;
const NAMES_SHOWN_MAX = 50;
const GROUPS_MAX = 300;

export type Times = "shown" | "selected" | "all" | "held";

// Which slices count, as in the API.
export interface LatencyChoice {
    tracks: number[];
    names: number[];
    text: string;
}

export interface LatencyActions {
    shown(): Span;
    selected(): Span | null;
    jump(found: FoundSlice): void;
    changed(): void; // what is in the address
}

interface ChoiceOption extends LatencyChoice {
    label: string;
}

// The beginnings of names of kinds of slices, on any track.
const KINDS: [string, string][] = [
    ["hypervisor: ", "exits, by reason"],
    ["irq ", "interrupts"],
    ["softirq ", "softirqs"],
    ["sys_", "system calls"],
];

const NUMBERS: [keyof LatencyNumbers, string][] = [
    ["min", "min"],
    ["p50", "p50"],
    ["p90", "p90"],
    ["p99", "p99"],
    ["p999", "p99.9"],
    ["max", "max"],
];

function keyOf({ tracks, names, text }: LatencyChoice): string {
    return `${tracks.join(".")}~${names.join(".")}~${text}`;
}

export class LatencyPanel {
    private readonly element = byId<HTMLDivElement>("latency");
    private readonly choice = make("select");
    private readonly text = make("input");
    private readonly time = make("select");
    private readonly message = make("p", "hint");
    private readonly body = make("div", "latency");
    private readonly numbers = make("div", "numbers");
    private readonly names: HTMLDivElement = make("div", "names");
    private readonly list = make("div", "slowest");
    private readonly histogram: Chart;
    private readonly heatmap: Chart;
    private groups: ChoiceOption[];
    private selected: ChoiceOption[] = [];
    private chosen: ChoiceOption;
    private times: Times = "shown";
    private held: Span | null = null;
    private answer: LatencyAnswer | null = null;
    private brushed: LatencyAnswer | null = null;
    private brushDurations: Range | null = null;
    private brushTimes: Range | null = null;
    private cursor: { duration: number; time: number } | null = null;
    private anchor: { duration: number; time: number } | null = null;
    private abort: AbortController | null = null;
    private timer = 0;
    private asked = "";
    private palette: Palette | null = null;
    visible = false;

    constructor(
        private readonly trace: Trace,
        private readonly tree: TrackTree,
        private readonly allNames: Names,
        private readonly actions: LatencyActions,
    ) {
        this.groups = this.findGroups();
        this.chosen = this.groups[0];
        this.histogram = new Chart("Durations", drawHistogram, {
            select: (a, b, done) => this.selectDurations(a.x, b.x, done),
            clear: () => this.clearBrush(),
            describe: (at) => this.describeDuration(at.x),
            step: (right, up, grows) => this.stepHistogram(right || up, grows),
        });
        this.heatmap = new Chart("Durations over time", drawHeatmap, {
            select: (a, b, done) => this.selectArea(a, b, done),
            clear: () => this.clearBrush(),
            describe: (at) => this.describeCell(at),
            step: (right, up, grows) => this.stepHeatmap(right, up, grows),
        });
        this.makeControls();
        new ResizeObserver(() => this.draw()).observe(this.body);
    }

    private makeControls(): void {
        const bar = make("div", "bar");
        const choiceLabel = make("label", "", "Of ");
        const textLabel = make("label", "", "named ");
        const timeLabel = make("label", "", "in ");
        this.text.type = "search";
        this.text.size = 14;
        this.text.placeholder = "any name";
        this.text.title = "Part of a name; ^ stands for its begin";
        choiceLabel.append(this.choice);
        textLabel.append(this.text);
        timeLabel.append(this.time);
        this.message.setAttribute("role", "status");
        bar.append(choiceLabel, textLabel, timeLabel, this.message);
        this.choice.addEventListener("change", () => {
            const all = [...this.selected, ...this.groups];
            const found = all.find((option) => keyOf(option) === this.choice.value);
            if (found) this.choose(found);
        });
        this.text.addEventListener("input", () => {
            this.chosen = { ...this.chosen, names: [], text: this.text.value.trim() };
            this.changed();
        });
        this.time.addEventListener("change", () => {
            this.times = this.time.value as Times;
            this.changed();
        });
        this.body.append(this.numbers, this.histogram.element, this.heatmap.element, this.list, this.names);
        this.element.replaceChildren(bar, this.body);
        this.body.hidden = true;
        this.fillControls();
    }

    // All groups with slices, and kinds of slices that are on many tracks.
    private findGroups(): ChoiceOption[] {
        const { trace, tree } = this;
        const within = new Set<number>();
        for (const track of trace.tracks) {
            if (track.kind !== "slices" || !track.n) continue;
            for (let up = track.parent; up !== null && !within.has(up); up = tree.byId.get(up)?.parent ?? null) within.add(up);
        }
        const isStage = (track: Track) => tree.childrenOf(track.id).some((child) => child.kind === "slices");
        const groups: Track[] = [];
        const add = (parent: number | null) => {
            for (const track of tree.childrenOf(parent)) {
                if (track.kind !== "group" || !within.has(track.id)) continue;
                groups.push(track);
                add(track.id);
            }
        };
        add(null);
        // Stages first, from the guest down.
        groups.sort((a, b) => Number(isStage(b) && b.parent !== null) - Number(isStage(a) && a.parent !== null));
        const options = groups.slice(0, GROUPS_MAX).map((track): ChoiceOption => {
            return { label: tree.path(track.id), tracks: [track.id], names: [], text: "" };
        });
        for (const [prefix, label] of KINDS)
            if (trace.names.some((name) => name.startsWith(prefix)))
                options.push({ label, tracks: [], names: [], text: `^${prefix}` });
        options.push({ label: "all tracks", tracks: [], names: [], text: "" });
        return options;
    }

    private fillControls(): void {
        const { choice, time } = this;
        const add = (options: ChoiceOption[], label: string) => {
            if (!options.length) return;
            const group = make("optgroup");
            group.label = label;
            for (const option of options) {
                const item = make("option", "", option.label);
                item.value = keyOf(option);
                group.append(item);
            }
            choice.append(group);
        };
        choice.replaceChildren();
        const known = [...this.selected, ...this.groups].some((option) => keyOf(option) === keyOf(this.chosen));
        if (!known) add([this.chosen], "Chosen");
        add(this.selected, "Selection");
        add(this.groups, "Stages and groups");
        choice.value = keyOf(this.chosen);
        this.text.value = this.chosen.text;
        const texts: [Times, string][] = [
            ["shown", "what is shown"],
            ["selected", "the selected time"],
            ["all", "all of the trace"],
        ];
        if (this.held) texts.push(["held", `${formatExact(this.held.from)} to ${formatExact(this.held.to)}`]);
        time.replaceChildren(
            ...texts.map(([value, label]) => {
                const item = make("option", "", label);
                item.value = value;
                return item;
            }),
        );
        time.value = this.times;
    }

    get busy(): boolean {
        return this.abort !== null || this.timer !== 0;
    }

    // The index is a newer one, in which times are BY ns later. OLD: the earlier names, if they have other numbers now.
    renew(by: number, old: string[] | null): void {
        const before = this.groups.map((group) => group.label + keyOf(group)).join();
        this.groups = this.findGroups();
        if (this.held) this.held = { from: this.held.from + by, to: this.held.to + by };
        if (old) {
            const { names } = this.chosen;
            this.chosen = { ...this.chosen, names: names.map((name) => this.trace.names.indexOf(old[name])).filter((name) => name >= 0) };
            if (this.chosen.names.length !== names.length) this.chosen = this.groups[0];
            this.selected = [];
        }
        // A list that is open would close.
        if (old || this.groups.map((group) => group.label + keyOf(group)).join() !== before) this.fillControls();
        if (old || by) this.asked = "";
        this.refresh();
    }

    // ---- The choice ----

    // The slice that is selected on the timeline becomes a choice.
    offer(slice: { track: number; name: string; nameId: number } | null): void {
        this.selected = [];
        if (slice) {
            const { track, name, nameId } = slice;
            const path = this.tree.path(track);
            const group = this.stageOf(track);
            this.selected.push({ label: path, tracks: [track], names: [], text: "" });
            if (name) {
                const short = name.length > 40 ? name.slice(0, 40) + "…" : name;
                this.selected.push({ label: `‘${short}’ of ${path}`, tracks: [track], names: [nameId], text: "" });
                if (group !== null) {
                    const label = `‘${short}’ of ${this.tree.path(group)}`;
                    this.selected.push({ label, tracks: [group], names: [nameId], text: "" });
                }
                this.selected.push({ label: `‘${short}’ of all tracks`, tracks: [], names: [nameId], text: "" });
            }
        }
        this.fillControls();
    }

    // The group whose tracks are the lanes of one kind of slices.
    private stageOf(track: number): number | null {
        const { tree } = this;
        const own = tree.byId.get(track);
        const parent = own && own.parent !== null ? tree.byId.get(own.parent) : undefined;
        return own && parent?.kind === "group" && own.name.startsWith(parent.name) ? parent.id : null;
    }

    // Slices like the selected one: with its name, in its stage.
    chooseSelected(): void {
        const at = this.selected.findIndex(({ tracks, names }) => names.length > 0 && this.tree.byId.get(tracks[0])?.kind === "group");
        const option = this.selected[at >= 0 ? at : 1] ?? this.selected[0];
        if (option) this.choose(option);
    }

    private choose(option: ChoiceOption): void {
        this.chosen = option;
        this.changed();
    }

    private changed(): void {
        this.brushDurations = this.brushTimes = this.cursor = this.anchor = null;
        this.fillControls();
        this.refresh();
        this.actions.changed();
    }

    // For the address: how is counted, and what.
    get address(): string {
        if (!this.visible) return "";
        const held = this.times === "held" && this.held ? `held.${this.held.from}.${this.held.to}` : this.times;
        return `${held}~${keyOf(this.chosen)}`;
    }

    restore(address: string): void {
        const [times, tracks, names, ...text] = address.split("~");
        const numbers = (part: string) => part.split(".").filter(Boolean).map(Number);
        const [how, from, to] = times.split(".");
        if (text.length === 0 || ![...numbers(tracks), ...numbers(names)].every(Number.isSafeInteger)) return;
        const choice = { tracks: numbers(tracks), names: numbers(names), text: text.join("~") };
        if (!choice.tracks.every((id) => this.tree.byId.has(id))) return;
        const named = choice.names.map((name) => this.trace.names[name] ?? `name ${name}`).join(", ");
        const paths = choice.tracks.map((id) => this.tree.path(id)).join(", ") || "all tracks";
        const known = this.groups.find((option) => keyOf(option) === keyOf(choice));
        this.chosen = known ?? { ...choice, label: named ? `‘${named}’ of ${paths}` : paths };
        const span = { from: Number(from), to: Number(to) };
        if (how === "held" && span.to > span.from) {
            this.held = span;
            this.times = "held";
        } else if (how === "shown" || how === "selected" || how === "all") {
            this.times = how;
        }
        this.fillControls();
    }

    // ---- Asking ----

    private span(): Span | null {
        const { duration } = this.trace;
        const bounded = ({ from, to }: Span) => ({
            from: Math.max(0, Math.floor(from)),
            to: Math.max(0, Math.min(duration, Math.ceil(to))),
        });
        if (this.times === "all") return { from: 0, to: duration };
        if (this.times === "held" && this.held) return bounded(this.held);
        const span = this.times === "selected" ? this.actions.selected() : this.actions.shown();
        return span && bounded(span);
    }

    // Asks again some time after the choice or its time has changed.
    refresh(): void {
        if (!this.visible) return;
        clearTimeout(this.timer);
        this.timer = window.setTimeout(() => {
            this.timer = 0;
            void this.fetch();
        }, DELAY_MS);
    }

    private parameters(span: Span): Parameters {
        const { tracks, names, text } = this.chosen;
        const parameters: Parameters = { from: span.from, to: Math.max(span.from, span.to), limit: LIST_MAX };
        if (tracks.length) parameters.tracks = tracks.join(",");
        if (names.length) parameters.names = names.join(",");
        if (text) parameters.text = text;
        return parameters;
    }

    private async fetch(): Promise<void> {
        const span = this.span();
        if (!span) {
            this.showEmpty("No time is selected: hold Shift and drag on the timeline, or drag in its ruler.");
            return;
        }
        const columns = Math.max(1, Math.min(COLUMNS_MAX, Math.floor((this.heatmap.width - 50) / COLUMN_PX)));
        const parameters = { ...this.parameters(span), columns: this.body.hidden ? COLUMNS_MAX / 2 : columns };
        const asked = JSON.stringify(parameters);
        if (asked === this.asked) return;
        this.asked = asked;
        await this.run(async (signal) => {
            this.answer = await ask<LatencyAnswer>("latency", parameters, signal);
            this.brushed = null;
            this.histogram.reset();
            this.heatmap.reset();
            if (this.brushDurations || this.brushTimes) await this.fetchBrushed(span, signal);
            this.showAnswer(this.answer);
        });
    }

    private async fetchBrushed(span: Span, signal: AbortSignal): Promise<void> {
        const parameters: Parameters = { ...this.parameters(span), columns: 1 };
        const { brushDurations, brushTimes } = this;
        if (brushDurations) {
            const min = Math.max(0, Math.ceil(brushDurations.from));
            parameters.min = min;
            parameters.max = Math.max(min, Math.ceil(brushDurations.to) - 1);
        }
        if (brushTimes) {
            parameters.begin_from = Math.floor(brushTimes.from);
            parameters.begin_to = Math.ceil(brushTimes.to);
        }
        this.brushed = await ask<LatencyAnswer>("latency", parameters, signal);
    }

    private async run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
        this.abort?.abort();
        const abort = (this.abort = new AbortController());
        try {
            await work(abort.signal);
        } catch (error) {
            if (isAbort(error)) return;
            this.showEmpty(errorText(error), true);
            this.asked = "";
        }
        if (this.abort === abort) this.abort = null;
    }

    // ---- Showing ----

    private showEmpty(text: string, failed = false): void {
        this.asked = "";
        this.answer = null;
        this.body.hidden = true;
        this.message.className = failed ? "failed" : "hint";
        this.message.textContent = text;
    }

    private showAnswer(answer: LatencyAnswer): void {
        const left = [
            answer.cut ? `${formatCount(answer.cut)} without begin or end in the trace` : "",
            answer.partly ? `${formatCount(answer.partly)} that began before the time` : "",
        ].filter(Boolean);
        const without = left.length ? `; not counted: ${left.join(", ")}` : "";
        if (!answer.n) {
            this.showEmpty(`No such slice begins and ends in this time${without}.`);
            return;
        }
        this.message.className = "hint";
        this.message.textContent = `${formatCount(answer.n)} slices in ${formatDuration(answer.to - answer.from)}${without}`;
        this.body.hidden = false;
        this.showNumbers(answer);
        this.showNames(answer);
        this.showList();
        this.draw();
    }

    private showNumbers(answer: LatencyAnswer): void {
        const table = make("table");
        const add = (name: string, ns: number | null, text = "") => {
            const row = make("tr");
            const value = make("td", "number", ns === null ? text : formatDuration(ns));
            if (ns !== null) value.title = formatWhole(ns);
            const head = make("th", "", name);
            head.scope = "row";
            row.append(head, value);
            table.append(row);
        };
        add("count", null, formatCount(answer.n));
        for (const [key, name] of NUMBERS) add(name, answer[key]);
        add("mean", Math.round(answer.sum / answer.n));
        add("sum", answer.sum);
        this.numbers.replaceChildren(table);
    }

    private showNames(answer: LatencyAnswer): void {
        const { names } = answer;
        this.names.hidden = names.length < 2;
        if (names.length < 2) return;
        const table = make("table");
        const head = make("tr");
        for (const title of ["name", "count", "sum", "p50", "p90", "p99", "max"]) {
            const cell = make("th", title === "name" ? "" : "number", title);
            cell.scope = "col";
            head.append(cell);
        }
        table.createTHead().append(head);
        const body = table.createTBody();
        for (const row of names.slice(0, NAMES_SHOWN_MAX)) {
            const line = make("tr");
            const name = this.allNames.get(row.name);
            const cell = make("td");
            cell.append(makeButton(name || "(no name)", "link", () => this.chooseName(row.name, name)));
            line.append(cell, make("td", "number", formatCount(row.n)));
            for (const ns of [row.sum, row.p50, row.p90, row.p99, row.max]) line.append(make("td", "number", formatDuration(ns)));
            body.append(line);
        }
        const more = names.length - NAMES_SHOWN_MAX;
        const rest = more > 0 || answer.unnamed ? ", those that took most" : "";
        this.names.replaceChildren(make("h3", "", `By name${rest}`), table);
    }

    private chooseName(id: number, name: string): void {
        const { tracks } = this.chosen;
        const where = tracks.map((track) => this.tree.path(track)).join(", ") || "all tracks";
        this.choose({ label: `‘${name}’ of ${where}`, tracks, names: [id], text: "" });
    }

    private showList(): void {
        const { answer, brushDurations, brushTimes } = this;
        if (!answer) return;
        const of = this.brushed ?? answer;
        const begin = BigInt(this.trace.begin_ns);
        const heading = make("h3", "", "Slowest");
        const parts: string[] = [];
        if (brushDurations) parts.push(`${formatDuration(brushDurations.from)} to ${formatDuration(brushDurations.to)}`);
        if (brushTimes)
            parts.push(`begin ${formatAbsolute(begin, brushTimes.from)} to ${formatAbsolute(begin, brushTimes.to)}`);
        const line = make("p", "hint");
        if (this.brushed) {
            line.append(`${formatCount(of.n)} selected: ${parts.join(", ")} `);
            line.append(makeButton("select all", "link", () => this.clearBrush()));
        } else {
            line.append(answer.n > LIST_MAX ? `the ${LIST_MAX} longest of ${formatCount(answer.n)}` : "all of them");
        }
        const table = make("table");
        const body = table.createTBody();
        for (const found of of.slowest) {
            const row = make("tr");
            const cell = make("td", "number");
            const button = makeButton(formatDuration(found.end - found.begin), "link", () => this.jump(found));
            button.title = formatWhole(found.end - found.begin);
            cell.append(button);
            row.append(
                cell,
                make("td", "number", formatAbsolute(begin, found.begin)),
                make("td", "", this.allNames.get(found.name)),
                make("td", "", this.tree.path(found.track)),
            );
            body.append(row);
        }
        this.list.replaceChildren(heading, line, table);
    }

    // The list stays, although another part of the trace is shown then.
    private jump(found: FoundSlice): void {
        const span = this.span();
        if (this.times !== "all" && span) {
            this.held = span;
            this.times = "held";
            this.fillControls();
            this.actions.changed();
        }
        this.actions.jump(found);
    }

    private plot(chart: Chart): Plot | null {
        const { answer } = this;
        if (!answer) return null;
        return {
            width: chart.width,
            height: chart.height,
            answer,
            durations: durationsOf(answer),
            times: { from: answer.from, to: answer.to },
            brushDurations: this.brushDurations,
            brushTimes: this.brushTimes,
            cursor: this.cursor,
        };
    }

    draw(palette: Palette | null = this.palette): void {
        this.palette = palette;
        if (!palette || !this.visible || this.body.hidden) return;
        for (const chart of [this.histogram, this.heatmap]) {
            const plot = this.plot(chart);
            if (!plot) continue;
            const { from, to } = plot.durations;
            chart.show(plot, palette, `${formatDuration(from)} to ${formatDuration(to)}. Drag to select.`);
        }
    }

    // ---- Selecting a part ----

    private selectDurations(a: number, b: number, done: boolean): void {
        const plot = this.plot(this.histogram);
        if (!plot) return;
        const durations = { from: histogramDuration(plot, Math.min(a, b)), to: histogramDuration(plot, Math.max(a, b)) };
        this.setBrush(durations, null, done);
    }

    private selectArea(a: Point, b: Point, done: boolean): void {
        const plot = this.plot(this.heatmap);
        if (!plot) return;
        const [x0, x1] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
        const [y0, y1] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
        const durations = { from: heatmapDuration(plot, y1), to: heatmapDuration(plot, y0) };
        this.setBrush(durations, { from: heatmapTime(plot, x0), to: heatmapTime(plot, x1) }, done);
    }

    private setBrush(durations: Range | null, times: Range | null, done: boolean): void {
        this.brushDurations = durations;
        this.brushTimes = times;
        this.draw();
        if (done) void this.applyBrush();
    }

    private async applyBrush(): Promise<void> {
        const { answer } = this;
        if (!answer) return;
        await this.run(async (signal) => {
            await this.fetchBrushed({ from: answer.from, to: answer.to }, signal);
            this.showList();
        });
    }

    private clearBrush(): void {
        this.brushDurations = this.brushTimes = this.brushed = this.cursor = this.anchor = null;
        this.draw();
        this.showList();
    }

    // ---- Reading charts ----

    private describeDuration(x: number): string {
        const plot = this.plot(this.histogram);
        if (!plot) return "";
        const ns = histogramDuration(plot, x);
        const bar = barsOf(plot).find(({ from, before }) => ns >= from && ns < before);
        const { buckets, n } = plot.answer;
        let seen = 0;
        for (let i = 0; i < buckets.length && buckets[i] <= ns; i += BUCKET_NUMBERS) seen += buckets[i + 2];
        const share = `${((seen / n) * 100).toFixed(1)} % are not longer`;
        if (!bar) return `${formatDuration(ns)}: none; ${share}`;
        return `${formatDuration(bar.from)} to ${formatDuration(bar.before)}: ${formatCount(bar.n)}; ${share}`;
    }

    private describeCell(at: Point): string {
        const plot = this.plot(this.heatmap);
        return plot ? this.describePlace(plot, heatmapTime(plot, at.x), heatmapDuration(plot, at.y)) : "";
    }

    private describePlace(plot: Plot, time: number, ns: number): string {
        const { cells, columns, from, to } = plot.answer;
        const column = Math.min(columns - 1, Math.floor(((time - from) * columns) / (to - from + 1)));
        const begin = BigInt(this.trace.begin_ns);
        for (let i = 0; i < cells.length; i += CELL_NUMBERS)
            if (cells[i] === column && ns >= cells[i + 1] && ns < cells[i + 2])
                return (
                    `${formatAbsolute(begin, time)}, ${formatDuration(cells[i + 1])} to ` +
                    `${formatDuration(cells[i + 2])}: ${formatCount(cells[i + 3])}`
                );
        return `${formatAbsolute(begin, time)}, ${formatDuration(ns)}: none`;
    }

    private stepHistogram(by: number, grows: boolean): string {
        const plot = this.plot(this.histogram);
        if (!plot) return "";
        const bars = barsOf(plot);
        const at = this.cursor ? bars.findIndex((bar) => bar.before > (this.cursor?.duration ?? 0)) : by > 0 ? -1 : bars.length;
        const bar = bars[Math.max(0, Math.min(bars.length - 1, at + by))];
        const duration = (bar.from + bar.before) / 2;
        if (!grows || !this.anchor) this.anchor = this.cursor ?? { duration, time: plot.times.from };
        this.cursor = { duration, time: plot.times.from };
        if (grows) {
            const first = bars.find(({ before }) => before > Math.min(duration, this.anchor?.duration ?? duration)) ?? bar;
            const last = bars.find(({ before }) => before > Math.max(duration, this.anchor?.duration ?? duration)) ?? bar;
            this.setBrush({ from: first.from, to: last.before }, null, true);
        } else {
            this.draw();
        }
        return `${formatDuration(bar.from)} to ${formatDuration(bar.before)}: ${formatCount(bar.n)}`;
    }

    private stepHeatmap(right: number, up: number, grows: boolean): string {
        const plot = this.plot(this.heatmap);
        if (!plot) return "";
        const { from, to } = plot.times;
        const column = (to - from + 1) / plot.answer.columns;
        const middle = { duration: plot.answer.p50, time: (from + to) / 2 };
        const before = this.cursor ?? middle;
        const bounds = plot.durations;
        const cursor = {
            duration: Math.min(bounds.to, Math.max(bounds.from, (before.duration + 1) * 2 ** (up / 4) - 1)),
            time: Math.min(to, Math.max(from, before.time + right * column)),
        };
        if (!grows || !this.anchor) this.anchor = before;
        this.cursor = cursor;
        const { anchor } = this;
        if (grows)
            this.setBrush(
                { from: Math.min(anchor.duration, cursor.duration), to: Math.max(anchor.duration, cursor.duration) + 1 },
                { from: Math.min(anchor.time, cursor.time), to: Math.max(anchor.time, cursor.time) },
                true,
            );
        else this.draw();
        return this.describePlace(plot, cursor.time, cursor.duration);
    }
}
