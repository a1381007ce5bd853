// SPDX-License-Identifier: MIT

// What a picture consists of, and where its parts are.

import type { Trace, Track } from "../api";
import type { Names } from "../model/names";
import type { Tiles } from "../model/tiles";
import { levelOf } from "../model/tiles";
import type { Row, TrackTree } from "../model/tracks";
import { rowsBetween } from "../model/tracks";
import type { State } from "../view/state";
import type { View } from "../view/view";
import type { Palette } from "./colours";

export const RULER_HEIGHT = 30;

// A drawn slice, or several that are drawn as one.
export interface Shown {
    track: number;
    depth: number;
    begin: number;
    end: number;
    name: string;
    flags: number;
    n: number;
    covered: number;
    x: number;
    y: number;
    width: number;
    height: number;
    colour: string;
}

export interface Scene {
    trace: Trace;
    tree: TrackTree;
    tiles: Tiles;
    names: Names;
    view: View;
    state: State;
    palette: Palette;
    height: number;
    scroll: number;
    lossTracks: Track[];
    onShown: ((shown: Shown) => void) | null; // told of each slice that is drawn
}

export interface PlacedRow {
    row: Row;
    y: number; // px from the top of the canvas
    pinned: boolean;
}

// The largest share of the canvas for pinned rows.
export function pinnedHeight(scene: Scene): number {
    return Math.min(scene.tree.pinnedHeight, Math.max(0, (scene.height - RULER_HEIGHT) / 2));
}

export function placedRows(scene: Scene): PlacedRow[] {
    const top = RULER_HEIGHT + pinnedHeight(scene);
    const pinned = rowsBetween(scene.tree.pinnedRows, 0, pinnedHeight(scene)).map((row) => ({
        row,
        y: RULER_HEIGHT + row.top,
        pinned: true,
    }));
    const rows = scene.tree.rowsBetween(scene.scroll, scene.scroll + scene.height - top);
    return [...pinned, ...rows.map((row) => ({ row, y: top + row.top - scene.scroll, pinned: false }))];
}

export function rowAt(scene: Scene, y: number): PlacedRow | undefined {
    const boundary = RULER_HEIGHT + pinnedHeight(scene);
    return placedRows(scene).find(
        (placed) => y >= placed.y && y < placed.y + placed.row.height && placed.pinned === y < boundary,
    );
}

export function currentLevel(scene: Scene): number {
    return levelOf(scene.view.nsPerPx);
}
