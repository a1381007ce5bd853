// SPDX-License-Identifier: MIT

// Colours, light and dark. Names and states have Paul Tol's "light" scheme, whose colours colour-blind people can
// distinguish. Different kinds have different patterns, too: idle is empty, unknown has letters, lost is hatched.

export interface Fill {
    fill: string;
    many: string; // for what stands for several slices
    text: string;
}

export interface Palette {
    background: string;
    group: string; // background of rows that are groups
    pinned: string;
    grid: string;
    text: string;
    faint: string;
    accent: string;
    selection: string; // over what is drawn, translucent
    mark: string;
    arrow: string;
    lost: string;
    error: string; // of clocks
    unknown: Fill;
    idle: Fill;
    density: string;
    heat: string; // of the most in one place
    curve: string;
    curveArea: string;
    names: Fill[];
    states: Map<string, Fill>;
    layers: Map<string, string>;
}

// None of these is a colour of a state: of running, or of waiting.
const NAME_COLOURS = ["#77aadd", "#99ddff", "#bbcc33", "#c9b84a", "#eedd88", "#ffaabb", "#c9a6e0", "#c9a98a", "#8fb3bf"];

const STATE_COLOURS: Record<string, string> = {
    running: "#44bb99",
    runnable: "#ee8866",
    woken: "#ee8866",
    preempted: "#d9653f",
    sleeping: "#c3cfdd",
    uninterruptible: "#b0649e",
    offline: "#8a8f98",
    interrupt: "#ffaabb",
    blocked: "#c3cfdd",
    "partial run": "#8fd8c3",
    "full run": "#44bb99",
    "partial contention": "#f4b79f",
    "concurrency hazard": "#eedd88",
    "full contention": "#d9653f",
};

// States that are there most of the time have dull colours.
const STATE_COLOURS_DARK: Record<string, string> = { sleeping: "#49566a", blocked: "#49566a" };

// In the order of the layers, from the guest down.
export const LAYER_COLOURS: Record<string, string> = {
    guest: "#4477aa",
    vmm: "#ee7733",
    hypervisor: "#aa3377",
    host: "#228833",
    program: "#66a5ad",
};

function channels(colour: string): number[] {
    return [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
}

// COLOUR, mixed with a SHARE of the other colour.
export function mixColours(colour: string, other: string, share: number): string {
    const b = channels(other);
    return (
        "#" +
        channels(colour)
            .map((value, i) => Math.round(value * (1 - share) + b[i] * share))
            .map((value) => value.toString(16).padStart(2, "0"))
            .join("")
    );
}

function luminance(colour: string): number {
    const [r, g, b] = channels(colour).map((value) => (value / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function makeFill(base: string, background: string, share: number): Fill {
    const fill = mixColours(base, background, share);
    return { fill, many: mixColours(fill, background, 0.4), text: luminance(fill) > 0.18 ? "#10151c" : "#f2f5f9" };
}

function makePalette(dark: boolean): Palette {
    const background = dark ? "#14181f" : "#ffffff";
    const share = dark ? 0.18 : 0.08;
    const make = (colour: string) => makeFill(colour, background, share);
    return {
        background,
        group: dark ? "#1c222c" : "#f2f4f7",
        pinned: dark ? "#181e27" : "#fbfaf4",
        grid: dark ? "#262d38" : "#e6e9ee",
        text: dark ? "#e4e9f0" : "#1d2430",
        faint: dark ? "#93a0b2" : "#5c6878",
        accent: dark ? "#6fb1ff" : "#0b5cc4",
        selection: dark ? "rgba(111,177,255,0.16)" : "rgba(11,92,196,0.12)",
        mark: dark ? "#e2b93b" : "#a96a00",
        arrow: dark ? "#ff8fb3" : "#b3124f",
        lost: dark ? "#ff7b72" : "#c62828",
        error: dark ? "#e2b93b" : "#8a5a00",
        unknown: make(dark ? "#8b929c" : "#b4b9c0"),
        idle: makeFill(dark ? "#2b3340" : "#e3e8ee", background, 0.3),
        density: dark ? "#7d9cc4" : "#5b7fae",
        heat: dark ? "#ffd27f" : "#8c1d40",
        curve: dark ? "#6fb1ff" : "#0b5cc4",
        curveArea: dark ? "rgba(111,177,255,0.18)" : "rgba(11,92,196,0.12)",
        names: NAME_COLOURS.map(make),
        states: new Map(
            Object.entries({ ...STATE_COLOURS, ...(dark ? STATE_COLOURS_DARK : {}) }).map(([name, c]) => [name, make(c)]),
        ),
        layers: new Map(Object.entries(LAYER_COLOURS).map(([name, c]) => [name, mixColours(c, "#ffffff", dark ? 0.25 : 0)])),
    };
}

export const LIGHT = makePalette(false);
export const DARK = makePalette(true);

const numbers = new Map<string, number>();
const littleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

// "#rrggbb" as a pixel of an ImageData.
export function colourNumber(colour: string): number {
    let number = numbers.get(colour);
    if (number !== undefined) return number;
    const [r, g, b] = channels(colour);
    number = (littleEndian ? (255 << 24) | (b << 16) | (g << 8) | r : (r << 24) | (g << 16) | (b << 8) | 255) >>> 0;
    numbers.set(colour, number);
    return number;
}

const hashes = new Map<string, number>();

// Returns the same colour for the same name in any trace. Ignores numbers at the end: "kworker/0:1" is like
// "kworker/1:2".
function hashName(name: string): number {
    let hash = hashes.get(name);
    if (hash !== undefined) return hash;
    hash = 2166136261;
    for (const letter of name.replace(/[\d:/#-]+$/, "").slice(0, 64))
        hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16777619) >>> 0;
    if (hashes.size > 50000) hashes.clear();
    hashes.set(name, hash);
    return hash;
}

export function nameFill(palette: Palette, name: string): Fill {
    const hash = hashName(name);
    return palette.names[((hash ^ (hash >>> 15)) >>> 0) % palette.names.length];
}
