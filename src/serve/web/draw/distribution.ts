// SPDX-License-Identifier: MIT

// Draws how long slices take: a histogram with the cumulative share (CDF), and a heatmap over time. Durations are on a
// logarithmic scale.

import type { LatencyAnswer } from "../api";
import { formatDuration, makeTicks } from "../model/time";
import type { Palette } from "./colours";
import { mixColours } from "./colours";
import type { Surface } from "./surface";
import { textWidth } from "./surface";

const LABEL_PX = 14; // below a plot
const LEFT_PX = 46; // beside the heatmap: durations
const RIGHT_PX = 30; // beside the histogram: shares
const TOP_PX = 14;
const BAR_MIN_PX = 5;
const TICK_PX = 56;
const SMALL = 9; // px of text
const CELL_LEAST = 0.22; // how much of the colour a cell with one slice has
const SCALE_LEAST = 1; // doublings

export const BUCKET_NUMBERS = 3; // from, before, count
export const CELL_NUMBERS = 4; // column, from, before, count

// A scale of durations: a logarithm with a place for 0.
const scaled = (ns: number) => Math.log2(ns + 1);
const unscaled = (place: number) => 2 ** place - 1;

export interface Range {
    from: number;
    to: number;
}

// What a chart shows, and where. Places are in px from its left and top.
export interface Plot {
    width: number;
    height: number;
    answer: LatencyAnswer;
    durations: Range;
    times: Range;
    // The selected part, and the keyboard's cursor.
    brushDurations: Range | null;
    brushTimes: Range | null;
    cursor: { duration: number; time: number } | null;
}

// The range of durations in the charts of ANSWER.
export function durationsOf(answer: LatencyAnswer): Range {
    const { buckets } = answer;
    if (!buckets.length) return { from: 0, to: 1 };
    const from = buckets[0];
    const to = buckets[buckets.length - BUCKET_NUMBERS + 1];
    const missing = SCALE_LEAST - (scaled(to) - scaled(from));
    if (missing <= 0) return { from, to };
    return { from: Math.max(0, unscaled(scaled(from) - missing / 2)), to: unscaled(scaled(to) + missing / 2) };
}

function share(range: Range, ns: number): number {
    return (scaled(ns) - scaled(range.from)) / (scaled(range.to) - scaled(range.from));
}

function durationAt(range: Range, at: number): number {
    const place = Math.min(1, Math.max(0, at));
    return unscaled(scaled(range.from) + place * (scaled(range.to) - scaled(range.from)));
}

// Round durations within RANGE, at most one per TICK_PX of LENGTH px.
function durationTicks(range: Range, length: number): number[] {
    const room = Math.max(2, Math.floor(length / TICK_PX));
    const steps = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7]];
    let best: number[] = [];
    for (const step of steps) {
        const ticks: number[] = [];
        for (let power = 1; power <= range.to; power *= 10)
            for (const digit of step)
                if (digit * power >= range.from && digit * power <= range.to) ticks.push(digit * power);
        if (best.length && ticks.length > room) break;
        best = ticks;
    }
    const every = Math.ceil(best.length / room);
    return best.filter((_, i) => i % every === 0);
}

// ---- Histogram ----

export interface Bar {
    from: number;
    before: number;
    n: number;
}

const histogramWidth = (plot: Plot) => Math.max(1, plot.width - RIGHT_PX);

export const histogramX = (plot: Plot, ns: number): number => share(plot.durations, ns) * histogramWidth(plot);
export const histogramDuration = (plot: Plot, x: number): number => durationAt(plot.durations, x / histogramWidth(plot));

// Combines neighbouring buckets to bars that are wide enough to be seen.
export function barsOf(plot: Plot): Bar[] {
    const { buckets } = plot.answer;
    const perDoubling = histogramWidth(plot) / (scaled(plot.durations.to) - scaled(plot.durations.from));
    const doublings = [1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2].find((part) => part * perDoubling >= BAR_MIN_PX) ?? 1;
    const bars: Bar[] = [];
    for (let i = 0; i < buckets.length; i += BUCKET_NUMBERS) {
        const [from, before, n] = buckets.slice(i, i + BUCKET_NUMBERS);
        // Buckets of a doubling are equally wide.
        const doubling = 2 ** Math.floor(Math.log2(Math.max(1, from)));
        const width = Math.max(before - from, doubling * doublings);
        const start = from < doubling ? from : doubling + Math.floor((from - doubling) / width) * width;
        const last = bars[bars.length - 1];
        if (last && last.from === start) last.n += n;
        else bars.push({ from: start, before: start + width, n });
    }
    return bars;
}

// The area of a bar is proportional to its number, so a bar with the width of two has their mean height.
export function drawHistogram(surface: Surface, plot: Plot, palette: Palette): void {
    const { width, height, answer } = plot;
    const bottom = height - LABEL_PX;
    const bars = barsOf(plot);
    const density = ({ from, before, n }: Bar) => n / (scaled(before) - scaled(from));
    const most = bars.reduce((largest, bar) => Math.max(largest, density(bar)), 0);
    surface.rect(0, 0, width, height, palette.background);
    for (const ns of durationTicks(plot.durations, histogramWidth(plot))) {
        const x = histogramX(plot, ns);
        surface.rect(x, TOP_PX, 0.5, bottom - TOP_PX, palette.grid);
        label(surface, x, height - LABEL_PX / 2, formatDuration(ns), palette.faint, histogramWidth(plot));
    }
    for (const bar of bars) {
        const x0 = histogramX(plot, Math.max(bar.from, plot.durations.from));
        const x1 = histogramX(plot, Math.min(bar.before, plot.durations.to));
        const h = Math.max(2, (density(bar) / most) * (bottom - TOP_PX));
        surface.rect(x0, bottom - h, Math.max(1, x1 - x0 - 0.5), h, palette.density);
    }
    if (plot.brushDurations) drawBrush(surface, plot, palette, bottom);
    drawShares(surface, plot, palette, bottom);
    let free = -Infinity;
    for (const [name, ns] of [
        ["p50", answer.p50],
        ["p90", answer.p90],
        ["p99", answer.p99],
        ["max", answer.max],
    ] as [string, number][]) {
        const x = Math.min(histogramX(plot, ns), histogramWidth(plot) - 1);
        const room = textWidth(name, false, SMALL);
        surface.rect(x, TOP_PX - 2, 1, bottom - TOP_PX + 2, palette.mark);
        const left = Math.min(x - room / 2, histogramWidth(plot) - room);
        if (left < free) continue;
        surface.text(Math.max(0, left), TOP_PX / 2, name, palette.mark, { size: SMALL });
        free = left + room + 3;
    }
    surface.rect(0, bottom, histogramWidth(plot), 1, palette.faint);
    if (plot.cursor) surface.outline(histogramX(plot, plot.cursor.duration) - 2, TOP_PX, 4, bottom - TOP_PX, palette.text, 1);
}

function drawBrush(surface: Surface, plot: Plot, palette: Palette, bottom: number): void {
    const range = plot.brushDurations ?? plot.durations;
    const x0 = Math.max(0, histogramX(plot, range.from));
    const x1 = Math.min(histogramWidth(plot), histogramX(plot, range.to));
    surface.rect(x0, TOP_PX, Math.max(2, x1 - x0), bottom - TOP_PX, palette.selection);
    surface.rect(x0, TOP_PX, 1, bottom - TOP_PX, palette.accent);
    surface.rect(x1, TOP_PX, 1, bottom - TOP_PX, palette.accent);
}

// The cumulative share of slices.
function drawShares(surface: Surface, plot: Plot, palette: Palette, bottom: number): void {
    const { buckets, n } = plot.answer;
    const right = histogramWidth(plot);
    const y = (part: number) => bottom - part * (bottom - TOP_PX);
    const points = [0, y(0)];
    let seen = 0;
    for (let i = 0; i < buckets.length; i += BUCKET_NUMBERS) {
        points.push(Math.max(0, histogramX(plot, buckets[i])), y(seen / n));
        seen += buckets[i + 2];
        points.push(Math.min(right, histogramX(plot, buckets[i + 1])), y(seen / n));
    }
    points.push(right, y(seen / n));
    surface.line(points, palette.curve, 1.5);
    for (const part of [0, 0.5, 1])
        surface.text(right + 3, Math.min(y(part), bottom - 4), `${part * 100}%`, palette.curve, { size: SMALL });
}

function label(surface: Surface, x: number, y: number, text: string, colour: string, right: number): void {
    const width = textWidth(text, false, SMALL);
    surface.text(Math.max(0, Math.min(x - width / 2, right - width)), y, text, colour, { size: SMALL });
}

// ---- Heatmap ----

const heatmapWidth = (plot: Plot) => Math.max(1, plot.width - LEFT_PX - 2);
const heatmapHeight = (plot: Plot) => Math.max(1, plot.height - LABEL_PX - 4);

export const heatmapX = (plot: Plot, time: number): number =>
    LEFT_PX + ((time - plot.times.from) / Math.max(1, plot.times.to - plot.times.from)) * heatmapWidth(plot);
export const heatmapY = (plot: Plot, ns: number): number => 4 + (1 - share(plot.durations, ns)) * heatmapHeight(plot);
export function heatmapTime(plot: Plot, x: number): number {
    const part = Math.min(1, Math.max(0, (x - LEFT_PX) / heatmapWidth(plot)));
    return plot.times.from + part * (plot.times.to - plot.times.from);
}
export const heatmapDuration = (plot: Plot, y: number): number =>
    durationAt(plot.durations, 1 - (y - 4) / heatmapHeight(plot));

export function drawHeatmap(surface: Surface, plot: Plot, palette: Palette): void {
    const { width, height, answer } = plot;
    const { cells, columns } = answer;
    const bottom = 4 + heatmapHeight(plot);
    const right = LEFT_PX + heatmapWidth(plot);
    surface.rect(0, 0, width, height, palette.background);
    for (const ns of durationTicks(plot.durations, heatmapHeight(plot) * 2)) {
        const y = heatmapY(plot, ns);
        surface.rect(LEFT_PX, y, right - LEFT_PX, 0.5, palette.grid);
        surface.text(LEFT_PX - 4, Math.max(6, y), formatDuration(ns), palette.faint, { size: SMALL, end: true });
    }
    const ticks = makeTicks(plot.times.from, plot.times.to, heatmapWidth(plot), TICK_PX * 1.5);
    for (const time of ticks.times) {
        surface.rect(heatmapX(plot, time), 4, 0.5, bottom - 4, palette.grid);
        label(surface, heatmapX(plot, time), height - LABEL_PX / 2, ticks.label(time), palette.faint, width);
    }
    let most = 1;
    for (let i = 0; i < cells.length; i += CELL_NUMBERS) most = Math.max(most, cells[i + 3]);
    const cellWidth = heatmapWidth(plot) / columns;
    for (let i = 0; i < cells.length; i += CELL_NUMBERS) {
        const [column, from, before, n] = cells.slice(i, i + CELL_NUMBERS);
        const top = heatmapY(plot, Math.min(before, plot.durations.to));
        const h = heatmapY(plot, Math.max(from, plot.durations.from)) - top;
        const strength = most > 1 ? Math.log(n) / Math.log(most) : 1;
        const colour = mixColours(palette.background, palette.heat, CELL_LEAST + (1 - CELL_LEAST) * strength);
        surface.rect(LEFT_PX + column * cellWidth, top, Math.max(1, cellWidth), Math.max(1, h), colour);
    }
    surface.rect(LEFT_PX, bottom, right - LEFT_PX, 1, palette.faint);
    surface.rect(LEFT_PX - 1, 4, 1, bottom - 4, palette.faint);
    drawHeatmapBrush(surface, plot, palette, right, bottom);
    if (plot.cursor) {
        const x = heatmapX(plot, plot.cursor.time);
        const y = heatmapY(plot, plot.cursor.duration);
        surface.outline(x - 4, y - 4, 8, 8, palette.text, 1.5);
    }
}

function drawHeatmapBrush(surface: Surface, plot: Plot, palette: Palette, right: number, bottom: number): void {
    const { brushDurations, brushTimes } = plot;
    if (!brushDurations && !brushTimes) return;
    const x0 = brushTimes ? Math.max(LEFT_PX, heatmapX(plot, brushTimes.from)) : LEFT_PX;
    const x1 = brushTimes ? Math.min(right, heatmapX(plot, brushTimes.to)) : right;
    const y0 = brushDurations ? Math.max(4, heatmapY(plot, brushDurations.to)) : 4;
    const y1 = brushDurations ? Math.min(bottom, heatmapY(plot, brushDurations.from)) : bottom;
    surface.rect(x0, y0, Math.max(2, x1 - x0), Math.max(2, y1 - y0), palette.selection);
    surface.outline(x0, y0, Math.max(2, x1 - x0), Math.max(2, y1 - y0), palette.accent, 1);
}
