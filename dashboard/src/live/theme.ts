// The theme: the system's, unless a person sets one.

import { signal } from "@preact/signals";

const KEY = "holdfast.theme";
export type Theme = "system" | "light" | "dark";
const read = (): Theme => {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
};
export const theme = signal<Theme>(read());

export function applyTheme(next: Theme = theme.value): void {
  theme.value = next;
  localStorage.setItem(KEY, next);
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
}

export function nextTheme(): void {
  applyTheme(theme.value === "system" ? "dark" : theme.value === "dark" ? "light" : "system");
}
