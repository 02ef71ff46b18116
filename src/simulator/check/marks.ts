// Checks transaction steps: what one inserted exists exactly when its result is recorded, and once (S6).

import { codecs } from "../../kernel/codec/codecs.js";
import type { EffectLog } from "../effect-log.js";
import type { History } from "./history.js";

/** Each transaction inserted a run of the program `mark` with its idempotency key as input. */
export function checkMarks(history: History, effects: EffectLog): void {
  const { decode } = codecs();
  const runs = history.everyRun.filter(({ program }) => program === "script" || program === "mark");
  const marks = new Map<string, number>();
  for (const { program, journal } of runs) {
    if (program !== "mark") continue;
    const key = decode(journal[0]!.payload!) as string;
    marks.set(key, (marks.get(key) ?? 0) + 1);
  }
  const recorded = new Map<string, number>();
  const answers = new Map(effects.records.map((record) => [record.result, record.idempotencyKey]));
  for (const run of runs) {
    for (const { kind, payload } of run.journal) {
      if (kind !== "transaction") continue;
      const key = answers.get(decode(payload!) as string) ?? "?";
      recorded.set(key, (recorded.get(key) ?? 0) + 1);
    }
  }
  for (const key of new Set([...marks.keys(), ...recorded.keys()])) {
    const [there, said] = [marks.get(key) ?? 0, recorded.get(key) ?? 0];
    const runId = key.split(":")[0]!;
    if (there !== said || said > 1) history.broken("S6", runId, `${key}: ${there} inserted, ${said} recorded`);
  }
}
