// SPDX-License-Identifier: MIT

// Finds slices by their names, one after the other, from the shown time on.

import { ask, errorText, isAbort } from "./api";
import type { FoundSlice, SearchAnswer } from "./api";
import { byId } from "./panel/dom";

const LIMIT = 100;

export interface SearchActions {
    from(): number; // where to begin
    show(found: FoundSlice): void;
}

export class Search {
    readonly input = byId<HTMLInputElement>("search");
    private readonly status = byId("found");
    private text = "";
    private found: FoundSlice[] = [];
    private at = -1;
    private next: number | null = null;
    private wrapped = false;
    private abort: AbortController | null = null;

    constructor(private readonly actions: SearchActions) {
        this.input.addEventListener("keydown", (event) => {
            if (event.key === "Enter") {
                event.preventDefault();
                void this.step(event.shiftKey ? -1 : 1);
            } else if (event.key === "Escape") {
                this.input.value = "";
                this.status.textContent = "";
                this.input.blur();
                byId("canvas").focus();
            }
        });
        this.input.addEventListener("input", () => (this.status.textContent = ""));
    }

    get busy(): boolean {
        return this.abort !== null;
    }

    async step(by: number): Promise<void> {
        const text = this.input.value.trim();
        if (!text) return;
        if (text !== this.text) {
            this.text = text;
            this.found = [];
            this.at = -1;
            this.wrapped = false;
            await this.fetch(this.actions.from());
        } else if (by > 0 && this.at + 1 >= this.found.length) {
            const { next } = this;
            if (next === null) this.wrapped = true;
            await this.fetch(next ?? 0);
        } else {
            this.at = Math.max(0, this.at + by);
        }
        this.showCurrent();
    }

    // Asks until something is found. A server that has searched long enough says where to continue.
    private async fetch(from: number): Promise<void> {
        this.abort?.abort();
        const abort = (this.abort = new AbortController());
        this.status.textContent = "searching…";
        try {
            for (let start: number | null = from; ; ) {
                const parameters = { text: this.text, from: Math.max(0, Math.floor(start)), limit: LIMIT };
                const answer: SearchAnswer = await ask<SearchAnswer>("search", parameters, abort.signal);
                this.found = answer.found;
                this.next = answer.next;
                this.at = 0;
                if (answer.found.length) break;
                start = answer.next;
                if (start === null && !this.wrapped && from > 0) {
                    this.wrapped = true;
                    start = 0;
                }
                if (start === null) break;
            }
            this.status.textContent = "";
        } catch (error) {
            this.found = [];
            this.at = -1;
            this.text = "";
            if (!isAbort(error)) this.status.textContent = errorText(error);
        }
        if (this.abort === abort) this.abort = null;
    }

    private showCurrent(): void {
        const found = this.found[this.at];
        if (!found) {
            if (!this.status.textContent) this.status.textContent = "nothing found";
            return;
        }
        const more = this.next !== null ? "+" : "";
        const from = this.wrapped ? ", from the begin again" : "";
        this.status.textContent = `${this.at + 1} of ${this.found.length}${more}${from}`;
        this.actions.show(found);
    }
}
