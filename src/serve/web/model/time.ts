// SPDX-License-Identifier: MIT

// Formats times and durations.

type Units = [number, string][];
const SECONDS: Units = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
];
// For a clock whose rate is unknown.
const TICKS: Units = [
    [1e9, "G ticks"],
    [1e6, "M ticks"],
    [1e3, "k ticks"],
    [1, "ticks"],
];
let units = SECONDS;

// The unit of the trace's times, as in the API.
export function setTimeUnit(unit: "ns" | "ticks"): void {
    units = unit === "ticks" ? TICKS : SECONDS;
}

function findUnit(fits: (scale: number) => boolean): [number, string] {
    return units.find(([scale]) => fits(scale)) ?? units[units.length - 1];
}

// The error of a time; null: the trace refutes the stated errors of its clock.
export function formatError(errorNs: number | null): string {
    return errorNs === null ? "±?" : `±${formatDuration(errorNs)}`;
}

// Four digits and a unit: "12.34 ms".
export function formatDuration(ns: number): string {
    const size = Math.abs(ns);
    const [scale, unit] = findUnit((scale) => size >= scale);
    const value = ns / scale;
    const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.max(1, Math.abs(value)))));
    return `${scale === 1 ? Math.round(value) : Number(value.toFixed(digits))} ${unit}`;
}

// All digits: "1.234567891 s" after the begin of the trace.
export function formatExact(ns: number): string {
    return units === TICKS ? formatWhole(ns) : `${(Math.round(ns) / 1e9).toFixed(9)} s`;
}

// The smallest unit: "1234567891 ns".
export function formatWhole(ns: number): string {
    return `${Math.round(ns)} ${findUnit((scale) => scale === 1)[1]}`;
}

// Seconds of the timeline's clock, or its ticks, as in `strata report`.
export function formatAbsolute(beginNs: bigint, ns: number): string {
    const time = beginNs + BigInt(Math.round(ns));
    if (units === TICKS) return time.toString();
    const size = time < 0n ? -time : time;
    const fraction = (size % 1_000_000_000n).toString().padStart(9, "0");
    return `${time < 0n ? "-" : ""}${size / 1_000_000_000n}.${fraction}`;
}

export function formatCount(n: number): string {
    return n.toLocaleString("en-US");
}

// A number with a multiplier, for axes: "12k".
export function formatValue(value: number, unit: string): string {
    if (unit === "ns") return formatDuration(value);
    const size = Math.abs(value);
    const [scale, letter] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
    return `${Number((value / scale).toFixed(scale === 1 ? 2 : 1))}${letter}${unit ? " " + unit : ""}`;
}

export interface Ticks {
    step: number;
    times: number[];
    label(ns: number): string;
}

// Round times between FROM and TO, at most one per MIN_PX of WIDTH pixels.
export function makeTicks(from: number, to: number, width: number, minPx: number): Ticks {
    const least = Math.max(1, ((to - from) / Math.max(1, width)) * minPx);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least - 1e-9) ?? least;
    const times: number[] = [];
    for (let i = Math.ceil(from / step); i * step <= to; i++) times.push(i * step);
    const largest = Math.max(Math.abs(from), Math.abs(to));
    const [scale, unit] = findUnit((scale) => largest >= scale && step * 1e6 >= scale);
    const digits = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
    return { step, times, label: (ns) => `${(ns / scale).toFixed(digits)} ${unit}` };
}
