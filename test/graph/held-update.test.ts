// Updates from outside that come while nodes are in progress: all parts of a step have one state, also under the next holder.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import type { Node } from "../../src/node/create-node.js";
import { deferred } from "../harness/deferred.js";
import { type Bench, onBothStores } from "../workflow/node-suite.js";

interface Trip {
  topic: string;
  items: string[];
  words: number;
  log: string[];
}
/** Its reducer takes no more than ten words together. */
const S = state<Trip>({
  words: (old: number, more: number) => {
    if (old + more > 10) throw new RangeError("too many words");
    return old + more;
  },
  log: append(),
});
const begin: Trip = { topic: "tea", items: ["a", "b", "c"], words: 0, log: [] };
const limit = { timeout: "10s" } as const;
const soon = { timeout: 8_000, interval: 15 };
const hang = () => new Promise<never>(() => {});
/** A node whose process "dies": its lease expires soon. */
const DYING = { timing: { lease: 300, renewEvery: 250 } } as const;

const kindsOf = async (bench: Bench, id: string) =>
  (await bench.store.journal.read(id))!.entries.map(({ kind }) => kind);
const until = (bench: Bench, id: string, kind: string) => expect.poll(() => kindsOf(bench, id), soon).toContain(kind);
const untilParked = (node: Node, id: string) =>
  expect.poll(async () => (await node.run(id).status()).state, soon).toBe("parked");
const topicOf = async (_ctx: unknown, s: Trip) => ({ log: [s.topic] });

onBothStores((bench) => {
  /** Calls `hangs` in the first process only. */
  const dies = () => {
    const there = deferred<void>();
    let isFirst = true;
    const here = () => {
      if (!isFirst) return null;
      there.resolve();
      return hang();
    };
    const kill = async (node: Node) => {
      isFirst = false;
      await node.stop({ grace: 10 });
    };
    return { there: there.promise, here, kill };
  };

  test.each(["before", "after"] as const)(
    "an update %s the death of a map's holder does not mix the results of two lists",
    async (when) => {
      const { there, here, kill } = dies();
      const mapped = graph(`mapped-${when}`, {
        state: S,
        start: "each",
        nodes: {
          each: S.map(
            (s) => s.items,
            async (_ctx, item, s) => {
              if (item === "b") await here();
              return `${s.topic} ${item}`;
            },
            { into: "log", limit: 1 },
          ),
          last: topicOf,
        },
        edges: { each: "last", last: "end" },
      });
      const owner = await bench.open({ ...DYING, programs: [mapped] });
      const { id } = await owner.start(mapped, begin);
      await there;
      const update = { items: ["x", "y"], topic: "milk" };
      if (when === "before") {
        await owner.graphs.update(mapped, id, update);
        await until(bench, id, "take");
      }
      await kill(owner);
      const other = await bench.open({ programs: [] });
      if (when === "after") await other.graphs.update(mapped, id, update);
      const next = await bench.open({ programs: [mapped] });
      const result = await next.run(id).result(limit);
      expect(result).toMatchObject({ items: ["x", "y"], log: ["tea a", "tea b", "tea c", "milk"] });
    },
  );

  test("an update in a fan-out counts after it: nodes that run again have the state of their neighbours", async () => {
    const { there, here, kill } = dies();
    const fanned = graph("fanned", {
      state: S,
      start: "plan",
      nodes: {
        plan: () => {},
        quick: async (_ctx, s) => ({ log: [`quick ${s.topic}`] }),
        slow: async (_ctx, s) => {
          await here();
          return { log: [`slow ${s.topic}`] };
        },
        meet: topicOf,
      },
      edges: { plan: { to: ["quick", "slow"] }, quick: "meet", slow: "meet", meet: "end" },
    });
    const owner = await bench.open({ ...DYING, programs: [fanned] });
    const { id } = await owner.start(fanned, begin);
    await there;
    await expect.poll(async () => (await kindsOf(bench, id)).filter((kind) => kind === "node").length, soon).toBe(2);
    await kill(owner);
    const other = await bench.open({ programs: [] });
    await other.graphs.update(fanned, id, { topic: "milk" });
    const next = await bench.open({ programs: [fanned] });
    expect(await next.run(id).result(limit)).toMatchObject({ log: ["quick tea", "slow tea", "milk"] });
    expect((await next.graphs.state(fanned, id, { at: "slow" })).state.topic).toBe("tea");
    expect((await next.graphs.state(fanned, id, { at: "meet" })).state.topic).toBe("milk");
  });

  test("a function that an update found in progress runs again with the state that it began with", async () => {
    const { there, here, kill } = dies();
    const lone = graph("lone", {
      state: S,
      start: "write",
      nodes: {
        write: async (_ctx, s) => {
          await here();
          return { log: [`write ${s.topic}`] };
        },
        last: topicOf,
      },
      edges: { write: "last", last: "end" },
    });
    const owner = await bench.open({ ...DYING, programs: [lone] });
    const { id } = await owner.start(lone, begin);
    await there;
    await owner.graphs.update(lone, id, { topic: "milk" });
    await until(bench, id, "take");
    await kill(owner);
    const next = await bench.open({ programs: [lone] });
    expect(await next.run(id).result(limit)).toMatchObject({ log: ["write tea", "milk"] });
  });

  test("an update that does not fit what branches in progress have recorded is refused, and the run completes", async () => {
    const branched = graph("branched", {
      state: S,
      start: "both",
      nodes: {
        both: S.parallel({
          left: () => ({ words: 6 }),
          gate: S.approval({ ask: (s) => s.topic, apply: (s, d) => ({ log: [`${s.topic} ${d.outcome}`] }) }),
        }),
        last: topicOf,
      },
      edges: { both: "last", last: "end" },
    });
    const node = await bench.open({ programs: [branched] });
    const run = await node.start(branched, begin);
    await untilParked(node, run.id);
    await node.graphs.update(branched, run.id, { words: 5 });
    await until(bench, run.id, "take");
    await untilParked(node, run.id);
    await node.graphs.update(branched, run.id, { words: 4, topic: "milk" });
    await run.decide("both/gate", { nth: "1.1", choice: "approved", by: "ann" });
    expect(await run.result(limit)).toMatchObject({ words: 10, log: ["tea approved", "milk"] });
    const kinds = await kindsOf(bench, run.id);
    expect(kinds.filter((kind) => kind.startsWith("update."))).toEqual(["update.refused"]);
    expect(kinds.indexOf("update.refused")).toBeGreaterThan(kinds.lastIndexOf("approval.begun"));
  });

  test("an update during the last node counts before the end", async () => {
    const [begun, go] = [deferred<void>(), deferred<void>()];
    const single = graph("single", {
      state: S,
      start: "only",
      nodes: {
        only: async () => {
          begun.resolve();
          await go.promise;
          return { log: ["only"] };
        },
      },
      edges: { only: "end" },
    });
    const node = await bench.open({ programs: [single] });
    const run = await node.start(single, begin);
    await begun.promise;
    await node.graphs.update(single, run.id, { topic: "milk" });
    await until(bench, run.id, "take");
    go.resolve();
    expect(await run.result(limit)).toMatchObject({ topic: "milk", log: ["only"] });
  });

  test("an update of a run that is paused before a node counts in it", async () => {
    const stopping = graph("stopping", {
      state: S,
      start: "plan",
      nodes: { plan: () => {}, write: topicOf },
      edges: { plan: "write", write: "end" },
    });
    const node = await bench.open({ programs: [stopping] });
    const run = await node.graphs.start(stopping, begin, { breakpoints: { before: ["write"] } });
    await expect.poll(async () => (await run.status()).state, soon).toBe("paused");
    await node.graphs.update(stopping, run.id, { topic: "milk" });
    await run.resume();
    expect(await run.result(limit)).toMatchObject({ log: ["milk"] });
  });
});
