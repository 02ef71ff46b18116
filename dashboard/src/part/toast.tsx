// Short messages at the edge of the page: the store's real answer to what a person did.

import { signal } from "@preact/signals";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "warn" | "bad";
}

const toasts = signal<readonly Toast[]>([]);
let last = 0;
const SHOWN_MS = 8_000;

export function toast(text: string, tone: Toast["tone"] = "good"): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
  if (tone !== "bad") setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <div key={id} class={`toast is-${tone}`}>
          <span>{text}</span>
          <button type="button" class="link" onClick={() => dismiss(id)}>
            Dismiss
          </button>
        </div>
      ))}
    </div>
  );
}
