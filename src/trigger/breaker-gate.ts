// Whether a trigger may start a run now: the program's circuit breaker says so. Schedules may ask it, too.

import type { BreakerRule } from "../kernel/breaker-rule.js";
import type { BreakerRecord } from "../store/contract/breakers.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";

/** A run that a trigger is about to insert. */
export interface Guarded {
  readonly env: string;
  readonly program: string;
  readonly runId: string;
  readonly breaker: BreakerRule | null;
}

/** `tries`: the breaker is half-open, and this is the one run that may. */
export type Verdict = "passes" | "tries" | "rejected";

export async function judge(
  { breakers }: Store,
  runs: readonly Guarded[],
  options: { readonly tx?: Transaction } = {},
): Promise<readonly Verdict[]> {
  const rules = new Map(
    runs.flatMap(({ env, program, breaker }) => (breaker ? [[program, { env, program, ...breaker }]] : [])),
  );
  if (rules.size === 0) return runs.map(() => "passes");
  const found = await breakers.read([...rules.values()], options);
  const records = new Map([...rules.keys()].map((program, i) => [program, found[i]!]));
  const verdicts: Verdict[] = [];
  for (const run of runs) {
    const record = records.get(run.program);
    const verdict = !run.breaker || !record ? "passes" : await judgeOne(breakers, run, record, options);
    verdicts.push(verdict);
    // Nobody else of this call: one tries.
    if (record?.state === "half-open") records.set(run.program, { ...record, probe: null });
  }
  return verdicts;
}

async function judgeOne(
  breakers: Store["breakers"],
  { env, program, runId }: Guarded,
  { state, opening, probe }: BreakerRecord,
  options: { readonly tx?: Transaction },
): Promise<Verdict> {
  if (state === "closed") return "passes";
  if (opening === null || probe === null) return "rejected";
  return (await breakers.takeProbe({ env, program, opening, probe, runId }, options)) ? "tries" : "rejected";
}
