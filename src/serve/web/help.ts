// SPDX-License-Identifier: MIT

// The list of keys, and the legend of colours.

import { CanvasSurface } from "./draw/canvas";
import type { Palette } from "./draw/colours";
import { byId, make } from "./panel/dom";

const KEYS: [string, string][] = [
    ["W / S", "zoom in, zoom out"],
    ["A / D / ← / →", "move left, move right"],
    ["↑ / ↓ / Page Up / Page Down", "scroll the tracks"],
    ["0", "show all of the trace"],
    ["F", "fit to the selected slice, or to the selected span of time"],
    ["G", "follow a recording under way: the newest time stays at the right; moving away from it ends that"],
    ["/", "search slices by name; Enter: next, Shift+Enter: previous"],
    [", / .", "the slice before, the slice after the selected one"],
    ["[ / ]", "follow an arrow back, follow an arrow on, to another layer"],
    ["Enter", "select the slice in the middle of the selected track"],
    ["M", "mark the selection; again: remove the mark"],
    ["R", "show or hide the arrows of all requests"],
    ["L", "how long slices like the selected one take"],
    ["E", "table of events from the cursor on"],
    ["Escape", "select nothing"],
    ["Tracks: ↑ ↓ ← →", "go from track to track, open and close groups"],
    ["Tracks: P, Alt+↑ / ↓", "pin or unpin a track, move it among its neighbours"],
    ["?", "this help"],
];

const MOUSE: [string, string][] = [
    ["wheel", "zoom at the pointer; over the names: scroll"],
    ["Shift+wheel, sideways", "move"],
    ["drag", "move, also up and down"],
    ["Shift+drag, drag in the ruler", "select a span of time and show its statistics"],
    ["click", "select a slice: its fields, its clock error, its arrows"],
    ["double click", "fit to the slice"],
    ["names: drag", "change the order"],
];

const LEGEND: [string, (surface: CanvasSurface, palette: Palette) => void][] = [
    ["running", (s, p) => s.rect(0, 0, 22, 10, p.states.get("running")?.fill ?? p.text)],
    ["runnable", (s, p) => s.rect(0, 0, 22, 10, p.states.get("runnable")?.fill ?? p.text)],
    ["sleeping", (s, p) => s.rect(0, 0, 22, 10, p.states.get("sleeping")?.fill ?? p.text)],
    ["idle", (s, p) => s.rect(0, 0, 22, 10, p.idle.fill)],
    [
        "unknown",
        (s, p) => {
            s.rect(0, 0, 22, 10, p.unknown.fill);
            s.text(8, 5.5, "?", p.unknown.text, { size: 9 });
        },
    ],
    ["events lost", (s, p) => s.hatch(0, 0, 22, 10, p.lost)],
    [
        "many short ones, high: most of the time",
        (s, p) => {
            [3, 7, 10, 5].forEach((h, i) => s.rect(i * 5.5, 10 - h, 5.5, h, p.names[0].many));
        },
    ],
];

function fill(list: HTMLElement, entries: [string, string][]): void {
    for (const [keys, text] of entries) {
        const term = make("dt");
        keys.split(" / ").forEach((key, i) => {
            if (i) term.append(" ");
            term.append(make("kbd", "", key));
        });
        list.append(term, make("dd", "", text));
    }
}

export function makeHelp(): void {
    fill(byId("keys"), KEYS);
    fill(byId("mouse"), MOUSE);
    byId("show-help").addEventListener("click", showHelp);
    byId("help-close").addEventListener("click", () => byId<HTMLDialogElement>("help").close());
}

export function showHelp(): void {
    const dialog = byId<HTMLDialogElement>("help");
    if (!dialog.open) dialog.showModal();
}

export function drawLegend(palette: Palette): void {
    byId("legend").replaceChildren(
        ...LEGEND.map(([name, draw]) => {
            const canvas = make("canvas");
            const surface = new CanvasSurface(canvas);
            surface.resize(22, 10, devicePixelRatio);
            surface.rect(0, 0, 22, 10, palette.background);
            draw(surface, palette);
            canvas.setAttribute("aria-hidden", "true");
            const item = make("li");
            item.append(canvas, name);
            return item;
        }),
    );
}
