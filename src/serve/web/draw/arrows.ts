// SPDX-License-Identifier: MIT

// Draws arrows from slice to slice, also to tracks that are scrolled out of sight or in closed groups.

import type { Arrow } from "../api";
import { depthMiddle } from "./slices";
import { RULER_HEIGHT, pinnedHeight } from "./scene";
import type { Scene } from "./scene";
import type { Surface } from "./surface";

const HEAD_PX = 6;

// Where slices of DEPTH are drawn: px from the top of the canvas.
function placeOf(scene: Scene, id: number, depth: number): number | null {
    const { tree } = scene;
    const pinned = tree.pinnedRows.find((row) => row.track.id === id);
    if (pinned && pinned.top < pinnedHeight(scene))
        return RULER_HEIGHT + pinned.top + depthMiddle(pinned.track, depth, pinned.height);
    // For a closed group, its own row.
    let at = tree.byId.get(id);
    while (at) {
        const row = tree.rowOf(at.id);
        if (row) {
            const inside = at.id === id ? depthMiddle(at, depth, row.height) : row.height / 2;
            return RULER_HEIGHT + pinnedHeight(scene) + row.top - scene.scroll + inside;
        }
        at = at.parent === null ? undefined : tree.byId.get(at.parent);
    }
    return null;
}

export function drawArrows(surface: Surface, scene: Scene, arrows: Arrow[], strong: boolean): void {
    const { view, palette } = scene;
    for (const [begin, fromTrack, fromDepth, end, toTrack, toDepth] of arrows) {
        const x0 = view.x(begin);
        const x1 = view.x(end);
        if (Math.max(x0, x1) < -50 || Math.min(x0, x1) > view.width + 50) continue;
        const y0 = placeOf(scene, fromTrack, fromDepth);
        const y1 = placeOf(scene, toTrack, toDepth);
        if (y0 === null || y1 === null) continue;
        const width = strong ? 1.75 : 1;
        surface.curve(x0, y0, x1, y1, palette.arrow, width);
        surface.rect(x0 - 1.5, y0 - 1.5, 3, 3, palette.arrow);
        surface.polygon([x1, y1, x1 - HEAD_PX, y1 - HEAD_PX / 2, x1 - HEAD_PX, y1 + HEAD_PX / 2], palette.arrow);
    }
}
