// SPDX-License-Identifier: MIT

// A picture as an SVG document.

import { FONT, FONT_SIZE, curveBend } from "./surface";
import type { Surface, TextOptions } from "./surface";

function escapeText(text: string): string {
    // Characters that XML does not permit are replaced by visible ones.
    return text
        .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
        .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
        .replace(/&/g, "&amp;")
        .replace(/</g, "&lt;")
        .replace(/>/g, "&gt;")
        .replace(/"/g, "&quot;");
}

function number(value: number): string {
    return String(Number(value.toFixed(2)));
}

export class SvgSurface implements Surface {
    private readonly parts: string[] = [];
    private readonly hatches = new Map<string, string>();
    private clips = 0;

    constructor(
        private readonly width: number,
        private readonly height: number,
    ) {}

    rect(x: number, y: number, w: number, h: number, colour: string): void {
        this.parts.push(`<rect ${this.place(x, y, w, h)} fill="${colour}"/>`);
    }

    private place(x: number, y: number, w: number, h: number): string {
        return `x="${number(x)}" y="${number(y)}" width="${number(Math.max(w, 0.5))}" height="${number(Math.max(h, 0.5))}"`;
    }

    outline(x: number, y: number, w: number, h: number, colour: string, width: number): void {
        const place = this.place(x + width / 2, y + width / 2, w - width, h - width);
        this.parts.push(`<rect ${place} fill="none" stroke="${colour}" stroke-width="${width}"/>`);
    }

    hatch(x: number, y: number, w: number, h: number, colour: string): void {
        let id = this.hatches.get(colour);
        if (!id) this.hatches.set(colour, (id = `hatch${this.hatches.size}`));
        this.parts.push(`<rect ${this.place(x, y, w, h)} fill="url(#${id})"/>`);
    }

    text(x: number, y: number, text: string, colour: string, options: TextOptions = {}): void {
        const size = options.size ?? FONT_SIZE;
        const weight = options.bold ? ' font-weight="600"' : "";
        const anchor = options.end ? ' text-anchor="end"' : "";
        this.parts.push(
            `<text x="${number(x)}" y="${number(y + size * 0.36)}" fill="${colour}" font-size="${size}"${weight}${anchor}>` +
                `${escapeText(text)}</text>`,
        );
    }

    line(points: number[], colour: string, width: number): void {
        this.parts.push(
            `<polyline points="${points.map(number).join(" ")}" fill="none" stroke="${colour}" stroke-width="${width}"/>`,
        );
    }

    polygon(points: number[], colour: string): void {
        this.parts.push(`<polygon points="${points.map(number).join(" ")}" fill="${colour}"/>`);
    }

    curve(x0: number, y0: number, x1: number, y1: number, colour: string, width: number): void {
        const bend = curveBend(x0, x1);
        const points = [x0 + bend, y0, x1 - bend, y1, x1, y1].map(number).join(" ");
        this.parts.push(
            `<path d="M${number(x0)} ${number(y0)}C${points}" fill="none" stroke="${colour}" stroke-width="${width}"/>`,
        );
    }

    begin(x: number, y: number, w: number, h: number): void {
        const id = `clip${this.clips++}`;
        this.parts.push(
            `<clipPath id="${id}"><rect ${this.place(x, y, w, h)}/></clipPath><g clip-path="url(#${id})">`,
        );
    }

    end(): void {
        this.parts.push("</g>");
    }

    document(): string {
        const patterns = [...this.hatches].map(
            ([colour, id]) =>
                `<pattern id="${id}" width="6" height="6" patternUnits="userSpaceOnUse">` +
                `<path d="M-6 6L0 0M0 6L6 0M6 6L12 0" stroke="${colour}" stroke-width="1.5"/></pattern>`,
        );
        return (
            `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" ` +
            `viewBox="0 0 ${this.width} ${this.height}" font-family="${escapeText(FONT)}">` +
            `<defs>${patterns.join("")}</defs>${this.parts.join("\n")}</svg>\n`
        );
    }
}
