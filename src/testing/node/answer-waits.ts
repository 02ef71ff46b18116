// Answers what parked runs wait for, as the stubs of a test say.

import type { Stubs } from "./stubs.js";
import type { TestBed } from "./test-bed.js";

/** Once for each time that a run parks; `answered` remembers at which sequence. True: something was answered. */
export async function answerWaits(
  { tables, parked, client }: Pick<TestBed, "tables" | "parked" | "client">,
  stubs: Stubs,
  answered: Map<string, number>,
): Promise<boolean> {
  if (!stubs.answers) return false;
  for (const row of tables.byState.get("parked") ?? []) {
    if (answered.get(row.id) === row.seq) continue;
    answered.set(row.id, row.seq);
    const run = client.run(row.id);
    let isAnswered = false;
    for (const call of parked.of(row)) {
      const answer = stubs.answerTo(call);
      if (answer?.to === "approval") await run.decide(call.name, answer.decision);
      if (answer?.to === "signal") await run.signal({ name: call.name }, answer.payload);
      isAnswered ||= answer !== null;
    }
    if (isAnswered) return true;
  }
  return false;
}
