// The judgement of a soak: lines through the samples, and whether anything that must stay flat grows.

export interface Sample {
  /** Since the beginning. */
  readonly atMs: number;
  /** Of all nodes together, after a garbage collection. */
  readonly heapMb: number;
  readonly rssMb: number;
  /** Timers, sockets and other things that keep the nodes' event loops busy. */
  readonly handles: number;
  /** Of the nodes and the client, at the server. */
  readonly connections: number;
  /** In all tables of the store. */
  readonly rows: number;
  readonly deadTuples: number;
  /** How long ago the oldest completed run that is still there ended. */
  readonly oldestEndedMs: number;
  /** A transaction elsewhere keeps dead rows from being removed. */
  readonly pinned: boolean;
}

export type Measured = "heapMb" | "rssMb" | "handles" | "connections" | "rows" | "deadTuples";

/** How much each may grow over the time that is looked at: a part of its mean, and an amount that is noise. */
const MAY_GROW: Readonly<Record<Measured, { readonly part: number; readonly noise: number }>> = {
  heapMb: { part: 0.1, noise: 8 },
  rssMb: { part: 0.2, noise: 40 },
  handles: { part: 0.1, noise: 20 },
  connections: { part: 0, noise: 3 },
  rows: { part: 0.2, noise: 2_000 },
  deadTuples: { part: 0.5, noise: 20_000 },
};

/** The first part of a soak fills caches, pools and tables. */
const WARM_UP = 0.25;
const FEWEST = 3;

export interface Line {
  readonly mean: number;
  readonly perHour: number;
  /** Over the time that was looked at. */
  readonly growth: number;
  readonly most: number;
  readonly ok: boolean;
}

export interface Judgement {
  readonly ok: boolean;
  readonly lines: Readonly<Record<Measured, Line>>;
  /** The longest that a completed run was kept beyond its retention, once the tables were full; null: it was too short to tell. */
  readonly overdueMs: number | null;
  readonly mayBeOverdueMs: number;
}

/** `keptMs`: the retention; `roundMs`: how often a clean-up comes. */
export function judge(
  samples: readonly Sample[],
  { keptMs, roundMs }: { readonly keptMs: number; readonly roundMs: number },
): Judgement {
  const lastMs = samples.at(-1)?.atMs ?? 0;
  const warm = samples.filter(({ atMs }) => atMs >= WARM_UP * lastMs);
  // While it is pinned, and for as long again, dead rows cannot have gone.
  const pinned = samples.filter((sample) => sample.pinned).map(({ atMs }) => atMs);
  const [from, until] = [Math.min(...pinned), Math.max(...pinned) + (Math.max(...pinned) - Math.min(...pinned))];
  const free = warm.filter(({ atMs }) => pinned.length === 0 || atMs < from || atMs > until);
  const names = Object.keys(MAY_GROW) as Measured[];
  const lines = Object.fromEntries(
    names.map((name) => [name, lineOf(name === "rows" || name === "deadTuples" ? free : warm, name)]),
  ) as Record<Measured, Line>;
  const full = samples.filter(({ atMs }) => atMs > 2 * keptMs + 2 * roundMs);
  const overdueMs = full.length === 0 ? null : Math.max(...full.map(({ oldestEndedMs }) => oldestEndedMs - keptMs));
  const mayBeOverdueMs = 3 * roundMs;
  // What was hardly looked at is not flat.
  const ok = free.length >= FEWEST && names.every((name) => lines[name].ok) && (overdueMs ?? 0) <= mayBeOverdueMs;
  return { ok, lines, overdueMs, mayBeOverdueMs };
}

/** Least squares: one high sample at the end says little. */
function lineOf(samples: readonly Sample[], name: Measured): Line {
  const n = samples.length;
  const mean = samples.reduce((sum, sample) => sum + sample[name], 0) / Math.max(n, 1);
  const middle = samples.reduce((sum, { atMs }) => sum + atMs, 0) / Math.max(n, 1);
  const spread = samples.reduce((sum, { atMs }) => sum + (atMs - middle) ** 2, 0);
  const slope =
    spread === 0 ? 0 : samples.reduce((sum, one) => sum + (one.atMs - middle) * (one[name] - mean), 0) / spread;
  const growth = slope * ((samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0));
  const { part, noise } = MAY_GROW[name];
  const most = part * mean + noise;
  const round = (value: number) => Math.round(value * 10) / 10;
  return {
    mean: round(mean),
    perHour: round(slope * 3_600_000),
    growth: round(growth),
    most: round(most),
    ok: growth <= most,
  };
}
