// SPDX-License-Identifier: MIT

// Saves what is shown as a file, with the names of the tracks: SVG or PNG.

import { CanvasSurface } from "./draw/canvas";
import { RULER_HEIGHT, pinnedHeight, placedRows } from "./draw/scene";
import type { Scene } from "./draw/scene";
import { fitText } from "./draw/surface";
import type { Surface } from "./draw/surface";
import { SvgSurface } from "./draw/svg";
import { drawTimeline } from "./draw/timeline";
import { make } from "./panel/dom";

const NAMES_PX = 220;
const INDENT_PX = 10;

// A surface whose origin is RIGHT of another surface's.
class Shifted implements Surface {
    constructor(
        private readonly to: Surface,
        private readonly right: number,
    ) {}
    rect: Surface["rect"] = (x, y, w, h, colour) => this.to.rect(x + this.right, y, w, h, colour);
    outline: Surface["outline"] = (x, y, w, h, colour, width) => this.to.outline(x + this.right, y, w, h, colour, width);
    hatch: Surface["hatch"] = (x, y, w, h, colour) => this.to.hatch(x + this.right, y, w, h, colour);
    text: Surface["text"] = (x, y, text, colour, options) => this.to.text(x + this.right, y, text, colour, options);
    line: Surface["line"] = (points, colour, width) => this.to.line(this.shift(points), colour, width);
    polygon: Surface["polygon"] = (points, colour) => this.to.polygon(this.shift(points), colour);
    curve: Surface["curve"] = (x0, y0, x1, y1, colour, width) =>
        this.to.curve(x0 + this.right, y0, x1 + this.right, y1, colour, width);
    begin: Surface["begin"] = (x, y, w, h) => this.to.begin(x + this.right, y, w, h);
    end: Surface["end"] = () => this.to.end();
    private shift(points: number[]): number[] {
        return points.map((value, i) => (i % 2 ? value : value + this.right));
    }
}

function drawPicture(surface: Surface, scene: Scene): void {
    const { palette, view, height, trace } = scene;
    surface.rect(0, 0, NAMES_PX + view.width, height, palette.background);
    surface.begin(NAMES_PX, 0, view.width, height);
    drawTimeline(new Shifted(surface, NAMES_PX), scene);
    surface.end();
    surface.rect(0, 0, NAMES_PX, RULER_HEIGHT, palette.group);
    surface.text(8, RULER_HEIGHT / 2, fitText(trace.name, NAMES_PX - 16, true), palette.text, { bold: true });
    const boundary = RULER_HEIGHT + pinnedHeight(scene);
    for (const pinned of [true, false]) {
        const top = pinned ? RULER_HEIGHT : boundary;
        surface.begin(0, top, NAMES_PX, pinned ? boundary - RULER_HEIGHT : height - boundary);
        for (const { row, y } of placedRows(scene).filter((placed) => placed.pinned === pinned)) {
            const isGroup = row.track.kind === "group";
            const x = 10 + row.level * INDENT_PX;
            if (isGroup) surface.rect(0, y, NAMES_PX, row.height, palette.group);
            surface.rect(0, y + row.height - 0.5, NAMES_PX, 0.5, palette.grid);
            surface.rect(x - 7, y + 4, 3, 14, palette.layers.get(row.track.layer) ?? palette.faint);
            const name = pinned ? scene.tree.path(row.track.id) : row.track.name;
            surface.text(x, y + 11, fitText(name, NAMES_PX - x - 6, isGroup), palette.text, { bold: isGroup });
        }
        surface.end();
    }
    surface.rect(NAMES_PX - 1, 0, 1, height, palette.faint);
}

function save(blob: Blob, name: string): void {
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(scene: Scene, ending: string): string {
    return `${scene.trace.name.replace(/[^\w.-]+/g, "_").slice(0, 80) || "trace"}.${ending}`;
}

export function makeSvg(scene: Scene): string {
    const surface = new SvgSurface(NAMES_PX + scene.view.width, scene.height);
    drawPicture(surface, scene);
    return surface.document();
}

export function saveSvg(scene: Scene): void {
    save(new Blob([makeSvg(scene)], { type: "image/svg+xml" }), fileName(scene, "svg"));
}

export function savePng(scene: Scene): void {
    const canvas = make("canvas");
    const surface = new CanvasSurface(canvas);
    surface.resize(NAMES_PX + scene.view.width, scene.height, Math.max(2, devicePixelRatio));
    drawPicture(surface, scene);
    canvas.toBlob((blob) => {
        if (blob) save(blob, fileName(scene, "png"));
    }, "image/png");
}
