// Judges a simulated history by the one without faults.

import type { SimulatedHistory } from "./scenario.js";

/**
 * `doubled`: an effect happened more often than without faults. `missing`: less often, although the run completed. `result`:
 * another end. `replay`: the code asks for other things than its journal has. `leaked`: work after an abort. `key`: one
 * idempotency key for different requests. `stuck`: it does not end. `engine`: Holdfast itself broke.
 */
export type ViolationKind = "doubled" | "missing" | "result" | "replay" | "leaked" | "key" | "stuck" | "engine";

/** Something that went wrong. */
export interface Finding {
  /** What kind of violation it is. */
  readonly kind: ViolationKind;
  /** What happened, in a sentence. */
  readonly message: string;
}

export function findingsOf(calm: SimulatedHistory, history: SimulatedHistory): readonly Finding[] {
  const own = ownFindings(history);
  if (history.stuck !== null) return own;
  const found: Finding[] = [...own, ...effectFindings(calm, history)];
  if (history.outcome !== calm.outcome && !own.some(({ kind }) => kind === "replay")) {
    found.push({ kind: "result", message: `ended as ${history.outcome}, without faults as ${calm.outcome}` });
  }
  return found;
}

/** What is wrong with a history whatever the others are. */
export function ownFindings({ stuck, troubles, leaks, ledger }: SimulatedHistory): readonly Finding[] {
  return [
    ...(stuck === null ? [] : [{ kind: "stuck" as const, message: stuck }]),
    ...troubles.map(({ kind, text }) => ({ kind, message: text })),
    ...leaks.map((what) => ({ kind: "leaked" as const, message: `effect ${what} after its signal was aborted` })),
    ...ledger.conflicts.map(({ name, key }) => {
      return { kind: "key" as const, message: `effect ${name} was asked for with key ${key} and another detail` };
    }),
  ];
}

function effectFindings(calm: SimulatedHistory, { ledger, outcome }: SimulatedHistory): readonly Finding[] {
  const expected = calm.ledger.counts();
  const counts = ledger.counts();
  const requests = new Set([...expected.keys(), ...counts.keys()]);
  return [...requests].flatMap((request): Finding[] => {
    const [should, is] = [expected.get(request) ?? 0, counts.get(request) ?? 0];
    const times = `happened ${timesOf(is)}, without faults ${timesOf(should)}`;
    if (is > should) return [{ kind: "doubled", message: `effect ${request} ${times}; pass an idempotency key` }];
    return is < should && outcome === calm.outcome ? [{ kind: "missing", message: `effect ${request} ${times}` }] : [];
  });
}

function timesOf(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
