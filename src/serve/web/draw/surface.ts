// SPDX-License-Identifier: MIT

// What pictures are drawn on: a canvas or an SVG document. Coordinates are in px of CSS.

export const FONT = "system-ui, 'DejaVu Sans', sans-serif";
export const FONT_SIZE = 11;

export interface TextOptions {
    size?: number;
    bold?: boolean;
    end?: boolean; // X is the end of the text, not its begin
}

export interface Surface {
    rect(x: number, y: number, w: number, h: number, colour: string): void;
    outline(x: number, y: number, w: number, h: number, colour: string, width: number): void;
    hatch(x: number, y: number, w: number, h: number, colour: string): void;
    // Y is the middle of the line.
    text(x: number, y: number, text: string, colour: string, options?: TextOptions): void;
    // POINTS: x, y, x, y, …
    line(points: number[], colour: string, width: number): void;
    polygon(points: number[], colour: string): void;
    curve(x0: number, y0: number, x1: number, y1: number, colour: string, width: number): void;
    // Until end(), clips what is drawn to it.
    begin(x: number, y: number, w: number, h: number): void;
    end(): void;
}

// Draws nothing.
export const NOWHERE: Surface = {
    rect: () => {},
    outline: () => {},
    hatch: () => {},
    text: () => {},
    line: () => {},
    polygon: () => {},
    curve: () => {},
    begin: () => {},
    end: () => {},
};

// By how much the middle of an arrow hangs to the sides.
export function curveBend(x0: number, x1: number): number {
    return Math.max(12, Math.min(60, Math.abs(x1 - x0) / 2));
}

const measuring = document.createElement("canvas").getContext("2d");
const widths = new Map<string, number>();
const WIDTHS_MAX = 20000;

export function textWidth(text: string, bold = false, size = FONT_SIZE): number {
    const key = `${bold ? 1 : 0}${size}${text}`;
    let width = widths.get(key);
    if (width === undefined) {
        if (!measuring) return text.length * 6;
        measuring.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
        width = measuring.measureText(text).width;
        if (widths.size > WIDTHS_MAX) widths.clear();
        widths.set(key, width);
    }
    return width;
}

const SHORTENED_FROM = 200; // characters

// Shortens TEXT with "…" to WIDTH px; "" if not even that fits.
export function fitText(text: string, width: number, bold = false, size = FONT_SIZE): string {
    const all = text.length > SHORTENED_FROM ? text.slice(0, SHORTENED_FROM) + "…" : text;
    const full = textWidth(all, bold, size);
    if (full <= width) return all;
    let n = Math.floor((all.length * width) / full);
    while (n > 0 && textWidth(all.slice(0, n) + "…", bold, size) > width) n--;
    return n > 1 ? all.slice(0, n) + "…" : "";
}
