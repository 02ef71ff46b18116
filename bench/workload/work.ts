// One of the works W1 to W11: what is measured, and how.

import type { WorkReport } from "../report/figure.js";
import type { SideBySide } from "../side-by-side.js";

export interface Work {
  readonly name: string;
  readonly title: string;
  readonly run: (bench: SideBySide) => Promise<Omit<WorkReport, "work" | "title">>;
}

/** Several contests as one report. */
export function joined(parts: readonly Omit<WorkReport, "work" | "title" | "gates">[]) {
  return {
    figures: parts.flatMap(({ figures }) => figures),
    ratios: parts.flatMap(({ ratios }) => ratios),
    notes: [...new Set(parts.flatMap(({ notes }) => notes))],
    ...(parts[0]?.oneRowCommits !== undefined && { oneRowCommits: parts[0].oneRowCommits }),
  };
}
