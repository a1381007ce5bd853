// SPDX-License-Identifier: MIT

// Makes elements. Texts of a trace only become text nodes.

export function byId<T extends HTMLElement>(id: string): T {
    const found = document.getElementById(id);
    if (!found) throw new Error(`the page has no element '${id}'`);
    return found as T;
}

export function make<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    className = "",
    text = "",
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text) element.textContent = text;
    return element;
}

export function makeButton(text: string, className: string, onClick: () => void): HTMLButtonElement {
    const button = make("button", className, text);
    button.type = "button";
    button.addEventListener("click", onClick);
    return button;
}

// A list of names and values. Unknown values are left out.
export function makeFields(fields: [string, string | number | null | undefined][]): HTMLDListElement {
    const list = make("dl", "fields");
    for (const [name, value] of fields) {
        if (value === null || value === undefined || value === "") continue;
        list.append(make("dt", "", name), make("dd", "", String(value)));
    }
    return list;
}

// Follows a pointer from the press on ELEMENT until it is released.
export function onDrag(element: HTMLElement, move: (event: PointerEvent) => void, done?: () => void): void {
    element.addEventListener("pointerdown", (down) => {
        if (down.button !== 0) return;
        down.preventDefault();
        element.focus();
        element.setPointerCapture(down.pointerId);
        const end = () => {
            element.removeEventListener("pointermove", move);
            element.removeEventListener("pointerup", end);
            element.removeEventListener("pointercancel", end);
            done?.();
        };
        element.addEventListener("pointermove", move);
        element.addEventListener("pointerup", end);
        element.addEventListener("pointercancel", end);
    });
}
