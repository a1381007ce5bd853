// SPDX-License-Identifier: MIT

// Draws the ruler above the rows, and what is across all rows: grid, marks, span, cursor.

import { formatAbsolute, formatDuration, makeTicks } from "../model/time";
import type { Ticks } from "../model/time";
import type { Span } from "../view/view";
import { RULER_HEIGHT } from "./scene";
import type { Scene } from "./scene";
import type { Surface } from "./surface";
import { textWidth } from "./surface";

const TICK_PX = 120;

export function sceneTicks(scene: Scene): Ticks {
    return makeTicks(scene.view.from, scene.view.to, scene.view.width, TICK_PX);
}

export function drawGrid(surface: Surface, scene: Scene, ticks: Ticks): void {
    for (const time of ticks.times)
        surface.rect(scene.view.x(time), RULER_HEIGHT, 0.5, scene.height - RULER_HEIGHT, scene.palette.grid);
}

export function drawRuler(surface: Surface, scene: Scene, ticks: Ticks): void {
    const { view, palette, trace, state } = scene;
    surface.rect(0, 0, view.width, RULER_HEIGHT, palette.group);
    surface.rect(0, RULER_HEIGHT - 1, view.width, 1, palette.grid);
    for (const time of ticks.times) {
        const x = view.x(time);
        surface.rect(x, RULER_HEIGHT - 8, 1, 8, palette.faint);
        surface.text(x + 4, RULER_HEIGHT - 9, ticks.label(time), palette.text, { size: 10 });
    }
    const absolute = formatAbsolute(BigInt(trace.begin_ns), view.from);
    surface.text(4, 8, absolute, palette.faint, { size: 9 });
    surface.text(view.width - 6, 8, `${formatDuration(view.length)} shown`, palette.faint, { size: 9, end: true });
    state.marks.forEach((mark, i) => drawFlag(surface, scene, mark, i + 1));
    if (state.span) drawSpanLength(surface, scene, state.span);
}

function drawFlag(surface: Surface, scene: Scene, mark: Span, number: number): void {
    const { view, palette } = scene;
    const x = view.x(mark.from);
    const text = String(number);
    const width = textWidth(text, true, 10) + 8;
    if (x < -width || x > view.width) return;
    surface.rect(x, 1, width, 13, palette.mark);
    surface.text(x + 4, 8, text, palette.background, { size: 10, bold: true });
}

function drawSpanLength(surface: Surface, scene: Scene, span: Span): void {
    const { view, palette } = scene;
    const x0 = Math.max(0, view.x(span.from));
    const x1 = Math.min(view.width, view.x(span.to));
    if (x1 < 0 || x0 > view.width) return;
    surface.rect(x0, RULER_HEIGHT - 4, Math.max(1, x1 - x0), 3, palette.accent);
    const text = formatDuration(span.to - span.from);
    const width = textWidth(text, true, 10);
    const x = Math.min(Math.max((x0 + x1 - width) / 2, 2), view.width - width - 4);
    surface.rect(x - 3, 2, width + 6, 14, palette.accent);
    surface.text(x, 9, text, palette.background, { size: 10, bold: true });
}

export function drawAcross(surface: Surface, scene: Scene): void {
    const { view, state, palette, height } = scene;
    const full = height - RULER_HEIGHT;
    const vertical = (time: number, colour: string) => {
        const x = view.x(time);
        if (x >= -1 && x <= view.width) surface.rect(x, RULER_HEIGHT, 1, full, colour);
    };
    if (state.span) {
        const x0 = Math.max(-1, view.x(state.span.from));
        const x1 = Math.min(view.width + 1, view.x(state.span.to));
        if (x1 > x0) surface.rect(x0, RULER_HEIGHT, x1 - x0, full, palette.selection);
        vertical(state.span.from, palette.accent);
        vertical(state.span.to, palette.accent);
    }
    for (const mark of state.marks) {
        vertical(mark.from, palette.mark);
        if (mark.to > mark.from) vertical(mark.to, palette.mark);
    }
    if (state.cursor !== null) vertical(state.cursor, palette.accent);
}
