// Nodes that run side by side and meet: updates that do not fit together, failures of each, updates from outside, forks and rewinds.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { PermanentError } from "../../src/index.js";
import { deferred } from "../harness/deferred.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  topic: string;
  log: string[];
}
const S = state<Trip>({ log: append() });
const limit = { timeout: "10s" } as const;
const soon = { timeout: 8_000, interval: 15 };
const begin: Trip = { topic: "tea", log: [] };
const say = (word: string) => async () => ({ log: [word] });

onBothStores((bench) => {
  /** Its reducer takes no more than ten words together. */
  const few = state<{ words: number; log: string[] }>({
    words: (old: number, more: number) => {
      if (old + more > 10) throw new RangeError("too many words");
      return old + more;
    },
    log: append(),
  });

  test("nodes that begin side by side count one by one against the limit of iterations", async () => {
    const ran: string[] = [];
    const visit = (name: string) => async () => {
      ran.push(name);
      return { log: [name] };
    };
    const bounded = graph("bounded", {
      state: few,
      start: "plan",
      nodes: { plan: visit("plan"), a: visit("a"), b: visit("b"), c: visit("c") },
      edges: { plan: { to: ["a", "b", "c"] }, a: "end", b: "end", c: "end" },
      limits: { iterations: 3 },
    });
    const node = await bench.open({ programs: [bounded] });
    const run = await node.start(bounded, { words: 0, log: [] });
    const over = { state: "failed", cause: { code: "ITERATION_LIMIT" } };
    await expect(run.result(limit)).rejects.toMatchObject(over);
    expect(ran).toEqual(["plan", "a", "b"]);
    await run.retry();
    await expect(run.result(limit)).rejects.toMatchObject(over);
    expect(ran).toEqual(["plan", "a", "b"]);
  });

  test("the late result of an attempt that has timed out does not count against the others", async () => {
    const [late, other] = [deferred<void>(), deferred<void>()];
    let calls = 0;
    const slow = few.node({ timeout: "40ms", retry: { attempts: 2, delay: 300 } }, async () => {
      if (++calls > 1) return { words: 1 };
      await late.promise;
      return { words: 9 };
    });
    const patient = graph("patient", {
      state: few,
      start: "plan",
      nodes: { plan: () => ({}), slow, other: async () => other.promise.then(() => ({ words: 5 })) },
      edges: { plan: { to: ["slow", "other"] }, slow: "end", other: "end" },
    });
    const node = await bench.open({ programs: [patient] });
    const run = await node.start(patient, { words: 0, log: [] });
    const tried = async () =>
      (await bench.store.journal.read(run.id))!.entries.some(({ kind }) => kind === "node.tried");
    await expect.poll(tried, soon).toBe(true);
    late.resolve();
    await late.promise;
    other.resolve();
    expect(await run.result(limit)).toMatchObject({ words: 6 });
  });

  test("updates that a reducer takes one by one, but not together, fail the last node; the run is retried and rewound", async () => {
    let words = 6;
    const crowded = graph("crowded", {
      state: few,
      start: "plan",
      nodes: {
        plan: () => ({ log: ["plan"] }),
        left: () => ({ words, log: ["left"] }),
        right: () => ({ words, log: ["right"] }),
        last: () => ({ log: ["last"] }),
      },
      edges: { plan: { to: ["left", "right"] }, left: "last", right: "last", last: "end" },
    });
    const node = await bench.open({ programs: [crowded] });
    const run = await node.start(crowded, { words: 0, log: [] });
    const refused = {
      state: "failed",
      cause: { message: "The reducers do not take the updates of left:1,right:1 together." },
    };
    await expect(run.result(limit)).rejects.toMatchObject(refused);
    await run.retry();
    await expect(run.result(limit)).rejects.toMatchObject(refused);
    expect(await node.graphs.state(crowded, run.id)).toMatchObject({ position: "left:1,right:1" });
    words = 4;
    await run.retry();
    expect(await run.result(limit)).toEqual({ words: 10, log: ["plan", "left", "right", "last"] });
    await node.graphs.rewind(crowded, run.id, { to: "plan", by: "ann", why: "fewer", state: { words: 3 } });
    await expect(run.result(limit)).rejects.toMatchObject({ state: "failed" });
    words = 1;
    await node.graphs.rewind(crowded, run.id, { to: "left:2", by: "ann", why: "fewer" });
    expect(await run.result(limit)).toMatchObject({ words: 5 });
  });

  test("the node that ends last takes its failure edge when the updates do not fit together, unless those of the others do not either", async () => {
    const gate = deferred<void>();
    const alarm = graph("alarm", {
      state: few,
      start: "plan",
      nodes: {
        plan: () => {},
        left: () => ({ words: 6 }),
        right: (_ctx, s) => ({ words: s.log.length > 0 ? 5 : 1 }),
        slow: async () => {
          await gate.promise;
          return { words: 4 };
        },
        repair: (ctx) => ({ log: [`${ctx.failure!.node}: ${ctx.failure!.error.message}`] }),
      },
      edges: {
        plan: { to: ["left", "right", "slow"] },
        left: "end",
        right: "end",
        slow: { to: "end", failed: "repair" },
        repair: "end",
      },
    });
    const node = await bench.open({ programs: [alarm] });
    const [fits, not] = await Promise.all([
      node.start(alarm, { words: 0, log: [] }),
      node.start(alarm, { words: 0, log: ["x"] }),
    ]);
    const ended = async (id: string) => (await node.graphs.history(id)).filter(({ to }) => to !== null).length;
    await expect.poll(async () => [await ended(fits.id), await ended(not.id)], soon).toEqual([3, 3]);
    gate.resolve(undefined);
    const problem = "The reducers do not take the updates of left:1,right:1,slow:1 together.";
    expect(await fits.result(limit)).toEqual({ words: 7, log: [`slow: ${problem}`] });
    await expect(not.result(limit)).rejects.toMatchObject({ state: "failed", cause: { message: problem } });
    expect(await node.graphs.state(alarm, not.id)).toMatchObject({ state: { words: 0 } });
  });

  test("an update from outside that does not fit what a node of the step has recorded is refused", async () => {
    const waits = graph("waits-for-words", {
      state: few,
      start: "plan",
      nodes: {
        plan: () => {},
        left: () => ({ words: 6 }),
        gate: few.approval({ ask: () => "Go?", apply: (_s, d) => ({ log: [d.outcome] }) }),
      },
      edges: { plan: { to: ["left", "gate"] }, left: "end", gate: "end" },
    });
    const node = await bench.open({ programs: [waits] });
    const run = await node.start(waits, { words: 0, log: [] });
    const isParked = () => expect.poll(async () => (await run.status()).state, soon).toBe("parked");
    const kinds = async () => (await bench.store.journal.read(run.id))!.entries.map(({ kind }) => kind);
    await isParked();
    await node.graphs.update(waits, run.id, { words: 5 });
    await expect.poll(kinds, soon).toContain("take");
    await isParked();
    await node.graphs.update(waits, run.id, { words: 4 });
    await run.decide("gate", { choice: "approved", by: "ann" });
    expect(await run.result(limit)).toEqual({ words: 10, log: ["approved"] });
    expect((await kinds()).filter((kind) => kind.startsWith("update"))).toEqual(["update.refused", "updated"]);
  });

  test("a run whose recorded update newer code refuses is rewound to before it", async () => {
    const of = (most: number) => {
      const strict = state<{ words: number; log: string[] }>({
        words: (old: number, more: number) => {
          if (old + more > most) throw new RangeError("too many words");
          return old + more;
        },
        log: append(),
      });
      return graph("stricter", {
        state: strict,
        start: "plan",
        nodes: {
          plan: () => ({ log: ["plan"] }),
          write: (_ctx, s) => ({ words: s.log.includes("short") ? 1 : 8 }),
          gate: strict.approval({ ask: () => "Go?", apply: (_s, d) => ({ log: [d.outcome] }) }),
        },
        edges: { plan: "write", write: "gate", gate: "end" },
      });
    };
    const old = await bench.open({ programs: [of(10)] });
    const run = await old.start(of(10), { words: 0, log: [] });
    await expect.poll(async () => (await run.status()).state, soon).toBe("parked");
    await old.graphs.update(of(10), run.id, { words: 1 });
    await expect.poll(async () => (await old.graphs.state(of(10), run.id)).state.words, soon).toBe(9);
    await expect.poll(async () => (await run.status()).state, soon).toBe("parked");
    await old.stop();
    const now = of(5);
    const node = await bench.open({ programs: [now] });
    const again = node.run(run.id);
    await again.decide("gate", { choice: "approved", by: "ann" });
    await expect.poll(() => quarantinedWith(bench.store, run.id), soon).toBe("STATE_FAILED");
    await node.graphs.rewind(now, run.id, { to: "write", by: "ann", why: "shorter", state: { log: ["short"] } });
    await expect.poll(async () => (await again.status()).state, soon).toBe("parked");
    await again.decide("gate", { choice: "approved", by: "ann", nth: 2 });
    expect(await again.result(limit)).toEqual({ words: 1, log: ["short", "approved"] });
  });

  test("each target of a failure edge gets the failure that led to it", async () => {
    const broken = (word: string) =>
      S.node({ retry: 1 }, () => {
        throw new PermanentError(`${word} is broken`);
      });
    const heal = S.node({ retry: 1 }, async (ctx) => ({
      log: [`${ctx.node}: ${ctx.failure?.node} ${ctx.failure?.error.message}`],
    }));
    const ward = graph("ward", {
      state: S,
      start: "plan",
      nodes: { plan: say("plan"), a: broken("a"), b: broken("b"), c: say("c"), healA: heal, healB: heal, rest: heal },
      edges: {
        plan: { to: ["a", "b", "c"] },
        a: { to: "end", failed: "healA" },
        b: { to: "end", failed: "healB" },
        c: "rest",
        healA: "end",
        healB: "end",
        rest: "end",
      },
      snapshotEvery: 1,
    });
    const node = await bench.open({ programs: [ward] });
    const log = ["plan", "c", "healA: a a is broken", "healB: b b is broken", "rest: undefined undefined"];
    const run = await node.start(ward, begin);
    expect((await run.result(limit)).log).toEqual(log);
    await node.graphs.rewind(ward, run.id, { to: "healB", by: "ann", why: "again" });
    expect((await run.result(limit)).log).toEqual(log);
    expect(await node.graphs.position(run.id)).toMatchObject({ position: "end" });
  });

  test("an update during a fan-out counts after it, also in a fork and after a rewind", async () => {
    const asked = graph("asked", {
      state: S,
      start: "plan",
      nodes: {
        plan: say("plan"),
        quick: say("quick"),
        gate: S.approval({ ask: (s) => s.topic, apply: (s, d) => ({ log: [`${s.topic} ${d.outcome}`] }) }),
        last: async (_ctx, s) => ({ log: [s.topic] }),
      },
      edges: { plan: { to: ["quick", "gate"] }, quick: "last", gate: "last", last: "end" },
    });
    const node = await bench.open({ programs: [asked] });
    const run = await node.start(asked, begin);
    const isParked = (id = run.id) => expect.poll(async () => (await node.run(id).status()).state, soon).toBe("parked");
    const topicAt = async (at: "plan" | "quick" | "gate" | "gate:1" | "last") =>
      (await node.graphs.state(asked, run.id, { at })).state.topic;
    await isParked();
    await node.graphs.update(asked, run.id, { topic: "coffee" });
    await run.decide("gate", { choice: "approved", by: "ann" });
    expect((await run.result(limit)).log).toEqual(["plan", "quick", "tea approved", "coffee"]);
    for (const at of ["plan", "quick", "gate"] as const) expect(await topicAt(at)).toBe("tea");
    expect(await topicAt("last")).toBe("coffee");
    const later = await node.graphs.fork(asked, run.id, { from: "last" });
    expect((await later.result(limit)).log).toEqual(["plan", "quick", "tea approved", "coffee"]);
    const fork = await node.graphs.fork(asked, run.id, { from: "gate" });
    await isParked(fork.id);
    // Both nodes began again: each visit is there once.
    const visits = async (id: string) => (await node.graphs.history(id)).map(({ position }) => position);
    expect(await visits(fork.id)).toEqual(["plan:1", "quick:1", "gate:1"]);
    expect(await node.graphs.diff(run.id, fork.id)).toMatchObject({ common: 2, steps: { length: 4 } });
    await fork.decide("gate", { choice: "denied", by: "ann" });
    expect((await fork.result(limit)).log).toEqual(["plan", "quick", "tea denied", "tea"]);
    await node.graphs.rewind(asked, run.id, { to: "gate", by: "ann", why: "again" });
    await isParked();
    await node.graphs.update(asked, run.id, { topic: "milk" });
    expect(await topicAt("gate:1")).toBe("tea");
    await run.decide("gate", { choice: "approved", by: "ann", nth: 2 });
    expect((await run.result(limit)).log).toEqual(["plan", "quick", "tea approved", "milk"]);
  });
});
