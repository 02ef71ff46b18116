// Overflow: of runs without a free slot, those that may not wait are skipped; a run that ever began never is.

import { omit } from "../../../kernel/omit.js";
import type { NewLimit, Overflow } from "../../../kernel/run/new-run.js";
import { cases } from "../case.js";
import { matches, refused, same } from "../expect.js";
import { complete, handBack, PAST_MS, park, type Scene, SHORT_MS } from "../scene.js";

const slots = (max: number, overflow: Overflow): NewLimit => ({ kind: "slots", key: "slots few", max, overflow });

/** One after the other, a moment apart. */
async function insertEach(s: Scene, count: number, ...limits: NewLimit[]): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    ids.push((await s.insert({ limits })).id);
    await s.advance(1);
  }
  return ids;
}

const states = (s: Scene, ids: readonly string[]) => Promise.all(ids.map(async (id) => (await s.run(id)).state));

export const overflowCases = cases("overflow", {
  "drop: who finds no place is skipped, and its journal says why": async (s) => {
    const ids = await insertEach(s, 4, slots(2, "drop"));
    same(await states(s, ids), ["waiting", "waiting", "skipped", "skipped"], "states");
    const log = await s.store.journal.read(ids[2]!);
    matches(log!.entries.at(-1)!, { kind: "skipped", seq: 2, epoch: 0 }, "the last entry");
    matches(JSON.parse(log!.entries.at(-1)!.payload!.data), { code: "OVERFLOW", details: { policy: "drop" } }, "why");
    await s.accept((await s.claim())[0]!, [complete]);
    const [next] = await insertEach(s, 1, slots(2, "drop"));
    same((await s.run(next!)).state, "waiting", "there is room again");
  },

  "drop: of runs that arrive together, as many as there are slots are admitted": async (s) => {
    const runs = Array.from({ length: 5 }, () => s.newRun({ limits: [slots(2, "drop")] }));
    await s.store.runs.insert(runs);
    const ids = runs.map(({ id }) => id);
    same(await states(s, ids), ["waiting", "waiting", "skipped", "skipped", "skipped"], "states");
  },

  "shed-oldest: as many wait as may be at work; beyond that the oldest is skipped": async (s) => {
    const ids = await insertEach(s, 6, slots(2, "shed-oldest"));
    same(await states(s, ids), ["waiting", "waiting", "skipped", "skipped", "held", "held"], "states");
    await s.accept((await s.claim())[0]!, [complete]);
    same(await s.store.runs.admit({ runIds: [ids[0]!] }), 1, "admitted");
    same(await states(s, ids.slice(4)), ["waiting", "held"], "the older of those left goes first");
  },

  "what was begun is never skipped: recovered, handed back, woken, it waits for its place": async (s) => {
    for (const overflow of ["drop", "shed-oldest"] as const) {
      const key = `slots ${overflow}`;
      const limits = [{ ...slots(1, overflow), key }];
      const parked = await s.start({ limits });
      await s.accept(parked, [park({ wakeInMs: SHORT_MS })]);
      await s.store.runs.admit({ runIds: [parked.runId] });
      const lost = await s.insert({ limits });
      await s.claimOne({ leaseMs: SHORT_MS });
      await s.advance(PAST_MS);
      await s.wakeLeftovers();
      await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
      await s.store.runs.admit({ runIds: [parked.runId, lost.id] });
      same(await states(s, [parked.runId, lost.id]), ["held", "waiting"], `${overflow}: woken and recovered`);
      await s.accept(await s.claimOne(), [handBack]);
      const late = await s.insert({ limits });
      same((await s.run(lost.id)).state, "waiting", `${overflow}: handed back`);
      same((await s.run(parked.runId)).state, "held", `${overflow}: woken`);
      await s.advance(1);
      same((await s.run(late.id)).state, overflow === "drop" ? "skipped" : "held", `${overflow}: a new one`);
      await s.accept(await s.claimOne(), [complete]);
      await s.store.runs.admit({ runIds: [lost.id] });
      matches(await s.claimOne(), { runId: parked.runId }, `${overflow}: the woken one's turn`);
    }
  },

  "a run that is not due yet is not skipped": async (s) => {
    await insertEach(s, 1, slots(1, "drop"));
    const late = await s.insert({ limits: [slots(1, "drop")], delayMs: PAST_MS });
    same((await s.run(late.id)).state, "held", "before its time");
    await s.advance(PAST_MS);
    await s.store.runs.admit({ runIds: [late.id] });
    same((await s.run(late.id)).state, "skipped", "when it is due and finds no place");
  },

  "a skipped run gives up its slots of other limits, and notifies its parent": async (s) => {
    const serial: NewLimit = { kind: "serial", key: "serial work ann", max: 1 };
    await insertEach(s, 1, slots(1, "drop"));
    const parent = await s.start(
      { group: { queue: "parents" } },
      { groupIds: await s.store.runs.groupIds([s.group({ queue: "parents" })]) },
    );
    const child = omit(s.newRun({ limits: [serial, slots(1, "drop")] }), "key", "parentId");
    await s.accept(parent, [{ kind: "enqueue", name: "child", run: child }]);
    await s.advance(1);
    same(await s.store.runs.admit({ runIds: [child.id] }), 0, "admitted");
    same((await s.run(child.id)).state, "skipped", "the child");
    matches(
      (await s.store.inbox.unread(parent.runId))[0]!,
      { key: `child:${child.id}`, name: "skipped" },
      "its parent",
    );
    const [next] = await insertEach(s, 1, serial);
    same((await s.run(next!)).state, "waiting", "the serial place is free");
  },

  "in a caller's transaction nothing is skipped before the next admission": async (s) => {
    await insertEach(s, 1, slots(1, "drop"));
    const run = s.newRun({ limits: [slots(1, "drop")] });
    await s.transaction("commit", (tx) => s.store.runs.insert([run], { tx }));
    same((await s.run(run.id)).state, "held", "state");
    await s.advance(1);
    for (let rounds = 0; rounds < 3; rounds++) await s.store.runs.admit({ env: s.env, keys: 1000 });
    same((await s.run(run.id)).state, "skipped", "after a look at the lines");
  },

  "a policy is known, and only slots have one": async (s) => {
    const bad: unknown[] = [
      { ...slots(1, "drop"), overflow: "explode" },
      { kind: "serial", key: "k", max: 1, overflow: "drop" },
      { kind: "rate", key: "k", max: 1, perMs: 10, overflow: "drop" },
    ];
    for (const limit of bad) {
      const [answer] = await s.store.runs.insert([s.newRun({ limits: [limit as NewLimit] })]);
      refused(answer!, JSON.stringify(limit));
    }
  },
});
