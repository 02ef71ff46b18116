// Asks a program's circuit breaker whether a trigger may start a run now.

import type { BreakerRule } from "../kernel/breaker-rule.js";
import type { BreakerRecord, BreakerStore, ProbeRequest } from "../store/contract/limit/breakers.js";
import type { Transaction } from "../store/contract/transaction.js";

/** A run that a trigger is about to insert. */
export interface Guarded {
  readonly env: string;
  readonly program: string;
  readonly runId: string;
  readonly breaker: BreakerRule | null;
}

/** With a probe: the breaker is half-open, and the run may start if it takes this probe. */
export type Verdict =
  | { readonly outcome: "passes" | "rejected"; readonly probe: null }
  | { readonly outcome: "may try"; readonly probe: ProbeRequest };

const PASSES = { outcome: "passes", probe: null } as const;
const REJECTED = { outcome: "rejected", probe: null } as const;

/** Of several runs of a program in one call, only one may probe. */
export async function judge(
  breakers: BreakerStore,
  runs: readonly Guarded[],
  options: { readonly tx?: Transaction } = {},
): Promise<readonly Verdict[]> {
  const rules = new Map(
    runs.flatMap(({ env, program, breaker }) => (breaker ? [[program, { env, program, ...breaker }]] : [])),
  );
  if (rules.size === 0) return runs.map(() => PASSES);
  const found = await breakers.read([...rules.values()], options);
  const records = new Map([...rules.keys()].map((program, i) => [program, found[i]!]));
  return runs.map((run) => {
    const record = records.get(run.program);
    if (!run.breaker || !record) return PASSES;
    records.set(run.program, { ...record, probe: null });
    return judgeOne(run, record);
  });
}

function judgeOne({ env, program, runId }: Guarded, { state, opening, probe }: BreakerRecord): Verdict {
  if (state === "closed") return PASSES;
  if (opening === null || probe === null) return REJECTED;
  return { outcome: "may try", probe: { env, program, opening, probe, runId } };
}
