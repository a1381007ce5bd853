// SPDX-License-Identifier: MIT

// The server's API: requests and types of answers. Times are ns since the begin of the trace; JavaScript's numbers hold
// 104 days of them.

export type TrackKind = "group" | "slices" | "states" | "events" | "counter" | "losses";

export interface Track {
    id: number;
    parent: number | null;
    kind: TrackKind;
    layer: string;
    source: number;
    name: string;
    unit?: string | null;
    rank: number;
    cpu?: number | null;
    pid?: number | null;
    vcpu?: number | null;
    depths: number;
    n: number;
}

export interface Trace {
    name: string;
    begin_ns: string; // of the timeline's clock; text, as it has more digits than a number
    duration: number;
    events: number;
    lost: number | null; // null: unknown
    error_ns: number | null; // null: it is not known, see clock_note
    clock_note: string; // what the trace refutes of its clocks; all errors that are not 0 are null then
    clock: string;
    unit: "ns" | "ticks"; // of all times; ticks: the rate of the clock is unknown
    live: boolean; // it is being recorded: indexes with higher numbers will follow
    generation: number;
    tracks: Track[];
    names: string[];
    states: string[];
    notes: string[];
}

export interface LiveAnswer {
    generation: number;
    live: boolean;
}

export const FLAG_CUT = 1; // its end is not in the trace
export const FLAG_OPEN = 2;
export const FLAG_NO_BEGIN = 4;
export const FLAG_UNKNOWN = 8;
export const FLAG_LOST = 16;
export const FLAG_IDLE = 32;
export const FLAG_MANY = 64; // stands for several slices that are shorter than the resolution

// A slice is SLICE_NUMBERS numbers of a flat array.
export const SLICE_NUMBERS = 7;
export const SLICE_BEGIN = 0;
export const SLICE_END = 1;
export const SLICE_NAME = 2;
export const SLICE_FLAGS = 3;
export const SLICE_N = 4;
export const SLICE_COVERED = 5; // of COVERED_ALL
export const SLICE_STATE = 6;
export const COVERED_ALL = 65535;

// A value is VALUE_NUMBERS numbers: time, smallest, largest, last.
export const VALUE_NUMBERS = 4;

export interface SlicesAnswer {
    resolution: number;
    tracks: { id: number; depths: number[][] }[];
}
export interface CountsAnswer {
    tracks: { id: number; counts: number[] }[];
}
export interface ValuesAnswer {
    tracks: { id: number; values: number[] }[];
}

// time, track, depth of the begin; time, track, depth of the end
export type Arrow = [number, number, number, number, number, number];
export interface ArrowsAnswer {
    total: number;
    arrows: Arrow[];
}

export interface EventAnswer {
    time: number;
    error_ns?: number | null;
    name: string;
    layer?: string | null;
    cpu?: number | null;
    vcpu?: number | null;
    pid?: number | null;
    comm?: string | null;
    shown?: [string, string][] | null; // its fields, as text
    text?: string | null;
}
export interface SliceAnswer {
    track: number;
    depth: number;
    begin: number;
    end: number;
    name: string;
    name_id: number;
    flags: number;
    state?: number;
    n?: number;
    begin_error_ns: number | null; // how far its ends may be off; null: it is not known
    end_error_ns: number | null;
    event: EventAnswer | null;
    end_event: EventAnswer | null;
}
export interface EventsAnswer {
    events: EventAnswer[];
    next: number | null;
    skip?: number; // events at the time `next` that are in this answer
    lost?: number | null;
}
export interface FoundSlice {
    track: number;
    depth: number;
    begin: number;
    end: number;
    name: number;
}
export interface SearchAnswer {
    found: FoundSlice[];
    next: number | null;
}
export interface StatisticsRow {
    track: number;
    name: number;
    n: number;
    total: number;
    min: number;
    max: number;
    mean: number;
}
export interface StatisticsAnswer {
    rows: StatisticsRow[];
}

// Durations in ns. Percentiles are as in `strata latency`: the middle of a bucket of the histogram.
export interface LatencyNumbers {
    n: number;
    sum: number;
    p50: number;
    p90: number;
    p99: number;
    p999: number;
    max: number;
    min?: number;
}
export interface LatencyAnswer extends LatencyNumbers {
    from: number;
    to: number;
    min: number;
    cut: number; // not counted: an end is not in the trace
    partly: number; // not counted: began before the time
    buckets: number[]; // from, before, count
    columns: number;
    cells: number[]; // column, from, before, count
    unnamed: number; // of other names than these
    names: (LatencyNumbers & { name: number })[];
    slowest: FoundSlice[];
}

export type Parameters = Record<string, string | number>;

export const STATUS_GONE = 410;
export const STATUS_TOO_LARGE = 413;

export class ApiError extends Error {
    constructor(
        message: string,
        readonly status: number,
    ) {
        super(message);
    }
}

export function isAbort(error: unknown): boolean {
    return error instanceof DOMException && error.name === "AbortError";
}

export function errorText(error: unknown): string {
    return error instanceof Error ? error.message : String(error);
}

// For a running recording, requests are about the index that is shown; 0: the server's newest index.
let generation = 0;

export function useGeneration(number: number): void {
    generation = number;
}

// Requests api/PATH. Throws ApiError with the server's message, or an AbortError. If the shown index does not exist any
// more, the answer is about the newest one, in which names may have other numbers. A generation among PARAMETERS is
// kept.
export async function ask<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
    if (!generation || path === "live" || path === "trace" || parameters.generation !== undefined)
        return send<T>(path, parameters, signal);
    try {
        return await send<T>(path, { ...parameters, generation }, signal);
    } catch (error) {
        if (!isGone(error)) throw error;
        return send<T>(path, parameters, signal);
    }
}

// The same for only the shown index. isGone() if it does not exist any more, which is soon after a newer one.
export function askExactly<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
    return ask<T>(path, generation ? { ...parameters, generation } : parameters, signal);
}

export function isGone(error: unknown): boolean {
    return error instanceof ApiError && error.status === STATUS_GONE;
}

async function send<T>(path: string, parameters: Parameters, signal?: AbortSignal): Promise<T> {
    const query = Object.entries(parameters)
        .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%2C/g, ",")}`)
        .join("&");
    let response: Response;
    let body: string;
    try {
        response = await fetch(`api/${path}${query ? "?" + query : ""}`, { signal, cache: "no-store" });
        body = await response.text();
    } catch (error) {
        if (isAbort(error)) throw error;
        throw new ApiError("the server does not answer; check that strata still runs", 0);
    }
    let answer: unknown;
    try {
        answer = JSON.parse(body);
    } catch {
        throw new ApiError(`invalid answer to api/${path} (status ${response.status})`, response.status);
    }
    if (!response.ok) {
        const said = (answer as { error?: unknown } | null)?.error;
        throw new ApiError(typeof said === "string" ? said : `status ${response.status}`, response.status);
    }
    return answer as T;
}
