// SPDX-License-Identifier: MIT

// Follows a running recording: asks for newer indexes until it has ended.

import { ask, useGeneration } from "./api";
import type { LiveAnswer, Trace } from "./api";
import { byId } from "./panel/dom";

const PERIOD_MS = 1000;
// Shown data may arrive more slowly than newer indexes.
const BUSY_MAX_MS = 10_000;

export interface LiveActions {
    busy(): boolean; // of the present index, not all has arrived
    renew(trace: Trace): void;
    toggleFollow(): void;
    fail(error: unknown): void;
}

export class Live {
    private readonly element = byId("live");
    private readonly status = byId("live-status");
    private readonly button = byId<HTMLButtonElement>("follow");
    private since = 0;

    constructor(
        private readonly trace: Trace,
        private readonly actions: LiveActions,
    ) {
        this.button.addEventListener("click", () => actions.toggleFollow());
        if (!trace.live) return;
        useGeneration(trace.generation);
        this.element.hidden = false;
        this.showState();
        this.wait();
    }

    showFollowing(following: boolean): void {
        this.button.setAttribute("aria-pressed", String(following));
    }

    private showState(): void {
        const { live } = this.trace;
        this.status.textContent = live ? "recording" : "recording ended";
        this.element.classList.toggle("ended", !live);
        this.button.hidden = !live;
    }

    private wait(): void {
        setTimeout(() => void this.poll(), PERIOD_MS);
    }

    private async poll(): Promise<void> {
        const { trace, actions } = this;
        try {
            const answer = await ask<LiveAnswer>("live");
            const late = performance.now() - this.since > BUSY_MAX_MS;
            if (answer.generation !== trace.generation && (late || !actions.busy())) {
                const next = await ask<Trace>("trace");
                this.since = performance.now();
                useGeneration(next.generation);
                actions.renew(next);
            } else if (answer.generation === trace.generation) {
                trace.live = answer.live;
            }
        } catch (error) {
            // The next one would not answer either: a server that is started again has another address.
            actions.fail(error);
            this.status.textContent = "not followed";
            this.button.hidden = true;
            return;
        }
        this.showState();
        if (trace.live) this.wait();
    }
}
