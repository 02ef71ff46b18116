// Paired, interleaved measurements: load on the machine affects both sides of a pair, so the ratios stay comparable.

/** Warm-up samples of a latency: a process that has just started still compiles code and plans statements. */
export const WARM_UPS = 40;

export interface Ratio {
  readonly median: number;
  /** Smallest and largest ratio of all pairs. */
  readonly low: number;
  readonly high: number;
  readonly pairs: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)]!;
}

/** The monotonic clock of the machine, the same in every process. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

export function ratioOf(ratios: readonly number[]): Ratio {
  const round = (value: number) => Math.round(value * 100) / 100;
  return {
    median: round(median(ratios)),
    low: round(Math.min(...ratios)),
    high: round(Math.max(...ratios)),
    pairs: ratios.length,
  };
}

/** Runs both sides `pairs` times in turn, alternating which is first, and returns the rate of each. */
export async function interleave(
  pairs: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<{ ours: number[]; theirs: number[]; ratio: Ratio }> {
  const mine: number[] = [];
  const other: number[] = [];
  for (let i = 0; i < pairs; i++) {
    if (i % 2 === 0) {
      mine.push(await ours());
      other.push(await theirs());
    } else {
      other.push(await theirs());
      mine.push(await ours());
    }
  }
  return { ours: mine, theirs: other, ratio: ratioOf(mine.map((rate, i) => rate / other[i]!)) };
}

/** How many times per second `work` happened, given how often it was done. */
export async function rate(work: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  const done = await work();
  return (done * 1000) / (performance.now() - startedAt);
}
