// SPDX-License-Identifier: MIT

// Draws rows of slices and states. Slices shorter than a pixel are combined to a bar, whose height is their share of
// the time. None is left out.

import {
    COVERED_ALL,
    FLAG_CUT,
    FLAG_IDLE,
    FLAG_LOST,
    FLAG_MANY,
    FLAG_NO_BEGIN,
    FLAG_OPEN,
    FLAG_UNKNOWN,
    SLICE_BEGIN,
    SLICE_COVERED,
    SLICE_END,
    SLICE_FLAGS,
    SLICE_N,
    SLICE_NAME,
    SLICE_NUMBERS,
    SLICE_STATE,
} from "../api";
import type { Track } from "../api";
import type { Piece } from "../model/tiles";
import { DEPTH_HEIGHT, ROW_PADDING } from "../model/tracks";
import type { Row } from "../model/tracks";
import type { Window } from "../view/view";
import type { Fill } from "./colours";
import { nameFill } from "./colours";
import { currentLevel } from "./scene";
import type { PlacedRow, Scene } from "./scene";
import type { Surface } from "./surface";
import { fitText } from "./surface";

const TEXT_MIN_PX = 26;
const MANY_TEXT_MIN_PX = 60;
const QUESTION_MIN_PX = 6;
const DENSITY_MIN_PX = 3;
const TEAR_PX = 3;
const LOST_SHARE = "66"; // how much of the hatching hides a slice that a loss has cut

// The index in the flat array of the first slice of LIST that ends after TIME.
export function firstEndingAfter(list: number[], time: number): number {
    let low = 0;
    let high = list.length / SLICE_NUMBERS;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (list[middle * SLICE_NUMBERS + SLICE_END] < time) low = middle + 1;
        else high = middle;
    }
    return low * SLICE_NUMBERS;
}

function isCpu(track: Track): boolean {
    return (track.cpu ?? -1) >= 0 || ((track.vcpu ?? -1) >= 0 && (track.pid ?? -1) < 0);
}

function sliceFill(scene: Scene, track: Track, name: string, flags: number, state: number): Fill {
    const { palette } = scene;
    if (flags & FLAG_UNKNOWN && !(flags & FLAG_MANY)) return palette.unknown;
    if (flags & FLAG_IDLE && !(flags & FLAG_MANY)) return palette.idle;
    if (track.kind !== "states") return nameFill(palette, name);
    const stateName = scene.trace.states[state] ?? "unknown";
    if (stateName === "idle") return palette.idle;
    if (stateName === "unknown") return palette.unknown;
    // What runs on a CPU is distinguished by its name.
    if (stateName === "running" && isCpu(track) && name && name !== stateName) return nameFill(palette, name);
    return palette.states.get(stateName.replace(/[_-]/g, " ")) ?? nameFill(palette, name || stateName);
}

// The height of one depth.
function depthHeight(track: Track, rowHeight: number): number {
    return track.kind === "slices" ? DEPTH_HEIGHT - 1 : rowHeight - 2 * ROW_PADDING;
}

export function depthAt(track: Track, y: number): number {
    if (track.kind !== "slices") return 0;
    return Math.max(0, Math.min(track.depths - 1, Math.floor((y - ROW_PADDING) / DEPTH_HEIGHT)));
}

export function depthTop(track: Track, depth: number): number {
    return ROW_PADDING + (track.kind === "slices" ? depth * DEPTH_HEIGHT : 0);
}

export function depthMiddle(track: Track, depth: number, rowHeight: number): number {
    return depthTop(track, depth) + depthHeight(track, rowHeight) / 2;
}

export function hasShapes(track: Track): boolean {
    return track.kind === "slices" || track.kind === "states" || track.kind === "losses";
}

// A slice that is wide enough for a label, wherever it is shown.
export interface WideSlice {
    track: Track;
    begin: number;
    end: number;
    name: number;
    flags: number;
    state: number;
    n: number;
    y: number; // of its middle, from where the rows were drawn
}

export function drawSlices(surface: Surface, scene: Scene, placed: PlacedRow): void {
    const wide: WideSlice[] = [];
    drawRowShapes(surface, scene, scene.view, placed.row, placed.y, wide);
    for (const slice of wide) drawLabelOf(surface, scene, slice, 0);
}

// Draws without labels. Appends the slices that may have a label to WIDE.
export function drawRowShapes(
    surface: Surface,
    scene: Scene,
    window: Window,
    { track, height }: Row,
    y: number,
    wide: WideSlice[],
): void {
    const pieces = scene.tiles.pieces(track, currentLevel(scene), window.from, window.to);
    const h = depthHeight(track, height);
    for (let depth = 0; depth < Math.max(1, track.depths); depth++)
        drawDepth(surface, scene, window, track, depth, y + depthTop(track, depth), h, pieces, wide);
}

function drawDepth(
    surface: Surface,
    scene: Scene,
    window: Window,
    track: Track,
    depth: number,
    y: number,
    h: number,
    pieces: Piece[],
    wide: WideSlice[],
): void {
    let lastBegin = -1;
    let lastEnd = -1;
    for (const piece of pieces) {
        const list = piece.tile.data[depth];
        if (!list) continue;
        const from = Math.max(piece.from, window.from);
        const to = Math.min(piece.to, window.to);
        for (let i = firstEndingAfter(list, from); i < list.length && list[i + SLICE_BEGIN] < to; i += SLICE_NUMBERS) {
            let begin = list[i + SLICE_BEGIN];
            let end = list[i + SLICE_END];
            if (list[i + SLICE_FLAGS] & FLAG_MANY) {
                // Beside the border of a tile, the other tile has the rest.
                begin = Math.max(begin, piece.from);
                end = Math.min(end, piece.to);
            } else if (begin === lastBegin && end === lastEnd) {
                continue;
            }
            lastBegin = begin;
            lastEnd = end;
            drawSlice(surface, scene, window, track, depth, list, i, begin, end, y, h, wide);
        }
    }
}

function drawSlice(
    surface: Surface,
    scene: Scene,
    window: Window,
    track: Track,
    depth: number,
    list: number[],
    i: number,
    begin: number,
    end: number,
    y: number,
    h: number,
    wide: WideSlice[],
): void {
    const { palette } = scene;
    const flags = list[i + SLICE_FLAGS];
    const many = (flags & FLAG_MANY) !== 0;
    const name = scene.names.get(list[i + SLICE_NAME]);
    const fill = sliceFill(scene, track, name, flags, list[i + SLICE_STATE]);
    const all = window.x(end) - window.x(begin);
    const x0 = Math.max(-TEAR_PX * 2, window.x(begin));
    const x1 = Math.min(window.width + TEAR_PX * 2, window.x(end));
    let width = x1 - x0;
    let top = y;
    let height = h;
    let colour = fill.fill;
    if (track.kind === "losses") {
        colour = palette.lost;
        surface.hatch(x0, y, Math.max(2, width), h, colour); // a label could not be read on it
    } else if (many) {
        height = Math.max(DENSITY_MIN_PX, (h * list[i + SLICE_COVERED]) / COVERED_ALL);
        top = y + h - height;
        colour = fill.many;
        surface.rect(x0, top, width, height, colour);
    } else {
        if (width > 5) width -= 0.5; // two of one colour are seen as two
        surface.rect(x0, y, width, h, colour);
        if (flags & FLAG_LOST) surface.hatch(x0, y, width, h, palette.lost + LOST_SHARE);
        if (width > 3 * TEAR_PX) drawTorn(surface, flags, x0, x0 + width, y, h, palette.background);
    }
    scene.onShown?.({
        track: track.id,
        depth,
        begin,
        end,
        name,
        flags,
        n: list[i + SLICE_N],
        covered: list[i + SLICE_COVERED],
        x: x0,
        y: top,
        width: Math.max(width, 0),
        height,
        colour,
    });
    if (track.kind === "losses") return;
    if (all > (many ? MANY_TEXT_MIN_PX : flags & FLAG_UNKNOWN ? QUESTION_MIN_PX : TEXT_MIN_PX) && h >= 12)
        wide.push({
            track,
            begin,
            end,
            name: list[i + SLICE_NAME],
            flags,
            state: list[i + SLICE_STATE],
            n: list[i + SLICE_N],
            y: y + h / 2 + 0.5,
        });
}

// Draws the label of a slice in its visible part. Y is where the rows were drawn.
export function drawLabelOf(surface: Surface, scene: Scene, slice: WideSlice, y: number): void {
    const { view } = scene;
    const { track, flags, n } = slice;
    const left = Math.max(view.x(slice.begin), 0) + 4;
    const room = Math.min(view.x(slice.end), view.width) - left - 3;
    const many = (flags & FLAG_MANY) !== 0;
    const unknown = (flags & FLAG_UNKNOWN) !== 0 && !many;
    if (room <= (unknown ? QUESTION_MIN_PX : many ? MANY_TEXT_MIN_PX : TEXT_MIN_PX)) return;
    const name = scene.names.get(slice.name);
    const fill = sliceFill(scene, track, name, flags, slice.state);
    if (unknown && room <= TEXT_MIN_PX) surface.text(left, y + slice.y, "?", fill.text);
    else drawLabel(surface, scene, left, y + slice.y, room, name, fill, flags, n);
}

function drawLabel(
    surface: Surface,
    scene: Scene,
    x: number,
    y: number,
    room: number,
    name: string,
    fill: Fill,
    flags: number,
    n: number,
): void {
    const { palette } = scene;
    let colour = flags & FLAG_MANY ? palette.text : fill.text;
    if (flags & FLAG_IDLE && !(flags & FLAG_MANY)) colour = palette.faint;
    const label = flags & FLAG_MANY ? `${n} × ${name}` : flags & FLAG_UNKNOWN ? `? ${name}` : name;
    const text = fitText(label, room);
    if (text) surface.text(x, y, text, colour);
}

// If the begin or end is not in the trace, the edge is torn.
function drawTorn(surface: Surface, flags: number, x0: number, x1: number, y: number, h: number, colour: string): void {
    const teeth = Math.max(2, Math.round(h / 5));
    const tear = (x: number, inward: number) => {
        const points: number[] = [x, y];
        for (let i = 0; i < teeth; i++) {
            points.push(x + inward * TEAR_PX, y + ((i + 0.5) * h) / teeth);
            points.push(x, y + ((i + 1) * h) / teeth);
        }
        points.push(x - inward * 2, y + h, x - inward * 2, y);
        surface.polygon(points, colour);
    };
    if (flags & (FLAG_CUT | FLAG_OPEN)) tear(x1, -1);
    if (flags & FLAG_NO_BEGIN) tear(x0, 1);
}

export interface HitSlice {
    track: Track;
    depth: number;
    begin: number;
    end: number;
    name: string;
    n: number;
    flags: number;
}

const REACH_PX = 2; // beside a slice

// Finds what is drawn at X in a row, Y px below its top.
export function sliceAt(scene: Scene, track: Track, x: number, y: number): HitSlice | null {
    const { view } = scene;
    const time = view.time(x);
    const reach = view.nsPerPx * REACH_PX;
    const depth = depthAt(track, y);
    let best: HitSlice | null = null;
    let distance = Infinity;
    for (const piece of scene.tiles.pieces(track, currentLevel(scene), time - reach, time + reach)) {
        const list = piece.tile.data[depth];
        if (!list) continue;
        for (let i = firstEndingAfter(list, time - reach); i < list.length; i += SLICE_NUMBERS) {
            const begin = list[i + SLICE_BEGIN];
            const end = list[i + SLICE_END];
            if (begin > time + reach) break;
            const away = time < begin ? begin - time : time > end ? time - end : 0;
            if (away >= distance) continue;
            distance = away;
            const name = scene.names.get(list[i + SLICE_NAME]);
            best = { track, depth, begin, end, name, n: list[i + SLICE_N], flags: list[i + SLICE_FLAGS] };
        }
    }
    return best;
}
