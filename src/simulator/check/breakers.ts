// Checks circuit breakers: their state follows from the ends of the program's runs, and one run probes at a time.

import { isEnded } from "../../kernel/run/run-state.js";
import { type BreakerQuestion, PROBE_GRACE_MS, type ProbeRequest } from "../../store/contract/limit/breakers.js";
import type { Of } from "../applied.js";
import type { History } from "./history.js";

export function checkBreakers(history: History, { args: [questions], answer: answers }: Of<"breakers.read">): void {
  for (const [i, question] of questions.entries()) {
    const { state, probe } = answers[i]!;
    const expected = stateOf(history, question);
    const told = `${state} ${probe}`;
    if (told !== expected)
      history.broken("breaker", null, `${question.program} is reported ${told}, but is ${expected}`);
  }
}

function stateOf(history: History, { env, program, threshold, halfOpenMs }: BreakerQuestion): string {
  const ends = [...history.runs.values()]
    .filter((run) => run.env === env && run.program === program && ["completed", "failed", "dead"].includes(run.state))
    .map(({ id, state, generation, journal }) => ({ id, state, generation, atUs: journal.at(-1)!.atUs }));
  const good = Math.max(...ends.map(({ state, atUs }) => (state === "completed" ? atUs : Number.NEGATIVE_INFINITY)));
  const bad = ends.filter(({ state, atUs }) => state !== "completed" && atUs > good);
  if (bad.length < threshold) return "closed null";
  const last = bad.reduce((a, b) => (b.atUs > a.atUs || (b.atUs === a.atUs && b.id > a.id) ? b : a));
  if (last.atUs + halfOpenMs * 1000 > history.nowUs) return "open null";
  const tries = history.probes.get(`${last.id}:${last.generation}`);
  return `half-open ${isTrying(history, tries) ? null : (tries?.size ?? 0) + 1}`;
}

function isTrying(
  history: History,
  tries: History["probes"] extends Map<string, infer T> ? T | undefined : never,
): boolean {
  const probe = tries?.get(tries.size);
  if (!probe) return false;
  const run = history.runs.get(probe.runId);
  return run ? !isEnded(run.state) : probe.atUs > history.nowUs - PROBE_GRACE_MS * 1000;
}

/** One run per try, and no try while the one before may still be under way. */
export function checkProbe(history: History, request: ProbeRequest, taken: boolean): void {
  const { opening, probe, runId } = request;
  const tries = history.probes.get(opening) ?? new Map();
  const holder = tries.get(probe);
  if (taken === (holder === undefined || holder.runId === runId)) {
    if (taken && !holder) history.probes.set(opening, new Map(tries).set(probe, { runId, atUs: history.nowUs }));
    return;
  }
  history.broken(
    "breaker",
    runId,
    `try ${probe} of ${opening} ${taken ? "taken" : "refused"}, its holder is ${holder?.runId}`,
  );
}
