// SPDX-License-Identifier: MIT

// Draws the picture: rows, ruler, and what is across them. The same for the screen and for files.

import type { Track } from "../api";
import { drawArrows } from "./arrows";
import { drawAcross, drawGrid, drawRuler, sceneTicks } from "./axis";
import { CanvasSurface } from "./canvas";
import { drawCounter, drawEvents } from "./curves";
import { RULER_HEIGHT, currentLevel, pinnedHeight, placedRows } from "./scene";
import type { PlacedRow, Scene } from "./scene";
import { depthTop, drawSlices, firstEndingAfter } from "./slices";
import { SLICE_BEGIN, SLICE_END, SLICE_NUMBERS } from "../api";
import { DEPTH_HEIGHT } from "../model/tracks";
import type { Strips } from "./strips";
import type { Surface } from "./surface";

const ERROR_MIN_PX = 2;

// STRIPS: on a canvas, cached pictures of slices. Without them, everything is drawn.
export function drawTimeline(surface: Surface, scene: Scene, strips: Strips | null = null): void {
    const { view, palette, height } = scene;
    const ticks = sceneTicks(scene);
    const boundary = RULER_HEIGHT + pinnedHeight(scene);
    const rows = placedRows(scene);
    surface.rect(0, 0, view.width, height, palette.background);
    surface.begin(0, RULER_HEIGHT, view.width, boundary - RULER_HEIGHT);
    drawRows(surface, scene, rows.filter((placed) => placed.pinned), strips);
    surface.end();
    surface.begin(0, boundary, view.width, height - boundary);
    drawGrid(surface, scene, ticks);
    drawRows(surface, scene, rows.filter((placed) => !placed.pinned), strips);
    drawArrows(surface, scene, scene.state.arrows, false);
    drawArrows(surface, scene, scene.state.sliceArrows, true);
    surface.end();
    if (boundary > RULER_HEIGHT) surface.rect(0, boundary - 1, view.width, 1, palette.faint);
    drawAcross(surface, scene);
    drawRuler(surface, scene, ticks);
}

function drawRows(surface: Surface, scene: Scene, rows: PlacedRow[], strips: Strips | null): void {
    const { view, palette, state } = scene;
    for (const placed of rows) {
        const { track, height } = placed.row;
        if (track.kind === "group") surface.rect(0, placed.y, view.width, height, palette.group);
        else if (placed.pinned) surface.rect(0, placed.y, view.width, height, palette.pinned);
        if (track.id === state.focus) surface.rect(0, placed.y, view.width, height, palette.selection);
        surface.rect(0, placed.y + height - 0.5, view.width, 0.5, palette.grid);
    }
    const kept = strips !== null && surface instanceof CanvasSurface;
    if (kept) strips.draw(surface, scene, rows);
    for (const placed of rows) {
        const { track } = placed.row;
        drawRow(surface, scene, placed, !kept);
        if (track.kind !== "group" && track.kind !== "losses") drawLossesOver(surface, scene, placed);
        if (state.slice?.track === track.id) drawSelected(surface, scene, placed);
    }
}

function drawRow(surface: Surface, scene: Scene, placed: PlacedRow, withSlices: boolean): void {
    switch (placed.row.track.kind) {
        case "group":
            break;
        case "events":
            drawEvents(surface, scene, placed);
            break;
        case "counter":
            drawCounter(surface, scene, placed);
            break;
        default:
            if (withSlices) drawSlices(surface, scene, placed);
    }
}

// True if LOSSES are of what TRACK shows, as far as is known.
function concerns(losses: Track, track: Track): boolean {
    if (losses.source !== track.source) return false;
    const cpu = losses.cpu ?? -1;
    const other = track.cpu ?? -1;
    return cpu < 0 || other < 0 || cpu === other;
}

// Where events were lost, anything may be missing from a row.
function drawLossesOver(surface: Surface, scene: Scene, placed: PlacedRow): void {
    const { view, palette } = scene;
    for (const losses of scene.lossTracks) {
        if (!concerns(losses, placed.row.track)) continue;
        for (const piece of scene.tiles.pieces(losses, currentLevel(scene), view.from, view.to)) {
            const list = piece.tile.data[0] ?? [];
            for (let i = firstEndingAfter(list, Math.max(piece.from, view.from)); i < list.length; i += SLICE_NUMBERS) {
                if (list[i + SLICE_BEGIN] >= Math.min(piece.to, view.to)) break;
                const x0 = Math.max(view.x(list[i + SLICE_BEGIN]), view.x(piece.from), 0);
                const x1 = Math.min(view.x(list[i + SLICE_END]), view.x(piece.to), view.width);
                if (x1 > x0) surface.hatch(x0, placed.y, x1 - x0, placed.row.height, palette.lost + "55");
            }
        }
    }
}

// Draws around the selected slice, and the error of its ends.
function drawSelected(surface: Surface, scene: Scene, placed: PlacedRow): void {
    const { slice } = scene.state;
    const { view, palette } = scene;
    const { track, height } = placed.row;
    if (!slice || track.kind === "group") return;
    const x0 = Math.max(-4, view.x(slice.begin));
    const x1 = Math.min(view.width + 4, view.x(slice.end));
    if (x1 < 0 || x0 > view.width) return;
    const y = placed.y + depthTop(track, slice.depth);
    const h = track.kind === "slices" ? DEPTH_HEIGHT : height - (y - placed.y) * 2;
    surface.outline(x0 - 2, y - 2, Math.max(2, x1 - x0) + 4, h + 3, palette.text, 2);
    for (const [time, errorNs, bar] of [
        [slice.begin, slice.beginErrorNs, y - 1],
        [slice.end, slice.endErrorNs, y + h - 2],
    ]) {
        const error = (errorNs / view.length) * view.width;
        if (error < ERROR_MIN_PX) continue;
        const x = view.x(time);
        const left = Math.max(-2, x - error);
        const right = Math.min(view.width + 2, x + error);
        surface.rect(left, bar, right - left, 1.5, palette.error);
        for (const end of [left, right]) surface.rect(end - 0.5, bar - 2, 1.5, 5, palette.error);
    }
}
