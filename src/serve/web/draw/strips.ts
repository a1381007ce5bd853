// SPDX-License-Identifier: MIT

// Caches slices as pictures. While the view moves at the same zoom, pictures are only moved. A strip has neighbouring
// rows and STRIP_PX pixels of time. Its slices are written into pixels one by one, at a tenth of the cost of as many
// calls of the canvas. A few slices are kept as a list and drawn again, which is cheaper for the canvas than a picture.
// What depends on the whole view, such as labels, is drawn each time.

import type { Row } from "../model/tracks";
import type { Tile } from "../model/tiles";
import type { Window } from "../view/view";
import { CanvasSurface } from "./canvas";
import type { Palette } from "./colours";
import { colourNumber } from "./colours";
import { currentLevel } from "./scene";
import type { PlacedRow, Scene } from "./scene";
import { drawLabelOf, drawRowShapes, hasShapes } from "./slices";
import type { WideSlice } from "./slices";
import type { Surface } from "./surface";

const STRIP_PX = 288; // of the screen; hatching of any size meets at its ends
const BLOCK_PX = 400; // rows of one strip, or one row that is higher
const BLOCK_MAX_PX = 4000;
const FEW = 150; // rectangles that are not worth a picture
const PIXELS_MAX = 24_000_000; // in all strips, 4 bytes each
const STRIPS_MAX = 4000;

interface Block {
    rows: Row[];
    top: number;
    height: number;
}

interface Strip {
    canvas: HTMLCanvasElement | null; // null: it is `rects`
    rects: Rect[];
    used: number; // the frame in which it was drawn last
    checked: number; // version of the tiles for which it is right
    tiles: Tile[];
    wide: WideSlice[];
    from: number;
}

interface Rect {
    x: number;
    y: number;
    w: number;
    h: number;
    colour: string;
}

// Fills pixels; draws arrows, text and hatching over them at the end.
class PixelSurface implements Surface {
    private pixels: Uint32Array | null = null;
    private readonly later: ((to: Surface) => void)[] = [];
    private readonly rects: Rect[] = [];

    constructor(
        private readonly image: ImageData,
        private readonly ratio: number,
    ) {}

    // All slices, if they are few.
    get few(): Rect[] | null {
        return this.pixels || this.later.length ? null : this.rects;
    }

    rect(x: number, y: number, w: number, h: number, colour: string): void {
        if (this.pixels) {
            this.fill(this.pixels, x, y, w, h, colour);
            return;
        }
        // On the same pixels as in a picture.
        const left = this.snap(x);
        const top = this.snap(y);
        this.rects.push({ x: left, y: top, w: this.snap(x + w) - left, h: this.snap(y + h) - top, colour });
        if (this.rects.length > FEW) this.fillAll();
    }

    private snap(x: number): number {
        return Math.round(x * this.ratio) / this.ratio;
    }

    private fillAll(): void {
        const pixels = (this.pixels = new Uint32Array(this.image.data.buffer));
        pixels.fill(0);
        for (const { x, y, w, h, colour } of this.rects) this.fill(pixels, x, y, w, h, colour);
    }

    private fill(pixels: Uint32Array, x: number, y: number, w: number, h: number, colour: string): void {
        const { ratio, image } = this;
        const { width, height } = image;
        const left = Math.max(0, Math.round(x * ratio));
        const top = Math.max(0, Math.round(y * ratio));
        const right = Math.min(width, Math.max(Math.round(x * ratio) + 1, Math.round((x + w) * ratio)));
        const bottom = Math.min(height, Math.max(top + 1, Math.round((y + h) * ratio)));
        const number = colourNumber(colour);
        if (right - left === 1) {
            for (let at = top * width + left; at < bottom * width; at += width) pixels[at] = number;
            return;
        }
        for (let row = top; row < bottom && left < right; row++) pixels.fill(number, row * width + left, row * width + right);
    }

    hatch: Surface["hatch"] = (...given) => this.later.push((to) => to.hatch(...given));
    polygon: Surface["polygon"] = (points, colour) => this.later.push((to) => to.polygon(points, colour));
    outline: Surface["outline"] = (...given) => this.later.push((to) => to.outline(...given));
    text: Surface["text"] = (...given) => this.later.push((to) => to.text(...given));
    line: Surface["line"] = (...given) => this.later.push((to) => to.line(...given));
    curve: Surface["curve"] = (...given) => this.later.push((to) => to.curve(...given));
    begin: Surface["begin"] = (...given) => this.later.push((to) => to.begin(...given));
    end: Surface["end"] = () => this.later.push((to) => to.end());

    finish(canvas: HTMLCanvasElement): void {
        if (!this.pixels) this.fillAll();
        const context = canvas.getContext("2d");
        context?.putImageData(this.image, 0, 0);
        if (!this.later.length) return;
        const surface = new CanvasSurface(canvas, true);
        surface.resize(this.image.width / this.ratio, this.image.height / this.ratio, this.ratio);
        for (const draw of this.later) draw(surface);
    }
}

export class Strips {
    private readonly strips = new Map<string, Strip>();
    private readonly free: HTMLCanvasElement[] = [];
    private readonly images = new Map<number, ImageData>();
    private blocks: Block[] = [];
    private pinnedBlocks: Block[] = [];
    private labels: [WideSlice, number][] = [];
    private frame = 0;
    private pixels = 0;
    // What all strips are drawn with.
    private nsPerPx = 0;
    private anchor = 0; // time of the begin of strip 0
    private ratio = 0;
    private palette: Palette | null = null;
    private treeVersion = -1;
    private namesVersion = -1;

    // Draws the slices of ROWS, which are stacked as in the tree.
    draw(surface: CanvasSurface, scene: Scene, rows: PlacedRow[]): void {
        if (!rows.length) return;
        this.prepare(scene);
        const seen = new Set<Block>();
        for (const { row, y, pinned } of rows) {
            const block = this.blockOf(row, pinned);
            if (!block || seen.has(block)) continue;
            seen.add(block);
            if (block.rows.some(({ track }) => hasShapes(track))) this.drawBlock(surface, scene, block, y - row.top + block.top, pinned);
        }
        for (const [wide, top] of this.labels) drawLabelOf(surface, scene, wide, top);
        this.labels = [];
    }

    private prepare(scene: Scene): void {
        const { view, palette, tree, names } = scene;
        const near = Math.abs(view.nsPerPx - this.nsPerPx) < this.nsPerPx * 1e-6;
        const ratio = devicePixelRatio;
        this.frame++;
        if (tree.version !== this.treeVersion) {
            this.blocks = makeBlocks(tree.rows);
            this.pinnedBlocks = makeBlocks(tree.pinnedRows);
        }
        if (
            !near ||
            ratio !== this.ratio ||
            palette !== this.palette ||
            tree.version !== this.treeVersion ||
            names.version !== this.namesVersion
        )
            this.clear();
        if (!near) {
            this.nsPerPx = view.nsPerPx;
            this.anchor = view.from;
        }
        this.ratio = ratio;
        this.palette = palette;
        this.treeVersion = tree.version;
        this.namesVersion = names.version;
    }

    private clear(): void {
        for (const strip of this.strips.values()) this.release(strip);
        this.strips.clear();
    }

    private release(strip: Strip): void {
        if (!strip.canvas) return;
        this.pixels -= strip.canvas.width * strip.canvas.height;
        this.free.push(strip.canvas);
    }

    private blockOf(row: Row, pinned: boolean): Block | undefined {
        const blocks = pinned ? this.pinnedBlocks : this.blocks;
        let low = 0;
        let high = blocks.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (blocks[middle].top + blocks[middle].height <= row.top) low = middle + 1;
            else high = middle;
        }
        return blocks[low];
    }

    private drawBlock(surface: CanvasSurface, scene: Scene, block: Block, top: number, pinned: boolean): void {
        const { view, tiles } = scene;
        const y = Math.round(top * this.ratio) / this.ratio;
        const length = (STRIP_PX / this.ratio) * this.nsPerPx; // of a strip, ns
        const first = Math.floor((view.from - this.anchor) / length);
        const last = Math.floor((view.to - this.anchor) / length);
        const key = `${pinned ? "p" : ""}${block.top}/`;
        for (let number = first; number <= last; number++) {
            const from = this.anchor + number * length;
            let strip = this.strips.get(key + number);
            if (!strip || (strip.checked !== tiles.version && !this.isRight(scene, block, strip, length)))
                strip = this.make(scene, block, key + number, from, length);
            strip.used = this.frame;
            strip.checked = tiles.version;
            const x = Math.round(view.x(from) * this.ratio) / this.ratio;
            if (strip.canvas) surface.image(strip.canvas, x, y);
            else for (const rect of strip.rects) surface.rect(x + rect.x, y + rect.y, rect.w, rect.h, rect.colour);
            for (const wide of strip.wide)
                if (wide.begin >= from || number === first) this.labels.push([wide, y]);
        }
        this.evict();
    }

    private tilesOf(scene: Scene, block: Block, from: number, length: number): Tile[] {
        const found: Tile[] = [];
        const level = currentLevel(scene);
        for (const { track } of block.rows)
            if (hasShapes(track))
                for (const piece of scene.tiles.pieces(track, level, from, from + length)) found.push(piece.tile);
        return found;
    }

    // True if it was drawn from the present data.
    private isRight(scene: Scene, block: Block, strip: Strip, length: number): boolean {
        const tiles = this.tilesOf(scene, block, strip.from, length);
        return tiles.length === strip.tiles.length && tiles.every((tile, i) => tile === strip.tiles[i]);
    }

    private make(scene: Scene, block: Block, key: string, from: number, length: number): Strip {
        const { ratio, nsPerPx } = this;
        const height = Math.max(1, Math.round(block.height * ratio));
        const old = this.strips.get(key);
        if (old) this.release(old);
        const surface = new PixelSurface(this.imageOf(height), ratio);
        const window: Window = {
            from,
            to: from + length,
            width: STRIP_PX / ratio,
            x: (ns) => (ns - from) / nsPerPx,
        };
        const wide: WideSlice[] = [];
        for (const row of block.rows)
            if (hasShapes(row.track)) drawRowShapes(surface, scene, window, row, row.top - block.top, wide);
        const rects = surface.few;
        const canvas = rects ? null : this.findCanvas(height);
        const tiles = this.tilesOf(scene, block, from, length);
        const strip: Strip = { canvas, rects: rects ?? [], used: this.frame, checked: scene.tiles.version, tiles, wide, from };
        if (canvas) {
            surface.finish(canvas);
            this.pixels += canvas.width * canvas.height;
        }
        this.strips.set(key, strip);
        return strip;
    }

    private findCanvas(height: number): HTMLCanvasElement {
        const at = this.free.findIndex((canvas) => canvas.height === height);
        if (at >= 0) return this.free.splice(at, 1)[0];
        const canvas = this.free.pop() ?? document.createElement("canvas");
        canvas.width = STRIP_PX;
        canvas.height = height;
        return canvas;
    }

    private imageOf(height: number): ImageData {
        let image = this.images.get(height);
        if (!image) {
            if (this.images.size > 8) this.images.clear();
            image = new ImageData(STRIP_PX, height);
            this.images.set(height, image);
        }
        return image;
    }

    private evict(): void {
        if (this.pixels < PIXELS_MAX && this.strips.size < STRIPS_MAX) return;
        for (const [key, strip] of this.strips) {
            if (strip.used === this.frame) continue;
            this.strips.delete(key);
            this.release(strip);
        }
        this.free.length = Math.min(this.free.length, 16);
    }
}

function makeBlocks(rows: Row[]): Block[] {
    const blocks: Block[] = [];
    let block: Block | null = null;
    for (const row of rows) {
        if (!block || block.height + row.height > BLOCK_PX) {
            block = { rows: [], top: row.top, height: 0 };
            blocks.push(block);
        }
        block.rows.push(row);
        block.height = Math.min(BLOCK_MAX_PX, block.height + row.height);
    }
    return blocks;
}
