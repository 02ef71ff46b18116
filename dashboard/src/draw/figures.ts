// Figures over time as series for charts, and the numbers above them. Pure.

import type { Figure, NodeRow, Takeover } from "../live/model.js";

export interface Series {
  /** Seconds since 1970, as the chart wants them. */
  readonly at: readonly number[];
  readonly endedPerSecond: readonly (number | null)[];
  readonly failedPerSecond: readonly (number | null)[];
  readonly p95Seconds: readonly (number | null)[];
  readonly oldestSeconds: readonly (number | null)[];
}

/** A time without figures, because no node kept them, is a gap in the line. */
export function withGaps(figures: readonly Figure[], stepSeconds: number): readonly (Figure | Gap)[] {
  return figures.flatMap((one, i) => {
    const next = figures[i + 1];
    const left = next === undefined ? 0 : (Date.parse(next.at) - Date.parse(one.at)) / 1_000;
    if (left <= 3 * stepSeconds) return [one];
    return [one, { at: new Date(Date.parse(one.at) + stepSeconds * 1_000).toISOString() }];
  });
}

type Gap = { readonly at: string } & { readonly [Name in keyof Omit<Figure, "at">]?: undefined };

export function seriesOf(kept: readonly Figure[], stepSeconds: number): Series {
  const figures = withGaps(kept, stepSeconds);
  const perSecond = (n: number | undefined) => (n === undefined ? null : n / stepSeconds);
  return {
    at: figures.map(({ at }) => Date.parse(at) / 1_000),
    endedPerSecond: figures.map((one) =>
      perSecond(one.completed === undefined ? undefined : one.completed + one.failed),
    ),
    failedPerSecond: figures.map(({ failed }) => perSecond(failed)),
    p95Seconds: figures.map(({ p95Ms }) => (p95Ms ? p95Ms / 1_000 : null)),
    oldestSeconds: figures.map(({ oldestMs }) => (oldestMs ? oldestMs / 1_000 : null)),
  };
}

export interface Summary {
  readonly endedPerSecond: number;
  readonly failedShare: number;
  readonly p95Ms: number | null;
  readonly oldestMs: number | null;
}

/** Over the last steps, so that a number does not jump with every step. */
export function summaryOf(figures: readonly Figure[], stepSeconds: number): Summary {
  const recent = figures.slice(-6);
  const ended = recent.reduce((sum, { completed, failed }) => sum + completed + failed, 0);
  const failed = recent.reduce((sum, one) => sum + one.failed, 0);
  const last = recent.at(-1);
  return {
    endedPerSecond: recent.length === 0 ? 0 : ended / (recent.length * stepSeconds),
    failedShare: ended === 0 ? 0 : failed / ended,
    p95Ms: last?.p95Ms ?? null,
    oldestMs: last?.oldestMs ?? null,
  };
}

export interface TimeMark {
  readonly at: number;
  readonly kind: "deploy" | "takeover";
  readonly text: string;
}

/** A deploy is the first start of a build; takeovers of one second are one mark. */
export function marksOf(
  nodes: readonly Pick<NodeRow, "build" | "startedAt">[],
  takeovers: readonly Pick<Takeover, "at">[],
): readonly TimeMark[] {
  const builds = new Map<string, number>();
  for (const { build, startedAt } of nodes) {
    const at = Date.parse(startedAt) / 1_000;
    if (build !== null) builds.set(build, Math.min(builds.get(build) ?? at, at));
  }
  const deploys = [...builds].map(
    ([build, at]): TimeMark => ({ at, kind: "deploy", text: build.replace(/^auto-(.{6}).*/, "build $1") }),
  );
  const seconds = new Map<number, number>();
  for (const { at } of takeovers) {
    const second = Math.floor(Date.parse(at) / 1_000);
    seconds.set(second, (seconds.get(second) ?? 0) + 1);
  }
  const taken = [...seconds].map(
    ([at, n]): TimeMark => ({ at, kind: "takeover", text: n === 1 ? "takeover" : `${n} takeovers` }),
  );
  return [...deploys, ...taken].sort((a, b) => a.at - b.at);
}
