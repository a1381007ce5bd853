// SPDX-License-Identifier: MIT

// The strings of slices, by number. If a trace has very many, the server sends only the first ones. The others are
// requested when they are drawn.

import { askExactly, isGone } from "../api";

const ASK_MAX = 500;

export class Names {
    private known: (string | undefined)[];
    private readonly asked = new Set<number>();
    private wanted: number[] = [];
    version = 0; // changes with what is known

    constructor(
        names: string[],
        private readonly onArrive: () => void,
        private readonly onError: (error: unknown) => void,
    ) {
        this.known = [...names];
    }

    // Updates to a newer index. False: strings have other numbers than before.
    renew(names: string[]): boolean {
        const same = this.known.every((name, i) => name === names[i]);
        this.known = [...names];
        this.asked.clear();
        this.version++;
        return same;
    }

    // Returns "…" while the name is unknown.
    get(number: number): string {
        const name = this.known[number];
        if (name !== undefined) return name;
        if (!this.asked.has(number)) {
            this.asked.add(number);
            if (!this.wanted.length) setTimeout(() => void this.fetchWanted(), 20);
            this.wanted.push(number);
        }
        return "…";
    }

    private async fetchWanted(): Promise<void> {
        const ids = this.wanted.splice(0, ASK_MAX);
        if (this.wanted.length) setTimeout(() => void this.fetchWanted(), 20);
        try {
            const answer = await askExactly<{ names: string[] }>("names", { ids: ids.join(",") });
            this.version++;
            ids.forEach((id, i) => (this.known[id] = answer.names[i] ?? ""));
            this.onArrive();
        } catch (error) {
            this.version++;
            if (isGone(error)) return;
            for (const id of ids) this.known[id] = "";
            this.onError(error);
        }
    }
}
