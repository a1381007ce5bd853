// SPDX-License-Identifier: MIT

// The state of the view in the part of the address after #, so that a link shows the same. Times are ns since the begin
// of the trace. A missing or invalid value has its default.

import type { Span } from "./view";
import type { SlicePlace, Theme } from "./state";

export interface Address {
    view: Span | null;
    slice: SlicePlace | null;
    span: Span | null;
    cursor: number | null;
    marks: Span[];
    closed: number[] | null;
    pinned: number[];
    moved: [number, number][];
    filter: string;
    search: string;
    arrows: boolean;
    follow: boolean;
    latency: string; // of the panel, if it is seen
    scroll: number;
    theme: Theme;
}

const LIST_MAX = 10000;

function numbers(text: string | null, separator: string): number[] {
    if (!text) return [];
    const list = text.split(separator).slice(0, LIST_MAX).map(Number);
    return list.every(Number.isFinite) ? list : [];
}

function parseSpan(text: string | null): Span | null {
    const [from, to] = numbers(text, "~");
    return to !== undefined && to >= from ? { from, to } : null;
}

function formatSpan({ from, to }: Span): string {
    return `${Math.round(from)}~${Math.round(to)}`;
}

export function parseAddress(hash: string): Address {
    const given = new URLSearchParams(hash.replace(/^#/, ""));
    const [track, depth, time] = numbers(given.get("slice"), ".");
    const theme = given.get("theme");
    const cursor = Number(given.get("cursor") ?? NaN);
    return {
        view: parseSpan(given.get("view")),
        slice: time !== undefined ? { track, depth, time } : null,
        span: parseSpan(given.get("span")),
        cursor: Number.isFinite(cursor) ? cursor : null,
        marks: (given.get("marks") ?? "").split(",").map(parseSpan).filter((span): span is Span => span !== null),
        closed: given.has("closed") ? numbers(given.get("closed"), ",") : null,
        pinned: numbers(given.get("pinned"), ","),
        moved: (given.get("order") ?? "")
            .split(",")
            .map((pair) => numbers(pair, "."))
            .filter((pair): pair is [number, number] => pair.length === 2),
        filter: given.get("filter") ?? "",
        search: given.get("search") ?? "",
        arrows: given.get("arrows") === "1",
        follow: given.get("follow") === "1",
        latency: given.get("latency") ?? "",
        scroll: Math.max(0, numbers(given.get("scroll"), ",")[0] ?? 0),
        theme: theme === "dark" || theme === "light" ? theme : "auto",
    };
}

export function formatAddress(address: Address): string {
    const parts: [string, string][] = [];
    const add = (name: string, value: string) => {
        if (value) parts.push([name, value]);
    };
    if (address.view) add("view", formatSpan(address.view));
    const { slice } = address;
    if (slice) add("slice", `${slice.track}.${slice.depth}.${Math.round(slice.time)}`);
    if (address.span) add("span", formatSpan(address.span));
    if (address.cursor !== null) add("cursor", String(Math.round(address.cursor)));
    add("marks", address.marks.map(formatSpan).join(","));
    if (address.closed) parts.push(["closed", address.closed.join(",")]);
    add("pinned", address.pinned.join(","));
    add("order", address.moved.map((pair) => pair.join(".")).join(","));
    add("filter", address.filter);
    add("search", address.search);
    if (address.arrows) add("arrows", "1");
    if (address.follow) add("follow", "1");
    add("latency", address.latency);
    if (address.scroll) add("scroll", String(Math.round(address.scroll)));
    if (address.theme !== "auto") add("theme", address.theme);
    return "#" + parts.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2C|7E)/g, unescapeSafe)}`).join("&");
}

// "," and "~" need no escape there. People read links.
function unescapeSafe(escaped: string): string {
    return decodeURIComponent(escaped);
}
