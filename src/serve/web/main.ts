// SPDX-License-Identifier: MIT

// The page of `strata view`.

import { ask, errorText } from "./api";
import type { Trace } from "./api";
import { App } from "./app";
import { byId } from "./panel/dom";

function showFailure(error: unknown): void {
    byId("error-text").textContent = errorText(error);
    byId("error").hidden = false;
}

async function start(): Promise<void> {
    let app: App;
    try {
        app = new App(await ask<Trace>("trace"));
    } catch (error) {
        showFailure(error);
        throw error;
    }
    addEventListener("unhandledrejection", (event) => app.showError(event.reason));
    addEventListener("error", (event) => app.showError(event.error ?? event.message));
    // The shown data, read only, for tests and for scripts in the browser's console.
    const shown = {
        idle: () => app.idle,
        shown: () => app.shown(),
        rows: () => app.rows(),
        span: () => app.span(),
        svg: () => app.svg(),
        trace: () => app.trace,
    };
    Object.defineProperty(window, "strata", { value: Object.freeze(shown), writable: false });
}

void start();
