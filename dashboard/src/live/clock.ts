// The database's clock: ages and leases are measured by it, never by the browser's.

import { signal } from "@preact/signals";

let offsetMs = 0;

/** Rises every second while the page is visible. */
export const tick = signal(0);

export function setClock(databaseNow: string): void {
  const at = Date.parse(databaseNow);
  if (!Number.isNaN(at)) offsetMs = at - Date.now();
}

export function now(): number {
  return Date.now() + offsetMs;
}

/** The clock as a signal: a component that reads it is drawn again every second. */
export function ticking(): number {
  tick.value;
  return now();
}

export function startTicking(): void {
  setInterval(() => {
    if (document.visibilityState === "visible") tick.value++;
  }, 1_000);
}
