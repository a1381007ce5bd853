// SPDX-License-Identifier: MIT

// What the user has selected and marked.

import type { Arrow } from "../api";
import type { Span } from "./view";

export interface SlicePlace {
    track: number;
    depth: number;
    time: number; // within the slice
}

export interface SelectedSlice extends SlicePlace {
    begin: number;
    end: number;
    beginErrorNs: number;
    endErrorNs: number;
    open: boolean; // at the end of the trace
}

export type Theme = "auto" | "light" | "dark";

export interface State {
    slice: SelectedSlice | null;
    sliceArrows: Arrow[]; // of the slice's request
    allArrows: boolean;
    arrows: Arrow[]; // of what is shown, if allArrows
    span: Span | null;
    cursor: number | null;
    hover: number | null; // time under the pointer
    marks: Span[];
    focus: number | null; // track that keys act on
    theme: Theme;
}

export function newState(): State {
    return {
        slice: null,
        sliceArrows: [],
        allArrows: false,
        arrows: [],
        span: null,
        cursor: null,
        hover: null,
        marks: [],
        focus: null,
        theme: "auto",
    };
}
