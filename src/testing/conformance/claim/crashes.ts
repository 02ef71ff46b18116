// Crashes: who counts as dead, which run is blamed, and how crashed runs are handed out (S17, S22).

import type { Recovery } from "../../../kernel/run/recovery.js";
import type { ClaimedRun, Reclaimed } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { append, complete, handBack, LONG_MS, PAST_MS, retry, type Scene, SHORT_MS } from "../scene.js";

/** A node that renews its claims; its incarnation. */
async function node(s: Scene, name = "one"): Promise<string> {
  const incarnation = s.token();
  const who = { incarnation, identity: name, name, env: s.env, stack: null, build: null };
  await s.store.nodes.register({ ...who, heartbeatMs: LONG_MS, leaseMs: LONG_MS });
  return incarnation;
}

/** Reclaims in the whole store, page by page; returns what was reclaimed of these, in their order. */
async function sweep(s: Scene, runIds: readonly string[], limit = 1000): Promise<readonly Reclaimed[]> {
  const swept: Reclaimed[] = [];
  for (let page = [...(await s.store.runs.reclaimExpired({ env: s.env, limit }))]; page.length > 0; ) {
    swept.push(...page);
    page = [...(await s.store.runs.reclaimExpired({ env: s.env, limit }))];
  }
  return runIds.map((id) =>
    some(
      swept.find(({ runId }) => runId === id),
      "the swept run",
    ),
  );
}

/** This owner claims everything and shows no further sign of life. */
async function crash(s: Scene, owner: string, runIds: readonly string[], limit?: number) {
  const claims = await s.claim({ owner, leaseMs: SHORT_MS });
  same(claims.map(({ runId }) => runId).sort(), [...runIds].sort(), "claimed");
  await s.advance(PAST_MS);
  return sweep(s, runIds, limit);
}

/** This owner loses the run and shows a sign of life afterwards. */
async function lose(s: Scene, owner: string, runId: string): Promise<Reclaimed> {
  const [reclaimed] = await crash(s, owner, [runId]);
  await s.advance(5);
  await s.store.nodes.heartbeat(owner);
  return reclaimed!;
}

async function crashedTwice(s: Scene, options: Parameters<Scene["insert"]>[0] = {}): Promise<string> {
  const { id } = await s.insert(options);
  for (const name of ["one", "two"]) await crash(s, await node(s, name), [id]);
  return id;
}

const ids = (claims: readonly ClaimedRun[]) => claims.map(({ runId }) => runId);

export const crashCases = cases("crashes", {
  "a claim that is handed back unused leaves the count as it was": async (s) => {
    const { id } = await s.insert();
    await crash(s, await node(s), [id]);
    await s.accept(await s.claimOne(), [handBack]);
    matches(await s.run(id), { state: "waiting", crashes: 1 }, "handed back");
    await s.accept(await s.claimOne(), [retry(0)], 2);
    matches(await s.run(id), { state: "waiting", crashes: 1 }, "failed");
    await s.advance(1);
    await s.accept(await s.claimOne(), [append("a"), handBack], 3);
    matches(await s.run(id), { state: "waiting", crashes: 0 }, "handed back after progress");
  },

  "after two crashes a run is a suspect, with a limit of two after one": async (s) => {
    const { id } = await s.insert();
    for (const suspect of [false, false, true]) {
      const claim = await s.claimOne({ leaseMs: SHORT_MS });
      matches(claim, { runId: id, suspect }, "claim");
      await s.advance(PAST_MS);
      await sweep(s, [id]);
    }
    const claim = await s.claimOne();
    await s.accept(claim, [append("a"), handBack]);
    matches(await s.claimOne(), { runId: id, suspect: false }, "after progress");
    const short = await s.insert({ crashLimit: 2 });
    await crash(s, s.owner, [short.id]);
    matches(await s.claimOne(), { runId: short.id, suspect: true }, "limit two");
  },

  "a claim grants one suspect at most, or none, or all: as it was asked": async (s) => {
    const crashed = [await s.insert({ priority: 1 }), await s.insert({ priority: 2 })];
    const [first, second] = crashed.map(({ id }) => id);
    for (const name of ["one", "two"]) await crash(s, await node(s, name), [first!, second!]);
    const [before, behind] = [await s.insert({ priority: 0 }), await s.insert({ priority: 3 })];
    const none = await s.claim({ suspects: 0, limit: 1 });
    same(ids(none), [before.id], "none, one run");
    await s.accept(none[0]!, [handBack]);
    const both = await s.claim({ suspects: 0 });
    same(ids(both), [before.id, behind.id], "none");
    for (const claim of both) await s.accept(claim, [handBack], claim.seq);
    const one = await s.claim({ suspects: 1 });
    same(ids(one), [before.id, first, behind.id], "one");
    same(ids(await s.claim({ suspects: 0 })), [], "none is left for who asks for none");
    same(ids(await s.claim()), [second], "who does not say");
  },

  "a holder with a later sign of life was cut off: its loss does not count (S22)": async (s) => {
    const [one, two] = [await node(s, "one"), await node(s, "two")];
    const { id } = await s.insert({ crashLimit: 2 });
    matches(await lose(s, one, id), { outcome: "waiting", crashes: 1 }, "first");
    matches(await lose(s, two, id), { outcome: "waiting", crashes: 1 }, "second");
    await s.advance(1_000);
    matches(await lose(s, one, id), { outcome: "waiting", crashes: 1 }, "third");
    await s.advance(2_000);
    // It dies for once, and then another.
    matches((await crash(s, two, [id]))[0], { outcome: "waiting", crashes: 1 }, "a death");
    await s.advance(4_000);
    matches((await crash(s, await node(s), [id]))[0], { outcome: "dead", crashes: 2 }, "two deaths");
  },

  "a holder with a sign of life only after the next one died no longer counts": async (s) => {
    const [one, two, three] = [await node(s, "one"), await node(s, "two"), await node(s, "three")];
    const { id } = await s.insert({ crashLimit: 3 });
    await crash(s, one, [id]);
    matches((await crash(s, two, [id]))[0], { outcome: "waiting", crashes: 2 }, "two are missing");
    await s.advance(5);
    await s.store.nodes.heartbeat(one);
    matches((await crash(s, three, [id]))[0], { outcome: "waiting", crashes: 2 }, "one is back");
    matches((await crash(s, await node(s), [id]))[0], { outcome: "dead", crashes: 3 }, "three have died");
  },

  "a run that live holders lose again and again waits longer each time": async (s) => {
    const [one, two] = [await node(s, "one"), await node(s, "two")];
    const { id } = await s.insert();
    const { availableAt } = await s.run(id);
    await lose(s, one, id);
    same((await s.run(id)).availableAt, availableAt, "after the first time");
    const before = (await s.run(id)).availableAt;
    await lose(s, two, id);
    const second = (await s.run(id)).availableAt;
    holds(second >= before + 1_000, "a second after the second time");
    same(ids(await s.claim()), [], "claims meanwhile");
    await s.advance(1_000);
    await lose(s, one, id);
    holds((await s.run(id)).availableAt >= second + 2_000, "two seconds after the third");
    await s.advance(2_000);
    await s.accept(await s.claimOne({ owner: one }), [append("a"), handBack]);
    const { availableAt: progressed } = await s.run(id);
    await lose(s, two, id);
    same((await s.run(id)).availableAt, progressed, "after progress");
  },

  "a worker without a lease of its own has used up an attempt, alive or not": async (s) => {
    const worker = s.token();
    const who = { incarnation: worker, identity: "w", name: "w", env: s.env, stack: null, build: null };
    await s.store.nodes.register(who);
    const { id } = await s.insert({ crashLimit: 2 });
    await lose(s, worker, id);
    matches(await lose(s, worker, id), { outcome: "dead", crashes: 2 }, "second");
  },

  "a run at its limit is dead only if its process held nothing else, or at twice its limit (S22)": async (s) => {
    const [a, b] = [(await s.insert({ crashLimit: 2 })).id, (await s.insert({ crashLimit: 2 })).id];
    for (const crashes of [1, 2, 3]) {
      const both = await crash(s, await node(s), [a, b]);
      for (const one of both) matches(one, { outcome: "waiting", crashes }, `crash ${crashes}`);
    }
    const [claim] = await s.claim({ limit: 1 });
    await s.accept(claim!, [complete]);
    const left = claim!.runId === a ? b : a;
    matches((await crash(s, await node(s), [left]))[0], { outcome: "dead", crashes: 4 }, "alone");
    const [c, d] = [(await s.insert({ crashLimit: 2 })).id, (await s.insert({ crashLimit: 2 })).id];
    for (const crashes of [1, 2, 3, 4]) {
      const both = await crash(s, await node(s), [c, d]);
      const outcome = crashes < 4 ? "waiting" : "dead";
      for (const one of both) matches(one, { outcome, crashes }, `crash ${crashes} next to another`);
    }
  },

  "what a process held is seen as a whole, however small the pages of a sweep are": async (s) => {
    const made = [
      await s.insert({ crashLimit: 2 }),
      await s.insert({ crashLimit: 2 }),
      await s.insert({ crashLimit: 2 }),
    ];
    const all = made.map(({ id }) => id);
    await crash(s, await node(s), all, 1);
    for (const one of await crash(s, await node(s), all, 1)) matches(one, { outcome: "waiting", crashes: 2 }, "swept");
  },

  "with a limit of one the first crash is the last, whatever ran next to it": async (s) => {
    const [a, b] = [(await s.insert({ crashLimit: 1 })).id, (await s.insert({ crashLimit: 1 })).id];
    for (const one of await crash(s, await node(s), [a, b])) matches(one, { outcome: "dead", crashes: 1 }, "swept");
  },

  "a restarted run counts its restarts, without the holders that were cut off": async (s) => {
    const restart: Recovery = "restart";
    await s.declare([{ group: s.group(), limits: [], recovery: restart }]);
    const { id } = await s.insert({ crashLimit: 3 });
    const outcomes: unknown[] = [];
    for (const dies of [true, false, true, true]) {
      const owner = await node(s);
      const claim = await s.claimOne({ owner, leaseMs: SHORT_MS });
      await s.accept(claim, [append("first")]);
      await s.advance(PAST_MS);
      const [{ outcome, crashes }] = (await sweep(s, [id])) as [Reclaimed];
      outcomes.push([outcome, crashes, claim.suspect]);
      await s.advance(5);
      if (!dies) await s.store.nodes.heartbeat(owner);
    }
    const expected = [
      ["restarted", 1, false],
      ["restarted", 2, false],
      ["restarted", 2, true],
      ["dead", 3, true],
    ];
    same(outcomes, expected, "outcomes");
  },

  "a holder with a sign of life only after others had restarted its run no longer counts": async (s) => {
    await s.declare([{ group: s.group(), limits: [], recovery: "restart" }]);
    const { id } = await s.insert({ crashLimit: 5 });
    const [one, two, three] = [await node(s, "one"), await node(s, "two"), await node(s, "three")];
    for (const owner of [one, two]) {
      await s.accept(await s.claimOne({ owner, leaseMs: SHORT_MS }), [append("first")]);
      await s.advance(PAST_MS);
      await sweep(s, [id]);
    }
    matches(await s.run(id), { crashes: 2 }, "after progress, both count");
    await s.store.nodes.heartbeat(one);
    const [last] = await crash(s, three, [id]);
    matches(last, { outcome: "restarted", crashes: 2 }, "the second and the third died");
  },

  "the reason of a dead run names the processes that died, and no others": async (s) => {
    const [one, two, three] = [await node(s, "one"), await node(s, "two"), await node(s, "three")];
    const { id } = await s.insert({ crashLimit: 3 });
    await crash(s, one, [id]);
    await lose(s, two, id);
    await crash(s, three, [id]);
    const unknown = s.token();
    await s.advance(1_000);
    await crash(s, unknown, [id]);
    const { seq, state } = await s.run(id);
    same(state, "dead", "state");
    const { entries } = some(await s.store.journal.read(id, { after: seq - 1 }), "journal");
    const holders = [
      { epoch: 1, incarnation: one, node: "one" },
      { epoch: 3, incarnation: three, node: "three" },
      { epoch: 4, incarnation: unknown, node: null },
    ];
    same(JSON.parse(entries[0]!.payload!.data), { code: "CRASH_LIMIT", crashes: 3, holders }, "reason");
  },

  "a suspect that is retried is no longer one": async (s) => {
    const id = await crashedTwice(s, { crashLimit: 3 });
    await crash(s, await node(s), [id]);
    await s.store.runs.retry([id], { by: "ann", callId: s.token(), fromStart: false });
    matches(await s.claimOne(), { runId: id, suspect: false, crashes: 1 }, "claim");
  },
});
