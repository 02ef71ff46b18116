// Limits: a run is held until it is admitted, never more are admitted than allowed, and no slot is lost (S14, S15).

import type { NewLimit } from "../../../kernel/run/new-run.js";
import { cases } from "../case.js";
import { holds, matches, refused, rejects, same } from "../expect.js";
import { complete, fail, handBack, PAST_MS, park, retry, type Scene, SHORT_MS } from "../scene.js";

const slots = (max: number, key = "slots work"): NewLimit => ({ kind: "slots", key, max });
const serial = (value: string): NewLimit => ({ kind: "serial", key: `serial work ${value}`, max: 1 });
const rate = (max: number, perMs: number): NewLimit => ({ kind: "rate", key: "rate work", max, perMs });

async function insertAll(s: Scene, count: number, ...limits: NewLimit[]): Promise<string[]> {
  const runs = Array.from({ length: count }, () => s.newRun({ limits }));
  await s.store.runs.insert(runs);
  await s.advance(1);
  return runs.map(({ id }) => id);
}

const states = (s: Scene, ids: readonly string[]) => Promise.all(ids.map(async (id) => (await s.run(id)).state));

/** Looks at all lines, also those that other cases left behind. */
async function admitAll(s: Scene): Promise<void> {
  for (let rounds = 0; rounds < 3; rounds++) await s.store.runs.admit({ env: s.env, keys: 1000 });
}

export const limitCases = cases("limits", {
  "no more than the limit are admitted, in turn (S15)": async (s) => {
    const ids = await insertAll(s, 4, slots(2));
    same(await states(s, ids), ["waiting", "waiting", "held", "held"], "states");
    const [first, second, ...more] = await s.claim();
    same([first?.runId, second?.runId, more.length], [ids[0], ids[1], 0], "claims");
    holds(first!.limited, "a claim says that its run is limited");
    same(await s.store.runs.admit({ runIds: ids }), 0, "admitted while full");
    await s.accept(first!, [complete]);
    same(await states(s, ids), ["completed", "running", "held", "held"], "before any admission");
    same(await s.store.runs.admit({ runIds: [ids[0]!] }), 1, "admitted");
    same(await s.store.runs.admit({ runIds: [ids[0]!] }), 0, "asked again");
    matches(await s.claimOne(), { runId: ids[2]! }, "the next in line");
  },

  "each is judged by its own limit, and the first that must wait stops the line": async (s) => {
    const inLine = [3, 1, 3].map((max) => s.newRun({ limits: [slots(max)] }));
    await s.store.runs.insert(inLine);
    const ids = inLine.map(({ id }) => id);
    same(await states(s, ids), ["waiting", "held", "held"], "a smaller limit in the middle");
    await s.accept(await s.claimOne(), [complete]);
    same(await s.store.runs.admit({ runIds: ids }), 1, "admitted");
    await s.advance(1);
    same(await states(s, ids), ["completed", "waiting", "held"], "its turn has come");
    same(await s.store.runs.admit({ runIds: ids }), 1, "the larger limit behind it");
  },

  "a run without limits does not wait in line": async (s) => {
    await insertAll(s, 2, slots(1));
    const free = await s.insert();
    same((await s.run(free.id)).state, "waiting", "state");
    same(await s.store.runs.admit({ runIds: [free.id] }), 0, "admitted");
    const [claim] = (await s.claim()).filter(({ runId }) => runId === free.id);
    same(claim?.limited, false, "limited");
  },

  "keys and envs have limits of their own": async (s) => {
    const [a] = await insertAll(s, 1, slots(1, "slots work a"));
    const [b] = await insertAll(s, 1, slots(1, "slots work b"));
    const other = s.newRun({ limits: [slots(1, "slots work a")], group: { env: `${s.env}-x` } });
    await s.store.runs.insert([other]);
    same(await states(s, [a!, b!, other.id]), ["waiting", "waiting", "waiting"], "states");
  },

  "narrow limits are passed before wide ones: one customer's line is not the queue's": async (s) => {
    const mine = (customer: string) => [slots(1, `slots work ${customer}`), slots(2, "slots work all")];
    const a = await insertAll(s, 3, ...mine("a"));
    const [b] = await insertAll(s, 1, ...mine("b"));
    const [c] = await insertAll(s, 1, ...mine("c"));
    same(await states(s, [...a, b!, c!]), ["waiting", "held", "held", "waiting", "held"], "states");
    const first = (await s.claim()).find(({ runId }) => runId === a[0])!;
    await s.accept(first, [complete]);
    // The queue's slot goes to the first in the queue's line: the other customer, which arrived there first.
    same(await s.store.runs.admit({ runIds: [a[0]!] }), 1, "admitted");
    same(await states(s, [...a, b!, c!]), ["completed", "held", "held", "running", "waiting"], "states");
  },

  "a parked run keeps no slot, and waits in line again when it wakes (S15)": async (s) => {
    const [first, second] = (await insertAll(s, 2, slots(1))) as [string, string];
    const claim = await s.claimOne();
    await s.accept(claim, [park({ wakeInMs: SHORT_MS })]);
    same(await s.store.runs.admit({ runIds: [first] }), 1, "admitted");
    const next = await s.claimOne();
    same(next.runId, second, "who got the slot");
    await s.advance(PAST_MS);
    await s.wakeLeftovers();
    same(await states(s, [first, second]), ["held", "running"], "woken while full");
    await s.accept(next, [complete]);
    same(await s.store.runs.admit({ runIds: [second] }), 1, "admitted");
    matches(await s.claimOne(), { runId: first }, "the woken one");
  },

  "a wake-up puts a run into the line, and past it when there is room": async (s) => {
    const [first, second] = (await insertAll(s, 2, slots(1))) as [string, string];
    await s.accept(await s.claimOne(), [park()]);
    await s.store.runs.admit({ runIds: [first] });
    await s.store.inbox.send([s.message(first)]);
    same(await states(s, [first, second]), ["held", "waiting"], "states");
    const third = await s.start(
      { limits: [slots(1, "slots another")], group: { queue: "another" } },
      {
        groupIds: await s.store.runs.groupIds([s.group({ queue: "another" })]),
      },
    );
    await s.accept(third, [park()]);
    await s.store.inbox.send([s.message(third.runId)]);
    same((await s.run(third.runId)).state, "waiting", "woken while there is room");
  },

  "a run that parks over new mail keeps its slot": async (s) => {
    const [first] = (await insertAll(s, 2, slots(1))) as [string];
    const claim = await s.claimOne();
    await s.store.inbox.send([s.message(first)]);
    await s.accept(claim, [park()]);
    same((await s.run(first)).state, "waiting", "state");
    same(await s.store.runs.admit({ runIds: [first] }), 0, "admitted");
  },

  "a run that backs off keeps no slot, and is admitted only when it is due (S15)": async (s) => {
    const [first, second] = (await insertAll(s, 2, slots(1))) as [string, string];
    await s.accept(await s.claimOne(), [retry(PAST_MS)]);
    same(await states(s, [first, second]), ["held", "held"], "states");
    await s.store.runs.admit({ runIds: [first] });
    const next = await s.claimOne();
    same(next.runId, second, "who got the slot");
    await s.accept(next, [complete]);
    same(await s.store.runs.admit({ runIds: [second] }), 0, "admitted before it is due");
    await s.advance(PAST_MS + 1);
    same(await s.store.runs.admit({ runIds: [second] }), 1, "admitted when due");
    matches(await s.claimOne(), { runId: first, failures: 1 }, "claim");
  },

  "handing back and a lost lease keep the slot": async (s) => {
    const [first, second] = (await insertAll(s, 2, slots(1))) as [string, string];
    await s.accept(await s.claimOne(), [handBack]);
    same(await s.store.runs.admit({ runIds: [first] }), 0, "admitted after handing back");
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    same(await s.store.runs.admit({ runIds: [first] }), 0, "admitted after the sweep");
    same(await states(s, [first, second]), ["waiting", "held"], "states");
  },

  "a dead, failed or cancelled run gives its place up": async (s) => {
    const limits = [slots(1)];
    const dies = await s.insert({ limits, crashLimit: 1 });
    await s.claimOne({ leaseMs: SHORT_MS });
    const [fails, waits, last] = (await insertAll(s, 3, ...limits)) as [string, string, string];
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    same(await s.store.runs.admit({ runIds: [dies.id] }), 1, "after the death");
    await s.accept(await s.claimOne(), [fail()]);
    same(await s.store.runs.admit({ runIds: [fails] }), 1, "after the failure");
    await s.store.runs.cancel(waits, { by: "ann" });
    same(await states(s, [dies.id, fails, waits, last]), ["dead", "failed", "cancelled", "waiting"], "after a cancel");
  },

  "a held run can be cancelled, and leaves its line": async (s) => {
    const [first, second, third] = (await insertAll(s, 3, slots(1))) as [string, string, string];
    same(await s.store.runs.cancel(second, { by: "ann" }), { outcome: "cancelled" }, "answer");
    await s.accept(await s.claimOne(), [complete]);
    await s.store.runs.admit({ runIds: [first] });
    same(await states(s, [second, third]), ["cancelled", "waiting"], "states");
  },

  "serial: one at a time in order of acceptance, until it has ended (S14)": async (s) => {
    const [first, second, third] = (await insertAll(s, 2, serial("c1"))).concat(
      (await insertAll(s, 1, serial("c2")))[0]!,
    ) as [string, string, string];
    const urgent = await s.insert({ limits: [serial("c1")], priority: -5 });
    same(await states(s, [first, second, third, urgent.id]), ["waiting", "held", "waiting", "held"], "states");
    const claim = (await s.claim()).find(({ runId }) => runId === first)!;
    await s.accept(claim, [park({ wakeInMs: SHORT_MS })]);
    same(await s.store.runs.admit({ runIds: [first] }), 0, "admitted while it sleeps");
    await s.advance(PAST_MS);
    await s.wakeLeftovers();
    same((await s.run(first)).state, "waiting", "it wakes without a line");
    const again = await s.claimOne();
    await s.accept(again, [retry(0)]);
    await s.advance(1);
    same(await s.store.runs.admit({ runIds: [first] }), 0, "admitted while it backs off");
    await s.accept(await s.claimOne(), [complete]);
    same(await s.store.runs.admit({ runIds: [first] }), 1, "admitted when it has ended");
    same(await states(s, [second, urgent.id]), ["waiting", "held"], "the older one goes first, whatever its priority");
  },

  "in other lines priority goes first": async (s) => {
    const [first] = (await insertAll(s, 2, slots(1))) as [string];
    const urgent = await s.insert({ limits: [slots(1)], priority: -5 });
    await s.accept(await s.claimOne(), [complete]);
    await s.store.runs.admit({ runIds: [first] });
    matches(await s.claimOne(), { runId: urgent.id }, "who goes next");
  },

  "a rate spaces starts evenly, and only so far ahead that priority still counts": async (s) => {
    const ids = await insertAll(s, 5, rate(1, 1000));
    const runs = await Promise.all(ids.map((id) => s.run(id)));
    same(
      runs.map(({ state }) => state),
      ["waiting", "waiting", "waiting", "held", "held"],
      "states",
    );
    const [a, b, c] = runs.map(({ availableAt }) => availableAt) as [number, number, number];
    same([b - a, c - b], [1000, 1000], "between starts");
    const urgent = await s.insert({ limits: [rate(1, 1000)], priority: -1 });
    await s.advance(1000);
    await admitAll(s);
    same(await states(s, [ids[3]!, urgent.id]), ["held", "waiting"], "who starts next");
    holds((await s.run(urgent.id)).availableAt - c === 1000, "the next start");
  },

  "a rate counts starts, not wake-ups": async (s) => {
    const { id } = await s.insert({ limits: [rate(1, 600_000)] });
    await s.accept(await s.claimOne(), [park({ wakeInMs: SHORT_MS })]);
    await s.advance(PAST_MS);
    await s.wakeLeftovers();
    same((await s.run(id)).state, "waiting", "state");
  },

  "a rate that was not used saves nothing up": async (s) => {
    await insertAll(s, 1, rate(10, 1000));
    await s.advance(5000);
    const ids = await insertAll(s, 3, rate(10, 1000));
    const at = await Promise.all(ids.map(async (id) => (await s.run(id)).availableAt));
    same([at[1]! - at[0]!, at[2]! - at[1]!], [100, 100], "between starts");
  },

  "a delayed run takes no place before its time": async (s) => {
    const late = await s.insert({ limits: [slots(1)], delayMs: PAST_MS });
    const [now] = (await insertAll(s, 1, slots(1))) as [string];
    same(await states(s, [late.id, now]), ["held", "waiting"], "states");
    await s.accept(await s.claimOne(), [complete]);
    await s.advance(PAST_MS);
    await admitAll(s);
    matches(await s.claimOne(), { runId: late.id }, "claim");
  },

  "a child has limits as well": async (s) => {
    const parent = await s.start();
    const children = [1, 2].map(() => {
      const {
        key: _,
        parentId: __,
        ...run
      } = s.newRun({ limits: [slots(1, "slots child")], group: { queue: "child" } });
      return run;
    });
    await s.accept(
      parent,
      children.map((run) => ({ kind: "enqueue", name: "child", run })),
    );
    const ids = children.map(({ id }) => id);
    same(await states(s, ids), ["held", "held"], "states");
    await s.advance(1);
    same(await s.store.runs.admit({ runIds: ids }), 1, "admitted");
    same(await states(s, ids), ["waiting", "held"], "states");
  },

  "in a caller's transaction a limited run is held, and found by the next admission": async (s) => {
    const run = s.newRun({ limits: [slots(1)] });
    await s.transaction("commit", (tx) => s.store.runs.insert([run], { tx }));
    same((await s.run(run.id)).state, "held", "state");
    await s.advance(1);
    await admitAll(s);
    same((await s.run(run.id)).state, "waiting", "state");
    const gone = s.newRun({ limits: [slots(1)] });
    await s.transaction("rollback", (tx) => s.store.runs.insert([gone], { tx }));
    same(await s.store.runs.admit({ runIds: [gone.id] }), 0, "admitted after a rollback");
  },

  "inserting the same run again gives it no second place": async (s) => {
    const run = s.newRun({ limits: [slots(2)], key: s.newKey() });
    const again = { ...run, limits: [slots(2), slots(5, "slots work more")] };
    for (const one of [run, run, again]) {
      same(await s.store.runs.insert([one]), [{ outcome: "inserted", runId: run.id }], "answer");
    }
    const [other] = await insertAll(s, 1, slots(2));
    same(await states(s, [run.id, other!]), ["waiting", "waiting"], "states");
    const taken = s.newRun({ limits: [slots(2)], key: s.newKey() });
    same(await s.store.runs.insert([taken]), [{ outcome: "existing", runId: run.id }], "its key is taken");
    const [third] = await insertAll(s, 1, slots(3));
    same((await s.run(third!)).state, "waiting", "judged by its own limit");
    await s.accept((await s.claim()).find(({ runId }) => runId === run.id)!, [handBack]);
    same((await s.run(run.id)).state, "waiting", "no limit was added to it");
  },

  "pruned runs leave nothing in line": async (s) => {
    await insertAll(s, 1, slots(1), rate(1, 10));
    await s.accept(await s.claimOne(), [complete]);
    await s.advance(PAST_MS);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 1, "pruned");
    const [next] = await insertAll(s, 1, slots(1), rate(1, 10));
    same((await s.run(next!)).state, "waiting", "state");
  },

  "housekeeping returns when a run in line is due": async (s) => {
    await admitAll(s);
    const round = s.witness();
    const late = await s.insert({ limits: [slots(1)], delayMs: SHORT_MS });
    const { nextWakeMs } = await s.store.housekeep(round);
    holds(nextWakeMs !== null && nextWakeMs <= SHORT_MS, "the next deadline is known");
    await s.advance(PAST_MS);
    same((await s.store.housekeep(round)).held, true, "held");
    await admitAll(s);
    matches(await s.claimOne(), { runId: late.id }, "claim");
  },

  "limits that cannot be kept are refused before anything is written": async (s) => {
    const bad: unknown[] = [
      [{ kind: "slots", key: "k", max: 0 }],
      [{ kind: "slots", key: "", max: 1 }],
      [{ kind: "slots", key: "k".repeat(513), max: 1 }],
      [{ kind: "other", key: "k", max: 1 }],
      [{ kind: "serial", key: "k", max: 2 }],
      [{ kind: "rate", key: "k", max: 2 }],
      [{ kind: "rate", key: "k", max: 2, perMs: 0 }],
      [slots(1), slots(1)],
      Array.from({ length: 9 }, (_, i) => slots(1, `k${i}`)),
      "slots",
      [null],
    ];
    for (const limits of bad) {
      const run = s.newRun({ limits: limits as NewLimit[] });
      const [answer] = await s.store.runs.insert([run]);
      refused(answer!, JSON.stringify(limits).slice(0, 80));
      same(await s.store.runs.get(run.id), null, "the run");
    }
    await rejects(s.store.runs.admit({ runIds: ["x"] }), "a bad id");
    await rejects(s.store.runs.admit({ env: s.env, keys: 0.5 }), "half a key");
    same(await s.store.runs.admit({ env: s.env, keys: 0 }), 0, "no keys");
    same(await s.store.runs.admit({ runIds: [s.id()] }), 0, "an unknown run");
  },
});
