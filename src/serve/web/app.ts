// SPDX-License-Identifier: MIT

// The page: connects its parts, and draws when something has changed.

import { ask, isAbort } from "./api";
import type { ArrowsAnswer, FoundSlice, SliceAnswer, Trace } from "./api";
import { CanvasSurface } from "./draw/canvas";
import { DARK, LIGHT } from "./draw/colours";
import { pinnedHeight, placedRows, rowAt, RULER_HEIGHT } from "./draw/scene";
import type { Scene, Shown } from "./draw/scene";
import { depthAt, sliceAt } from "./draw/slices";
import type { HitSlice } from "./draw/slices";
import { Strips } from "./draw/strips";
import { NOWHERE } from "./draw/surface";
import { drawTimeline } from "./draw/timeline";
import { drawLegend, makeHelp, showHelp } from "./help";
import { Input } from "./input";
import { Live } from "./live";
import { Minimap } from "./minimap";
import { Names } from "./model/names";
import { Tiles, levelOf } from "./model/tiles";
import { TrackTree } from "./model/tracks";
import type { Row } from "./model/tracks";
import { formatAbsolute, formatCount, formatDuration, setTimeUnit } from "./model/time";
import { DetailsPanel } from "./panel/details";
import { byId } from "./panel/dom";
import { EventsPanel } from "./panel/events";
import { LatencyPanel } from "./panel/latency";
import { Layout } from "./panel/layout";
import { StatisticsPanel } from "./panel/statistics";
import { TreePanel } from "./panel/tree";
import { makeSvg, savePng, saveSvg } from "./picture";
import { Search } from "./search";
import { Selection, findNeighbour } from "./selection";
import { formatAddress, parseAddress } from "./view/address";
import { newState } from "./view/state";
import type { SlicePlace, Theme } from "./view/state";
import { View } from "./view/view";
import type { Span } from "./view/view";

const ADDRESS_DELAY_MS = 250;
const ARROWS_MAX = 500;
const ARROWS_DELAY_MS = 120;
const MARKS_MAX = 100;
// A slice with a smaller share of the shown time is too small to be seen. It is shown with so much time around it.
const JUMP_SHARE_MIN = 0.01;
const JUMP_AROUND = 10;

export class App {
    private readonly state = newState();
    private readonly canvas = byId<HTMLCanvasElement>("canvas");
    private readonly surface = new CanvasSurface(this.canvas);
    private readonly strips = new Strips();
    private readonly scrollbar = byId<HTMLDivElement>("scroll");
    private readonly tip = byId("tip");
    private readonly view: View;
    private readonly tree: TrackTree;
    private readonly names: Names;
    private readonly tiles: Tiles;
    private readonly minimap: Minimap;
    private readonly treePanel: TreePanel;
    private readonly selection: Selection;
    private readonly statistics: StatisticsPanel;
    private readonly events: EventsPanel;
    private readonly latency: LatencyPanel;
    private readonly search: Search;
    private readonly layout: Layout;
    private readonly input: Input;
    private readonly live: Live;
    private readonly scene: Scene;
    private readonly dark = matchMedia("(prefers-color-scheme: dark)");
    private frame = 0;
    private complete = false;
    private addressTimer = 0;
    private arrowsTimer = 0;
    private arrowsAbort: AbortController | null = null;
    private arrowsSpan = "";

    constructor(readonly trace: Trace) {
        setTimeUnit(trace.unit);
        const redraw = () => this.redraw();
        const fail = (error: unknown) => this.showError(error);
        this.tree = new TrackTree(trace.tracks);
        this.view = new View(trace.duration, () => this.onView(), () => this.onFollow());
        this.names = new Names(trace.names, redraw, fail);
        this.tiles = new Tiles(trace.duration, redraw, fail);
        this.minimap = new Minimap(trace, this.view, redraw, fail);
        const details = new DetailsPanel(trace, this.tree, {
            follow: (track, depth, time) => void this.selectSlice({ track, depth, time }, true),
        });
        this.selection = new Selection(trace, this.state, details, () => this.onSelection());
        this.statistics = new StatisticsPanel(this.tree, this.names);
        this.events = new EventsPanel(trace, {
            goTo: (time) => {
                this.setCursor(time);
                this.view.reveal({ from: time, to: time });
            },
        });
        this.latency = new LatencyPanel(trace, this.tree, this.names, {
            shown: () => this.view.goal,
            selected: () => this.state.span,
            jump: (found) => void this.jump(found),
            changed: () => this.saveAddress(),
        });
        this.search = new Search({
            from: () => this.state.slice?.begin ?? Math.max(0, this.view.from),
            show: (found) => this.showFound(found),
        });
        this.layout = new Layout({ resized: redraw, tab: (tab) => this.onTab(tab) });
        this.treePanel = new TreePanel(this.tree, {
            changed: () => this.onRows(),
            focus: (track) => this.setFocus(track),
            scrollTo: (row) => this.scrollTo(row),
            scrollBy: (px) => this.scrollBy(px),
            openSlice: (track) => void this.selectMiddle(track),
        });
        this.scene = {
            trace,
            tree: this.tree,
            tiles: this.tiles,
            names: this.names,
            view: this.view,
            state: this.state,
            palette: LIGHT,
            height: 0,
            scroll: 0,
            lossTracks: trace.tracks.filter((track) => track.kind === "losses"),
            onShown: null,
        };
        this.input = this.makeInput();
        this.live = new Live(trace, {
            busy: () => this.tiles.busy,
            renew: (next) => this.renew(next),
            toggleFollow: () => this.toggleFollow(),
            fail,
        });
        this.listen();
        this.showSummary();
        this.readAddress();
        this.applyTheme();
    }

    private makeInput(): Input {
        return new Input(this.canvas, this.view, {
            click: (x, y) => void this.click(x, y),
            doubleClick: (x, y) => {
                const hit = this.hitAt(x, y);
                if (hit) this.view.fit({ from: hit.begin, to: hit.end });
            },
            hover: (x, y) => this.hover(x, y),
            leave: () => this.leave(),
            select: (span, done) => this.selectSpan(span, done),
            scrollBy: (px) => this.scrollBy(px),
            search: () => {
                this.search.input.focus();
                this.search.input.select();
            },
            mark: () => this.toggleMark(),
            fit: () => this.fit(),
            help: showHelp,
            arrows: () => this.toggleArrows(),
            events: () => this.layout.select("events"),
            latency: () => this.showLatency(),
            toggleFollow: () => this.toggleFollow(),
            neighbour: (by) => void this.selectNeighbour(by),
            follow: (by) => this.followArrow(by),
            enter: () => {
                if (this.state.focus !== null) void this.selectMiddle(this.state.focus);
            },
            escape: () => this.escape(),
        });
    }

    private listen(): void {
        const on = (id: string, run: () => void) => byId(id).addEventListener("click", run);
        on("zoom-in", () => this.input.zoomIn());
        on("zoom-out", () => this.input.zoomOut());
        on("show-all", () => this.view.moveTo(this.view.whole()));
        on("arrows", () => this.toggleArrows());
        on("save-svg", () => saveSvg(this.scene));
        on("save-png", () => savePng(this.scene));
        on("theme", () => this.nextTheme());
        byId("skip").addEventListener("click", (event) => {
            event.preventDefault(); // the part of the address after # is the view's
            this.canvas.focus();
        });
        on("error-close", () => (byId("error").hidden = true));
        const filter = byId<HTMLInputElement>("filter");
        filter.addEventListener("input", () => {
            this.tree.filter = filter.value.trim();
            this.tree.update();
            this.redraw();
            this.saveAddress();
        });
        this.scrollbar.addEventListener("scroll", () => {
            this.redraw();
            this.saveAddress();
        });
        new ResizeObserver(() => this.redraw()).observe(byId("canvas-side"));
        new ResizeObserver(() => this.redraw()).observe(byId("overview"));
        this.dark.addEventListener("change", () => this.applyTheme());
        addEventListener("hashchange", () => this.readAddress());
        makeHelp();
    }

    private showSummary(): void {
        const { trace } = this;
        document.title = `${trace.name} – Strata`;
        byId("name").textContent = trace.name;
        const lost = document.createElement("span");
        lost.textContent =
            trace.lost === null
                ? ", an unknown number of events lost"
                : trace.lost
                  ? `, ${formatCount(trace.lost)} lost`
                  : ", 0 lost";
        if (trace.lost !== 0) lost.className = "lost";
        const error = document.createElement("span");
        if (trace.clock_note) {
            error.className = "lost";
            error.textContent = "; a clock is wrong by an unknown amount";
            error.title = trace.clock_note;
        } else if (trace.error_ns) {
            error.textContent = `; times within ±${formatDuration(trace.error_ns)}`;
        }
        byId("summary").replaceChildren(
            `${formatDuration(trace.duration)}, ${formatCount(trace.events)} events`,
            lost,
            error,
            trace.unit === "ticks" ? "; times are ticks: the rate of the clock is unknown (--cpu-hz)" : "",
        );
        byId("summary").title = trace.notes.join("\n");
    }

    // ---- A running recording ----

    // NEXT has a newer index, with the same ids of tracks. The trace's object is updated, because other parts refer to it.
    private renew(next: Trace): void {
        const { trace, tree, state, view } = this;
        // An earlier begin: times since the begin are later. By another clock, they are about what they were.
        const by = next.clock === trace.clock ? Number(BigInt(trace.begin_ns) - BigInt(next.begin_ns)) : 0;
        const before = trace.names;
        Object.assign(trace, next);
        const sameNames = this.names.renew(next.names);
        tree.renew(next.tracks);
        tree.pinned = tree.pinned.filter((id) => tree.byId.has(id));
        this.scene.lossTracks = trace.tracks.filter((track) => track.kind === "losses");
        this.tiles.renew(trace.duration, sameNames && by === 0);
        for (const span of [...state.marks, ...(state.span ? [state.span] : [])]) {
            span.from += by;
            span.to += by;
        }
        if (state.cursor !== null) state.cursor += by;
        this.minimap.renew();
        void this.selection.renew(by);
        this.events.renew(by);
        this.latency.renew(by, sameNames ? null : before);
        view.renew(trace.duration, by);
        this.arrowsSpan = "";
        this.updateArrows();
        this.showSummary();
        this.redraw();
    }

    private toggleFollow(): void {
        if (this.trace.live || this.view.following) this.view.setFollowing(!this.view.following);
    }

    private onFollow(): void {
        if (!this.live) return;
        this.live.showFollowing(this.view.following);
        this.saveAddress();
    }

    showError(error: unknown): void {
        if (isAbort(error)) return;
        byId("error-text").textContent = error instanceof Error ? error.message : String(error);
        byId("error").hidden = false;
    }

    // ---- Drawing ----

    redraw(): void {
        if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
    }

    private draw(): void {
        this.frame = 0;
        const { scene, view, state } = this;
        const side = byId("canvas-side");
        const width = Math.max(1, side.clientWidth);
        view.width = width;
        scene.height = Math.max(1, side.clientHeight);
        this.surface.resize(width, scene.height, devicePixelRatio);
        const room = Math.max(0, scene.height - RULER_HEIGHT - pinnedHeight(scene));
        byId("scroll-size").style.height = `${scene.height - room + this.tree.height}px`;
        scene.scroll = this.scrollbar.scrollTop;
        drawTimeline(this.surface, scene, this.strips);
        this.treePanel.draw(scene.scroll, scene.height - RULER_HEIGHT, pinnedHeight(scene), state.focus, scene.palette);
        this.minimap.draw(scene.palette, state);
        const tracks = placedRows(scene).map((placed) => placed.row.track);
        const wanted = new Set([...tracks, ...scene.lossTracks]);
        // While the view moves by itself, what is shown now is outdated before it arrives.
        const { from, to } = view.goal;
        this.complete = this.tiles.ensure([...wanted], levelOf((to - from) / view.width), from, to);
        byId("status").textContent = this.statusText();
    }

    private statusText(): string {
        const { state, trace, view } = this;
        const begin = BigInt(trace.begin_ns);
        const parts = [`${formatAbsolute(begin, view.from)} to ${formatAbsolute(begin, view.to)}`];
        if (state.hover !== null) parts.push(`pointer at ${formatAbsolute(begin, state.hover)}`);
        if (state.cursor !== null) parts.push(`cursor at ${formatAbsolute(begin, state.cursor)}`);
        return parts.join(" · ");
    }

    private onView(): void {
        // View reports its first place before anything else exists.
        if (!this.scene) return;
        this.leave();
        this.redraw();
        this.saveAddress();
        this.updateArrows();
        this.latency.refresh();
    }

    private onRows(): void {
        byId<HTMLInputElement>("filter").value = this.tree.filter;
        this.redraw();
        this.saveAddress();
    }

    private onSelection(): void {
        this.redraw();
        this.saveAddress();
    }

    private scrollBy(px: number): void {
        if (px) this.scrollbar.scrollTop += px;
    }

    private scrollTo(row: Row): void {
        const room = this.scene.height - RULER_HEIGHT - pinnedHeight(this.scene);
        const { scrollTop } = this.scrollbar;
        if (row.top < scrollTop) this.scrollbar.scrollTop = row.top;
        else if (row.top + row.height > scrollTop + room) this.scrollbar.scrollTop = row.top + row.height - room;
    }

    // ---- Selecting ----

    private hitAt(x: number, y: number): HitSlice | null {
        const placed = rowAt(this.scene, y);
        if (!placed || !hasSlices(placed.row)) return null;
        return sliceAt(this.scene, placed.row.track, x, y - placed.y);
    }

    private async click(x: number, y: number): Promise<void> {
        const { scene, view } = this;
        const time = Math.round(view.time(x));
        const placed = rowAt(scene, y);
        this.setCursor(time);
        this.setFocus(placed?.row.track.id ?? null);
        if (!placed || !hasSlices(placed.row)) return;
        const hit = this.hitAt(x, y);
        const inside = hit ? Math.min(Math.max(time, hit.begin), Math.max(hit.begin, hit.end - 1)) : time;
        const depth = depthAt(placed.row.track, y - placed.y);
        if (hit) await this.selectSlice({ track: placed.row.track.id, depth, time: inside }, false);
        else this.selection.clear();
    }

    private async selectSlice(place: SlicePlace, reveal: boolean): Promise<void> {
        this.layout.select("details");
        const slice = await this.select(place);
        if (!slice || !reveal) return;
        this.showTrack(place.track);
        this.view.reveal({ from: slice.begin, to: slice.end });
    }

    private async select(place: SlicePlace): Promise<SliceAnswer | null> {
        const slice = await this.selection.select(place);
        if (slice) this.latency.offer({ track: place.track, name: slice.name, nameId: slice.name_id });
        return slice;
    }

    // Shows a slice from the list of the slowest, and keeps the list. A slice that is too short is enlarged.
    private async jump(found: FoundSlice): Promise<void> {
        const slice = await this.select({ track: found.track, depth: found.depth, time: found.begin });
        if (!slice) return;
        const { begin, end } = slice;
        this.setCursor(begin);
        this.showTrack(found.track);
        const shown = this.view.goal;
        if ((end - begin) / (shown.to - shown.from) < JUMP_SHARE_MIN) {
            const around = (end - begin) * JUMP_AROUND;
            this.view.moveTo({ from: begin - around, to: end + around });
        } else {
            this.view.reveal({ from: begin, to: end });
        }
    }

    private showLatency(): void {
        if (this.state.slice) this.latency.chooseSelected();
        this.layout.select("latency");
    }

    private showTrack(track: number): void {
        if (this.tree.reveal(track)) this.onRows();
        this.setFocus(track);
        const row = this.tree.rowOf(track);
        if (!row) return;
        // The new height of all rows, before the scrollbar is set.
        this.draw();
        this.scrollTo(row);
    }

    private async selectMiddle(track: number): Promise<void> {
        const row = this.tree.rowOf(track);
        if (row && hasSlices(row)) await this.selectSlice({ track, depth: 0, time: (this.view.from + this.view.to) / 2 }, true);
    }

    private async selectNeighbour(by: number): Promise<void> {
        const { slice } = this.state;
        if (!slice) return;
        const { track, depth } = slice;
        const time = await findNeighbour(this.trace, slice, by);
        if (time !== null) await this.selectSlice({ track, depth, time }, true);
    }

    private followArrow(by: number): void {
        const place = this.selection.follow(by);
        if (place) void this.selectSlice(place, true);
    }

    private showFound(found: FoundSlice): void {
        const { track, depth, begin } = found;
        void this.selectSlice({ track, depth, time: begin }, true);
        this.saveAddress();
    }

    private selectSpan(span: Span, done: boolean): void {
        const bounded = { from: Math.max(0, span.from), to: Math.min(this.trace.duration, span.to) };
        if (bounded.to <= bounded.from) return;
        this.state.span = bounded;
        this.redraw();
        if (!done) return;
        if (this.layout.selected !== "latency") this.layout.select("statistics");
        this.showStatistics();
        this.latency.refresh();
        this.saveAddress();
    }

    private showStatistics(): void {
        const { span } = this.state;
        const rows = [...this.tree.pinnedRows, ...this.tree.rows].filter(hasSlices);
        if (span) void this.statistics.show(span, [...new Set(rows.map((row) => row.track.id))]);
        else this.statistics.showNothing();
    }

    private setCursor(time: number): void {
        this.state.cursor = time;
        this.events.show(time);
        this.onSelection();
    }

    private setFocus(track: number | null): void {
        this.state.focus = track;
        this.redraw();
    }

    private onTab(tab: string): void {
        this.latency.visible = tab === "latency";
        this.latency.refresh();
        this.saveAddress();
        const { cursor, span } = this.state;
        if (tab === "events") this.events.show(cursor ?? Math.max(0, Math.round(span?.from ?? this.view.from)));
        this.redraw();
    }

    private toggleMark(): void {
        const { slice, span, cursor, marks } = this.state;
        const mark = slice
            ? { from: slice.begin, to: slice.end }
            : span ?? (cursor !== null ? { from: cursor, to: cursor } : null);
        if (!mark) return;
        const at = marks.findIndex((other) => other.from === mark.from && other.to === mark.to);
        if (at >= 0) marks.splice(at, 1);
        else if (marks.length < MARKS_MAX) marks.push(mark);
        this.onSelection();
    }

    private fit(): void {
        const { slice, span } = this.state;
        if (slice) this.view.fit({ from: slice.begin, to: slice.end });
        else if (span) this.view.fit(span);
    }

    private escape(): void {
        this.state.span = null;
        this.state.cursor = null;
        this.showStatistics();
        this.latency.refresh();
        this.selection.clear();
    }

    private hover(x: number, y: number): void {
        const { state, tip, view } = this;
        state.hover = view.time(x);
        const hit = this.hitAt(x, y);
        tip.hidden = !hit;
        if (hit) {
            const length = formatDuration(hit.end - hit.begin);
            tip.textContent =
                hit.n > 1 ? `${formatCount(hit.n)} slices in ${length}, most of the time ${hit.name}` : `${hit.name}\n${length}`;
            const left = Math.min(x + 14, view.width - tip.offsetWidth - 4);
            const below = y + 18 + tip.offsetHeight < this.scene.height;
            tip.style.left = `${Math.max(0, left)}px`;
            tip.style.top = `${below ? y + 18 : Math.max(0, y - tip.offsetHeight - 8)}px`;
        }
        byId("status").textContent = this.statusText();
    }

    private leave(): void {
        this.state.hover = null;
        this.tip.hidden = true;
    }

    // ---- Arrows of all requests ----

    private toggleArrows(): void {
        this.state.allArrows = !this.state.allArrows;
        this.arrowsSpan = "";
        this.updateArrows();
        this.saveAddress();
    }

    private updateArrows(): void {
        const { state } = this;
        byId("arrows").setAttribute("aria-pressed", String(state.allArrows));
        clearTimeout(this.arrowsTimer);
        if (state.allArrows) {
            this.arrowsTimer = window.setTimeout(() => void this.fetchArrows(), ARROWS_DELAY_MS);
        } else {
            state.arrows = [];
            this.redraw();
        }
    }

    private async fetchArrows(): Promise<void> {
        const from = Math.max(0, Math.floor(this.view.from));
        const to = Math.max(from, Math.ceil(this.view.to));
        const span = `${from}-${to}`;
        if (span === this.arrowsSpan) return;
        this.arrowsSpan = span;
        this.arrowsAbort?.abort();
        const abort = (this.arrowsAbort = new AbortController());
        try {
            const answer = await ask<ArrowsAnswer>("arrows", { from, to, max: ARROWS_MAX }, abort.signal);
            if (this.state.allArrows) this.state.arrows = answer.arrows;
        } catch (error) {
            this.showError(error);
        }
        if (this.arrowsAbort === abort) this.arrowsAbort = null;
        this.redraw();
    }

    // ---- Colours ----

    private nextTheme(): void {
        const dark = document.documentElement.dataset.theme === "dark";
        const next: Theme = dark ? "light" : "dark";
        this.state.theme = (next === "dark") === this.dark.matches ? "auto" : next;
        this.applyTheme();
        this.saveAddress();
    }

    private applyTheme(): void {
        const { theme } = this.state;
        const dark = theme === "dark" || (theme === "auto" && this.dark.matches);
        document.documentElement.dataset.theme = dark ? "dark" : "light";
        this.scene.palette = dark ? DARK : LIGHT;
        drawLegend(this.scene.palette);
        this.latency.draw(this.scene.palette);
        this.redraw();
    }

    // ---- The address ----

    private saveAddress(): void {
        clearTimeout(this.addressTimer);
        this.addressTimer = window.setTimeout(() => {
            this.addressTimer = 0;
            history.replaceState(null, "", this.address());
        }, ADDRESS_DELAY_MS);
    }

    private address(): string {
        const { state, tree, view } = this;
        return formatAddress({
            view: view.goal,
            slice: state.slice,
            span: state.span,
            cursor: state.cursor,
            marks: state.marks,
            closed: [...tree.closed],
            pinned: tree.pinned,
            moved: [...tree.moved],
            filter: tree.filter,
            search: this.search.input.value,
            arrows: state.allArrows,
            follow: view.following,
            latency: this.latency.address,
            scroll: this.scrollbar.scrollTop,
            theme: state.theme,
        });
    }

    private readAddress(): void {
        const given = parseAddress(location.hash);
        const { state, tree, view } = this;
        tree.reset();
        if (given.closed) tree.closed = new Set(given.closed);
        tree.pinned = given.pinned.filter((id) => tree.byId.has(id));
        tree.moved = new Map(given.moved);
        tree.filter = given.filter;
        tree.update();
        byId<HTMLInputElement>("filter").value = given.filter;
        this.search.input.value = given.search;
        state.span = given.span;
        state.cursor = given.cursor;
        state.marks = given.marks.slice(0, MARKS_MAX);
        state.allArrows = given.arrows;
        state.theme = given.theme;
        view.following = false;
        view.show(given.view ?? view.whole());
        if (this.trace.live && (given.follow || !given.view)) view.setFollowing(true);
        else this.onFollow();
        if (given.slice) void this.select(given.slice);
        else if (state.slice) this.selection.clear();
        if (given.span) this.layout.select("statistics");
        if (given.slice) this.layout.select("details");
        if (given.latency) {
            this.latency.restore(given.latency);
            this.layout.select("latency");
        }
        this.showStatistics();
        this.updateArrows();
        this.draw();
        this.scrollbar.scrollTop = given.scroll;
        if (state.theme !== "auto") this.applyTheme();
    }

    // ---- For tests: what is shown, as data ----

    // True if everything to be shown has arrived, and the address describes what is shown.
    get idle(): boolean {
        const parts = [this.minimap, this.selection, this.statistics, this.events, this.latency, this.search, this.tiles];
        const busy = this.frame || this.addressTimer || this.arrowsAbort || this.view.moving || parts.some((part) => part.busy);
        return this.complete && !busy;
    }

    shown(): Shown[] {
        const shown: Shown[] = [];
        this.scene.onShown = (one) => shown.push(one);
        drawTimeline(NOWHERE, this.scene);
        this.scene.onShown = null;
        return shown;
    }

    rows(): { track: number; name: string; y: number; height: number; pinned: boolean }[] {
        return placedRows(this.scene).map(({ row, y, pinned }) => {
            return { track: row.track.id, name: row.track.name, y, height: row.height, pinned };
        });
    }

    span(): Span {
        return { from: this.view.from, to: this.view.to };
    }

    svg(): string {
        return makeSvg(this.scene);
    }
}

function hasSlices(row: Row): boolean {
    return row.track.kind === "slices" || row.track.kind === "states" || row.track.kind === "losses";
}
