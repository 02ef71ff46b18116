// Circuit breakers: read from how a program's runs have ended, with one run that may try.

import { type BreakerQuestion, type BreakerRecord, PROBE_GRACE_MS } from "../../../store/contract/limit/breakers.js";
import { cases } from "../case.js";
import { rejects, same, some } from "../expect.js";
import { complete, fail, type Scene } from "../scene.js";

/** Longer than a case takes, and a jump that is longer still. */
const HALF_OPEN_MS = 400;
const LATER_MS = 500;

const question = (s: Scene, more: Partial<BreakerQuestion> = {}): BreakerQuestion => {
  return { env: s.env, program: "work", threshold: 3, halfOpenMs: HALF_OPEN_MS, ...more };
};

async function read(s: Scene, more: Partial<BreakerQuestion> = {}): Promise<BreakerRecord> {
  return some((await s.store.breakers.read([question(s, more)]))[0], "the record");
}

/** A run of each of these ends; answers the last one's id. Each has an instant of its own. */
async function end(s: Scene, ...as: ("completed" | "failed" | "dead" | "cancelled")[]): Promise<string> {
  let last = "";
  for (const one of as) {
    const claim = await s.start();
    await s.accept(claim, [one === "completed" ? complete : fail(one)]);
    await s.advance(1);
    last = claim.runId;
  }
  return last;
}

async function take(s: Scene, runId: string): Promise<boolean> {
  const { opening, probe } = await read(s);
  return s.store.breakers.takeProbe({
    env: s.env,
    program: "work",
    opening: some(opening, "the opening"),
    probe: some(probe, "the try"),
    runId,
  });
}

const CLOSED = { state: "closed", opening: null, probe: null } as const;

export const breakerCases = cases("breakers", {
  "it opens at the threshold of failures in a row, whoever else asks": async (s) => {
    same(await read(s), { ...CLOSED, failures: 0 }, "at first");
    await end(s, "failed", "dead");
    same(await read(s), { ...CLOSED, failures: 2 }, "before the threshold");
    const last = await end(s, "failed");
    same(await read(s), { state: "open", failures: 3, opening: `${last}:0`, probe: null }, "at the threshold");
    same((await read(s, { threshold: 4 })).state, "closed", "under another rule");
    same((await read(s, { program: "other" })).failures, 0, "another program");
    same((await read(s, { env: `${s.env}-x` })).failures, 0, "another env");
  },

  "a success in between closes the row, a cancel says nothing": async (s) => {
    await end(s, "failed", "failed", "completed", "failed", "cancelled", "failed");
    same(await read(s), { ...CLOSED, failures: 2 }, "after a success");
    await end(s, "failed");
    same((await read(s)).state, "open", "one more");
  },

  "when its time is over one may try, and nobody else until that has ended": async (s) => {
    const last = await end(s, "failed", "failed", "failed");
    await s.advance(LATER_MS);
    same(await read(s), { state: "half-open", failures: 3, opening: `${last}:0`, probe: 1 }, "when its time is over");
    const run = s.newRun();
    same(await take(s, run.id), true, "the first");
    same(await s.store.breakers.isProbe(run.id), true, "it is the one");
    const request = { env: s.env, program: "work", opening: `${last}:0`, probe: 1 };
    same(await s.store.breakers.takeProbe({ ...request, runId: run.id }), true, "the same again");
    same(await s.store.breakers.takeProbe({ ...request, runId: s.id() }), false, "another");
    same((await read(s)).probe, null, "before its run is there");
    await s.store.runs.insert([run]);
    same((await read(s)).probe, null, "while it runs");
    await s.accept(await s.claimOne(), [complete]);
    same(await read(s), { ...CLOSED, failures: 0 }, "after its success");
    same(await s.store.breakers.isProbe(s.id()), false, "another run");
  },

  "a try that fails opens it again, for as long": async (s) => {
    await end(s, "failed", "failed", "failed");
    await s.advance(LATER_MS);
    const run = s.newRun();
    same(await take(s, run.id), true, "the first try");
    await s.store.runs.insert([run]);
    await s.accept(await s.claimOne(), [fail()]);
    same(await read(s), { state: "open", failures: 3, opening: `${run.id}:0`, probe: null }, "after its failure");
    await s.advance(LATER_MS);
    same(await take(s, s.id()), true, "the second try");
  },

  "a try that is cancelled says nothing: another may": async (s) => {
    await end(s, "failed", "failed", "failed");
    await s.advance(LATER_MS);
    const run = s.newRun();
    await take(s, run.id);
    await s.store.runs.insert([run]);
    await s.store.runs.cancel(run.id, { by: "me" });
    same((await read(s)).probe, 2, "the next try");
    same(await take(s, s.id()), true, "it");
  },

  "a try in a transaction that is rolled back is none": async (s) => {
    await end(s, "failed", "failed", "failed");
    await s.advance(LATER_MS);
    const { opening, probe } = await read(s);
    const request = { env: s.env, program: "work", opening: opening!, probe: probe!, runId: s.id() };
    const taken = await s.transaction("rollback", (tx) => s.store.breakers.takeProbe(request, { tx }));
    same([taken, (await read(s)).probe], [true, 1], "taken, and open again");
    same(await s.transaction("commit", (tx) => s.store.breakers.takeProbe(request, { tx })), true, "taken");
    same((await read(s)).probe, null, "for good");
  },

  "a run that was opened again counts by its new end": async (s) => {
    const last = await end(s, "failed", "failed", "failed");
    await s.store.runs.retry([last], { by: "me", callId: s.token(), fromStart: false });
    same((await read(s)).state, "closed", "while it is open again");
    await s.accept(await s.claimOne(), [fail()]);
    same((await read(s)).opening, `${last}:1`, "failed again");
  },

  "old tries are forgotten with their runs, and those whose run never came": async (s) => {
    const last = await end(s, "failed", "failed", "failed");
    const request = { env: s.env, program: "work", opening: `${last}:0` };
    const [over, live, never] = [s.newRun(), s.newRun(), s.newRun()];
    for (const [i, { id: runId }] of [over, live, never].entries()) {
      await s.store.breakers.takeProbe({ ...request, probe: i + 1, runId });
    }
    const tries = () => Promise.all([over, live, never].map(({ id }) => s.store.breakers.isProbe(id)));
    await s.store.runs.insert([over, live]);
    await s.store.runs.cancel(over.id, { by: "me" });
    await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 });
    same(await tries(), [true, true, true], "too young");
    await s.advance(PROBE_GRACE_MS);
    await s.store.runs.prune({ env: s.env, endedBeforeMs: 2 * PROBE_GRACE_MS, limit: 10 });
    same(await tries(), [true, true, true], "younger than what is asked for");
    await s.store.runs.prune({ env: `${s.env}-x`, endedBeforeMs: 0, limit: 10 });
    same(await tries(), [true, true, true], "another env");
    await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 });
    same(await tries(), [false, true, false], "what is left");
  },

  "bad questions are refused": async (s) => {
    await rejects(read(s, { threshold: 0 }), "no threshold");
    await rejects(read(s, { program: "a b" }), "a bad name");
    await rejects(
      s.store.breakers.takeProbe({ env: s.env, program: "work", opening: "x", probe: 1, runId: "nobody" }),
      "no run",
    );
  },
});
