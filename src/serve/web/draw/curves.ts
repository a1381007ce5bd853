// SPDX-License-Identifier: MIT

// Draws rows of values over time: numbers of events as bars, and counters as curves.

import { VALUE_NUMBERS } from "../api";
import { formatValue } from "../model/time";
import { ROW_PADDING } from "../model/tracks";
import { currentLevel } from "./scene";
import type { PlacedRow, Scene } from "./scene";
import type { Surface } from "./surface";
import { textWidth } from "./surface";

const BAR_MIN_PX = 2; // a single event among many is still seen

export function drawEvents(surface: Surface, scene: Scene, placed: PlacedRow): void {
    const { track, height } = placed.row;
    const { view, palette } = scene;
    const pieces = scene.tiles.pieces(track, currentLevel(scene), view.from, view.to);
    const bars: { from: number; to: number; rate: number }[] = [];
    let largest = 0;
    for (const piece of pieces) {
        const counts = piece.tile.data[0];
        if (!counts?.length) continue;
        const period = (piece.tile.to - piece.tile.from) / counts.length;
        const begin = Math.max(piece.from, view.from);
        const end = Math.min(piece.to, view.to);
        const first = Math.max(0, Math.floor((begin - piece.tile.from) / period));
        for (let i = first; i < counts.length && piece.tile.from + i * period < end; i++) {
            if (!counts[i]) continue;
            const from = piece.tile.from + i * period;
            const rate = counts[i] / period;
            bars.push({ from: Math.max(from, piece.from), to: Math.min(from + period, piece.to), rate });
            largest = Math.max(largest, rate);
        }
    }
    const h = height - 2 * ROW_PADDING;
    const bottom = placed.y + height - ROW_PADDING;
    for (const bar of bars) {
        const size = Math.max(BAR_MIN_PX, (bar.rate / largest) * h);
        const x = view.x(bar.from);
        const width = view.x(bar.to) - x;
        surface.rect(x, bottom - size, width > 4 ? width - 0.5 : width, size, palette.density);
    }
}

export function drawCounter(surface: Surface, scene: Scene, placed: PlacedRow): void {
    const { track, height } = placed.row;
    const { view, palette } = scene;
    const points = collectValues(scene, placed);
    if (!points.length) return;
    let least = 0;
    let most = 0;
    for (const { min, max } of points) {
        least = Math.min(least, min);
        most = Math.max(most, max);
    }
    if (most === least) most = least + 1;
    const top = placed.y + ROW_PADDING;
    const h = height - 2 * ROW_PADDING;
    const yOf = (value: number) => top + h - 1 - ((value - least) / (most - least)) * (h - 2);
    const base = yOf(Math.max(0, least));
    const line: number[] = [];
    points.forEach((point, i) => {
        const x = Math.max(-2, view.x(point.time));
        const next = i + 1 < points.length ? view.x(points[i + 1].time) : view.x(scene.trace.duration);
        const end = Math.min(view.width + 2, next);
        if (end <= -2) return;
        const y = yOf(point.last);
        surface.rect(x, Math.min(y, base), end - x, Math.abs(base - y), palette.curveArea);
        // What it was within this pixel.
        line.push(x, yOf(point.min), x, yOf(point.max), x, y, end, y);
    });
    surface.line(line, palette.curve, 1.25);
    const label = formatValue(most, track.unit ?? "");
    surface.rect(2, top, textWidth(label, false, 9) + 4, 11, palette.background);
    surface.text(4, top + 6, label, palette.faint, { size: 9 });
}

interface CounterPoint {
    time: number;
    min: number;
    max: number;
    last: number;
}

// The shown values, and the one before.
function collectValues(scene: Scene, placed: PlacedRow): CounterPoint[] {
    const { view } = scene;
    const points: CounterPoint[] = [];
    for (const piece of scene.tiles.pieces(placed.row.track, currentLevel(scene), view.from, view.to)) {
        const values = piece.tile.data[0] ?? [];
        for (let i = 0; i + VALUE_NUMBERS <= values.length; i += VALUE_NUMBERS) {
            const time = values[i];
            const before = points[points.length - 1];
            if (time > view.to || time >= piece.to) break;
            if (before && time <= before.time) continue;
            if (before && time < view.from) points.pop();
            points.push({ time, min: values[i + 1], max: values[i + 2], last: values[i + 3] });
        }
    }
    return points;
}
