// Circuit breakers, computed from how runs have ended.

import { isEnded } from "../../../kernel/run/run-state.js";
import {
  type BreakerQuestion,
  type BreakerRecord,
  type BreakerStore,
  PROBE_GRACE_MS,
  type ProbeRequest,
} from "../../contract/limit/breakers.js";
import { toUs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { RunRow } from "../table/rows.js";
import { runsInState, type Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";

export function memoryBreakers(tables: Tables): BreakerStore {
  return {
    read: async (questions) => questions.map((question) => readBreaker(tables, question)),
    takeProbe: async (request, { tx } = {}) => takeProbe(tablesSeenBy(tables, tx), request),
    isProbe: async (runId) => [...tables.probes.values()].some((probe) => probe.runId === runId),
  };
}

export function takeProbe(tables: Pick<Tables, "probes" | "nowUs">, request: ProbeRequest): boolean {
  const { env, program, opening, probe, runId } = request;
  const at = joinKey(env, program, opening, String(probe));
  const { probes } = tables;
  if (!probes.has(at)) probes.set(at, { env, program, opening, n: probe, runId, atUs: tables.nowUs() });
  return probes.get(at)?.runId === runId;
}

type Ended = RunRow & { endedAtUs: number };

function readBreaker(tables: Tables, question: BreakerQuestion): BreakerRecord {
  const { env, program, threshold, halfOpenMs } = question;
  const ended = (states: readonly ("completed" | "failed" | "dead")[]) =>
    states
      .flatMap((state) => runsInState(tables, state))
      .filter((row): row is Ended => row.group.env === env && row.group.program === program)
      .filter((row) => row.archivedAtUs === null);
  const goodUs = Math.max(Number.NEGATIVE_INFINITY, ...ended(["completed"]).map(({ endedAtUs }) => endedAtUs));
  const bad = ended(["failed", "dead"])
    .filter(({ endedAtUs }) => endedAtUs > goodUs)
    .sort((a, b) => b.endedAtUs - a.endedAtUs || compareText(b.id, a.id))
    .slice(0, threshold);
  const failures = bad.length;
  if (failures < threshold) return { state: "closed", failures, opening: null, probe: null };
  const { id, generation, endedAtUs } = bad[0]!;
  const opening = `${id}:${generation}`;
  if (endedAtUs + toUs(halfOpenMs) > tables.nowUs()) return { state: "open", failures, opening, probe: null };
  return { state: "half-open", failures, opening, probe: nextProbe(tables, question, opening) };
}

/** The number of the next probe; null while the last one may still be running. */
function nextProbe(tables: Tables, { env, program }: BreakerQuestion, opening: string): number | null {
  const tries = [...tables.probes.values()].filter(
    (probe) => probe.env === env && probe.program === program && probe.opening === opening,
  );
  const last = tries.sort((a, b) => b.n - a.n)[0];
  if (!last) return 1;
  const run = tables.runs.get(last.runId);
  const over = run ? isEnded(run.state) : last.atUs <= tables.nowUs() - toUs(PROBE_GRACE_MS);
  return over ? last.n + 1 : null;
}
