// Keys: global ones, those of the page that is shown, and two-key moves that begin with g.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go } from "./router.js";

export type Keys = Readonly<Record<string, () => void>>;

const OFF = "holdfast.keys";
export const keysOn = signal(localStorage.getItem(OFF) !== "off");
export const helpShown = signal(false);

export const MOVES: Readonly<Record<string, readonly [string, string]>> = {
  o: ["/", "Overview"],
  r: ["/runs", "Runs"],
  n: ["/nodes", "Nodes"],
  a: ["/approvals", "Approvals"],
  d: ["/dead", "Dead letters"],
  q: ["/queues", "Queues & limits"],
  s: ["/schedules", "Schedules"],
  m: ["/machines", "Machines"],
  p: ["/programs", "Programs"],
  l: ["/leases", "Leases"],
};

const stack: Keys[] = [];
let moving = false;

/** The keys of a page, while it is shown. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    stack.push(keys);
    return () => {
      stack.splice(stack.indexOf(keys), 1);
    };
  });
}

export function setKeys(on: boolean): void {
  keysOn.value = on;
  localStorage.setItem(OFF, on ? "on" : "off");
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") !== null) return;
    if (target.closest("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (!keysOn.value) return;
    // Enter on a link or a button is theirs.
    if (event.key === "Enter" && target.closest("a, button, summary")) return;
    if (press(event.key)) event.preventDefault();
  });
}

function press(key: string): boolean {
  if (moving) {
    moving = false;
    const to = MOVES[key];
    if (to) go(to[0]);
    return to !== undefined;
  }
  if (key === "g") {
    moving = true;
    setTimeout(() => {
      moving = false;
    }, 1_500);
    return true;
  }
  if (key === "?") {
    helpShown.value = true;
    return true;
  }
  if (key === "/") {
    document.getElementById("search")?.focus();
    return true;
  }
  const keys = stack.findLast((one) => one[key] !== undefined);
  keys?.[key]?.();
  return keys !== undefined;
}
