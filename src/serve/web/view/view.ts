// SPDX-License-Identifier: MIT

// The shown piece of time, and how it moves.

const SPAN_MIN_NS = 20;
const MARGIN = 0.05; // how far the view may go over the ends of the trace, of its own length
const SPAN_MAX = 1.1; // of the trace
const EASE = 0.3; // of the way to the target, each frame
const ROUNDING = 1e-6; // of what is shown
const AHEAD = 0.02; // of what is shown: room right of the newest time

export interface Span {
    from: number;
    to: number;
}

// A piece of time on `width` pixels.
export interface Window extends Span {
    readonly width: number;
    x(ns: number): number;
}

export class View {
    from = 0;
    to = 1;
    width = 1; // px
    private target: Span | null = null;
    private frame = 0;
    duration: number; // of the trace
    // The newest time stays at the right, until the view is moved away from it.
    following = false;
    private readonly still = matchMedia("(prefers-reduced-motion: reduce)");

    constructor(
        duration: number,
        private readonly onChange: () => void,
        private readonly onFollow: () => void,
    ) {
        this.duration = duration;
        this.show(this.whole());
    }

    whole(): Span {
        return { from: 0, to: Math.max(this.duration, SPAN_MIN_NS) };
    }

    get length(): number {
        return this.to - this.from;
    }
    get nsPerPx(): number {
        return this.length / this.width;
    }
    x(ns: number): number {
        return ((ns - this.from) / this.length) * this.width;
    }
    time(x: number): number {
        return this.from + (x / this.width) * this.length;
    }
    get moving(): boolean {
        return this.target !== null;
    }
    // Where it is, or will be after moving.
    get goal(): Span {
        return this.target ?? { from: this.from, to: this.to };
    }

    private bounded({ from, to }: Span): Span {
        const length = Math.min(Math.max(to - from, SPAN_MIN_NS), Math.max(this.duration * SPAN_MAX, SPAN_MIN_NS));
        const margin = length * MARGIN;
        const middle = (from + to) / 2;
        const least = -margin;
        const most = Math.max(least, this.duration + margin - length);
        const start = Math.min(Math.max(middle - length / 2, least), most);
        return { from: start, to: start + length };
    }

    show(span: Span): void {
        this.target = null;
        ({ from: this.from, to: this.to } = this.bounded(span));
        this.leave(this);
        this.onChange();
    }

    private leave({ from, to }: Span): void {
        if (!this.following || to >= this.duration - (to - from) * ROUNDING) return;
        this.following = false;
        this.onFollow();
    }

    setFollowing(following: boolean): void {
        this.following = following;
        this.follow(this.isWhole());
        this.onFollow();
    }

    private isWhole(): boolean {
        return this.goal.from <= 0 && this.goal.to >= this.duration;
    }

    // Shows as much time as before, up to the newest; or the WHOLE trace.
    private follow(whole: boolean): void {
        if (!this.following) return;
        const { from, to } = this.goal;
        const end = this.duration + (to - from) * AHEAD;
        this.moveTo(whole ? this.whole() : { from: end - (to - from), to: end });
    }

    // The trace has become DURATION long, and begins BY ns earlier than before.
    renew(duration: number, by: number): void {
        const whole = this.isWhole();
        this.duration = duration;
        this.from += by;
        this.to += by;
        if (this.target) this.target = { from: this.target.from + by, to: this.target.to + by };
        this.follow(whole);
    }

    // The same, in some frames.
    moveTo(span: Span): void {
        if (this.still.matches) {
            this.show(span);
            return;
        }
        this.target = this.bounded(span);
        this.leave(this.target);
        if (!this.frame) this.frame = requestAnimationFrame(() => this.step());
    }

    private step(): void {
        this.frame = 0;
        const target = this.target;
        if (!target) return;
        const near = (target.to - target.from) / this.width / 2;
        const left = target.from - this.from;
        const right = target.to - this.to;
        if (Math.abs(left) < near && Math.abs(right) < near) {
            this.target = null;
            this.from = target.from;
            this.to = target.to;
        } else {
            this.from += left * EASE;
            this.to += right * EASE;
            this.frame = requestAnimationFrame(() => this.step());
        }
        this.onChange();
    }

    // FACTOR below 1 zooms in. The time AT stays in its place, or, while following, the newest time does.
    zoom(factor: number, at: number, smooth: boolean): void {
        const { from, to } = this.goal;
        if (this.following) at = to;
        const span = { from: at - (at - from) * factor, to: at + (to - at) * factor };
        // At a bound of the length, the place of AT would move.
        if (factor < 1 && to - from <= SPAN_MIN_NS) return;
        if (smooth) this.moveTo(span);
        else this.show(span);
    }

    // Moves by a share of the shown time.
    pan(share: number, smooth: boolean): void {
        const { from, to } = this.goal;
        const by = (to - from) * share;
        if (smooth) this.moveTo({ from: from + by, to: to + by });
        else this.show({ from: from + by, to: to + by });
    }

    // Moves as little as possible so that SPAN is visible.
    reveal(span: Span): void {
        const { from, to } = this.goal;
        const length = to - from;
        if (span.to - span.from > length * 0.9) this.fit(span);
        else if (span.from < from + length * 0.05 || span.to > to - length * 0.05) {
            const middle = (span.from + span.to) / 2;
            this.moveTo({ from: middle - length / 2, to: middle + length / 2 });
        }
    }

    fit(span: Span): void {
        const room = Math.max((span.to - span.from) * 0.15, SPAN_MIN_NS / 2);
        this.moveTo({ from: span.from - room, to: span.to + room });
    }
}
