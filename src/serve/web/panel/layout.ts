// SPDX-License-Identifier: MIT

// Sizes of the parts, and the tabs below the timeline.

import { byId, onDrag } from "./dom";

const TABS = ["details", "statistics", "latency", "events"] as const;
export type Tab = (typeof TABS)[number];

const NAMES_MIN_PX = 80;
const PANEL_MIN_PX = 34;
const KEY_STEP_PX = 20;
const CHARTS_PX = 300; // of the panel, when charts are shown first

export interface LayoutActions {
    resized(): void;
    tab(tab: Tab): void;
}

export class Layout {
    private readonly side = byId("tree-side");
    private readonly panel = byId("panel");
    private roomy = false;

    constructor(private readonly actions: LayoutActions) {
        this.setNames(Math.min(270, innerWidth * 0.3));
        this.listenSplits();
        for (const tab of TABS) {
            const button = byId(`tab-${tab}`);
            button.addEventListener("click", () => this.select(tab));
            button.addEventListener("keydown", (event) => this.onTabKey(event, tab));
        }
    }

    private setNames(px: number): void {
        const width = Math.round(Math.min(Math.max(px, NAMES_MIN_PX), innerWidth * 0.6));
        this.side.style.width = `${width}px`;
        document.querySelector<HTMLElement>("#overview .label")?.style.setProperty("width", `${width + 5}px`);
        byId("split").setAttribute("aria-valuenow", String(width));
        this.actions.resized();
    }

    private setPanel(px: number): void {
        const height = Math.round(Math.min(Math.max(px, PANEL_MIN_PX), innerHeight * 0.6));
        this.panel.style.height = `${height}px`;
        byId("panel-split").setAttribute("aria-valuenow", String(height));
        this.actions.resized();
    }

    private listenSplits(): void {
        const split = byId("split");
        const panelSplit = byId("panel-split");
        onDrag(split, (event) => this.setNames(event.clientX - this.side.getBoundingClientRect().left));
        onDrag(panelSplit, (event) => this.setPanel(this.panel.getBoundingClientRect().bottom - event.clientY));
        split.addEventListener("keydown", (event) => {
            const by = event.key === "ArrowLeft" ? -KEY_STEP_PX : event.key === "ArrowRight" ? KEY_STEP_PX : 0;
            if (!by) return;
            event.preventDefault();
            this.setNames(this.side.offsetWidth + by);
        });
        panelSplit.addEventListener("keydown", (event) => {
            const by = event.key === "ArrowDown" ? -KEY_STEP_PX : event.key === "ArrowUp" ? KEY_STEP_PX : 0;
            if (!by) return;
            event.preventDefault();
            this.setPanel(this.panel.offsetHeight + by);
        });
    }

    // Charts need more room than texts do.
    private makeRoom(): void {
        if (!this.roomy && this.panel.offsetHeight < CHARTS_PX) this.setPanel(Math.min(CHARTS_PX, innerHeight * 0.4));
        this.roomy = true;
    }

    get selected(): Tab {
        return TABS.find((tab) => !byId(tab).hidden) ?? "details";
    }

    select(selected: Tab): void {
        if (selected === "latency") this.makeRoom();
        for (const tab of TABS) {
            const button = byId(`tab-${tab}`);
            button.setAttribute("aria-selected", String(tab === selected));
            button.tabIndex = tab === selected ? 0 : -1;
            byId(tab).hidden = tab !== selected;
        }
        this.actions.tab(selected);
    }

    private onTabKey(event: KeyboardEvent, tab: Tab): void {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? TABS.length - 1 : 0;
        if (!by) return;
        event.preventDefault();
        const next = TABS[(TABS.indexOf(tab) + by) % TABS.length];
        this.select(next);
        byId(`tab-${next}`).focus();
    }
}
