// The report of a work as lines for a terminal.

import { type AgainstOther, type Figure, type Gate, ONE_ROW_COMMITS, type WorkReport } from "./figure.js";

export const shown = (value: number) => value.toLocaleString("en-US", { maximumFractionDigits: 2 });

/** How often Holdfast's value is better than the other's. */
export function advantage({ better, median }: AgainstOther): number {
  return better === "higher" ? median : 1 / median;
}

export function namesOf(figures: readonly Figure[]): string[] {
  return [...new Set(figures.map(({ name }) => name))];
}

/** Holdfast's rate in one-row commits, which can be compared with that of another machine. */
export function calibrated(ratios: readonly AgainstOther[], name: string): string | undefined {
  const ratio = ratios.find((one) => one.name === name && one.against === ONE_ROW_COMMITS);
  return (
    ratio &&
    `Holdfast's is ${shown(ratio.median)} × the rate of one-row commits (${shown(ratio.low)}–${shown(ratio.high)})`
  );
}

/** The best first. */
export function ranked(figures: readonly Figure[], name: string): Figure[] {
  const some = figures.filter((one) => one.name === name);
  return some.sort((a, b) => (a.better === "higher" ? b.median - a.median : a.median - b.median));
}

export function spread({ low, high, rounds }: Pick<Figure, "low" | "high" | "rounds">): string {
  return rounds > 1 ? ` (${shown(low)}–${shown(high)})` : "";
}

export function comparison(ratio: AgainstOther | undefined): string {
  if (!ratio) return "";
  const { median, low, high, pairs } = ratio;
  const text = `Holdfast's is ${shown(median)} × this${pairs > 1 ? ` (${shown(low)}–${shown(high)})` : ""}`;
  return advantage(ratio) < 1 ? `${text}, this is better` : text;
}

export function gateLine({ name, value, atLeast, atMost, holds }: Gate): string {
  const bound = atLeast === undefined ? `at most ${shown(atMost!)}` : `at least ${shown(atLeast)}`;
  return `${holds ? "ok  " : "FAIL"} ${name}: ${shown(value)} (${bound})`;
}

export function linesOf({ work, title, figures, ratios, gates, notes, oneRowCommits }: WorkReport): string[] {
  const commits = oneRowCommits === undefined ? "" : ` · ${shown(oneRowCommits)} one-row commits/s`;
  const lines = [`${work.toUpperCase()} ${title}${commits}`];
  for (const name of namesOf(figures)) {
    lines.push(`  ${name}`);
    for (const figure of ranked(figures, name)) {
      const ratio = ratios.find((one) => one.name === name && one.against === figure.library);
      const value = `${shown(figure.median)} ${figure.unit}${spread(figure)}`;
      lines.push(`    ${figure.library.padEnd(16)} ${value.padEnd(36)} ${comparison(ratio)}`.trimEnd());
    }
    const inCommits = calibrated(ratios, name);
    if (inCommits) lines.push(`    ${inCommits}`);
  }
  return [...lines, ...notes.map((note) => `  note: ${note}`), ...gates.map((gate) => `  ${gateLine(gate)}`)];
}
