// SPDX-License-Identifier: MIT

// A canvas with as many pixels as the screen, so that edges lie on pixels.

import { FONT, FONT_SIZE, curveBend } from "./surface";
import type { Surface, TextOptions } from "./surface";

const HATCH_PX = 6;

export class CanvasSurface implements Surface {
    private readonly context: CanvasRenderingContext2D;
    private colour = "";
    private font = "";
    private ratio = 1;
    private readonly hatches = new Map<string, CanvasPattern>();

    constructor(
        readonly canvas: HTMLCanvasElement,
        alpha = false,
    ) {
        const context = canvas.getContext("2d", { alpha });
        if (!context) throw new Error("this browser has no canvas");
        this.context = context;
    }

    resize(width: number, height: number, ratio: number): void {
        const w = Math.max(1, Math.round(width * ratio));
        const h = Math.max(1, Math.round(height * ratio));
        if (this.canvas.width !== w || this.canvas.height !== h) {
            this.canvas.width = w;
            this.canvas.height = h;
        }
        if (ratio !== this.ratio) this.hatches.clear();
        this.ratio = ratio;
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.context.textBaseline = "middle";
        this.colour = this.font = "";
    }

    private snap(x: number): number {
        return Math.round(x * this.ratio) / this.ratio;
    }

    private fill(colour: string): void {
        if (colour !== this.colour) this.context.fillStyle = this.colour = colour;
    }

    rect(x: number, y: number, w: number, h: number, colour: string): void {
        const left = this.snap(x);
        const top = this.snap(y);
        this.fill(colour);
        this.context.fillRect(
            left,
            top,
            Math.max(1 / this.ratio, this.snap(x + w) - left),
            Math.max(1 / this.ratio, this.snap(y + h) - top),
        );
    }

    outline(x: number, y: number, w: number, h: number, colour: string, width: number): void {
        this.context.strokeStyle = colour;
        this.context.lineWidth = width;
        this.context.strokeRect(this.snap(x) + width / 2, this.snap(y) + width / 2, w - width, h - width);
    }

    hatch(x: number, y: number, w: number, h: number, colour: string): void {
        this.context.fillStyle = this.hatchPattern(colour);
        this.colour = "";
        this.context.fillRect(this.snap(x), this.snap(y), Math.max(1 / this.ratio, w), h);
    }

    private hatchPattern(colour: string): CanvasPattern | string {
        let pattern = this.hatches.get(colour);
        if (pattern) return pattern;
        const tile = document.createElement("canvas");
        const size = Math.max(1, Math.round(HATCH_PX * this.ratio));
        tile.width = tile.height = size;
        const context = tile.getContext("2d");
        const made = context && (drawHatch(context, size, colour), this.context.createPattern(tile, "repeat"));
        if (!made) return colour;
        made.setTransform(new DOMMatrix().scale(1 / this.ratio));
        pattern = made;
        this.hatches.set(colour, pattern);
        return pattern;
    }

    text(x: number, y: number, text: string, colour: string, options: TextOptions = {}): void {
        const font = `${options.bold ? "600 " : ""}${options.size ?? FONT_SIZE}px ${FONT}`;
        if (font !== this.font) this.context.font = this.font = font;
        this.fill(colour);
        this.context.textAlign = options.end ? "right" : "left";
        this.context.fillText(text, x, y);
    }

    // Draws a picture with as many pixels as the screen, from X, Y on.
    image(picture: HTMLCanvasElement, x: number, y: number): void {
        const { ratio } = this;
        this.context.imageSmoothingEnabled = false;
        this.context.drawImage(picture, this.snap(x), this.snap(y), picture.width / ratio, picture.height / ratio);
    }

    private path(points: number[]): void {
        this.context.beginPath();
        for (let i = 0; i + 1 < points.length; i += 2) this.context.lineTo(points[i], points[i + 1]);
    }

    line(points: number[], colour: string, width: number): void {
        this.path(points);
        this.context.strokeStyle = colour;
        this.context.lineWidth = width;
        this.context.stroke();
    }

    polygon(points: number[], colour: string): void {
        this.path(points);
        this.fill(colour);
        this.context.fill();
    }

    curve(x0: number, y0: number, x1: number, y1: number, colour: string, width: number): void {
        const bend = curveBend(x0, x1);
        this.context.beginPath();
        this.context.moveTo(x0, y0);
        this.context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
        this.context.strokeStyle = colour;
        this.context.lineWidth = width;
        this.context.stroke();
    }

    begin(x: number, y: number, w: number, h: number): void {
        this.context.save();
        this.context.beginPath();
        this.context.rect(x, y, w, h);
        this.context.clip();
    }

    end(): void {
        this.context.restore();
        this.colour = this.font = "";
    }
}

function drawHatch(context: CanvasRenderingContext2D, size: number, colour: string): void {
    context.strokeStyle = colour;
    context.lineWidth = size / 4;
    context.beginPath();
    for (const shift of [-size, 0, size]) {
        context.moveTo(shift, size);
        context.lineTo(shift + size, 0);
    }
    context.stroke();
}
