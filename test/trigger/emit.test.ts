// Emitting on either store: what a run gets, what counts as the same event, what gathers, what is rejected.

import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { createClient } from "../../src/client/create-client.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { memoryTransaction } from "../../src/store/memory/index.js";
import { event, on } from "../../src/trigger/event.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Resource {
  readonly kind: "disk" | "cpu";
  readonly id: string;
  readonly used?: number;
}

/** Each test has events and programs of its own. */
let count = 0;
const fresh = (name: string) => `${name}-${++count}`;
const outcomes = (emitted: { readonly runs: readonly { readonly outcome: string }[] }) =>
  emitted.runs.map(({ outcome }) => outcome);

onBothStores((bench) => {
  const result = (node: Node, runId: string | null) => node.run(runId!).result({ timeout: "10s" });

  test("an event starts every program that has a trigger for it, with its payload exactly as it was", async () => {
    const updated = event<Resource & { at: Date; big: bigint }>()(fresh("updated"));
    const one = workflow(fresh("one"), { on: [on(updated)] }, async (_ctx, input) => input);
    const two = workflow(fresh("two"), { on: [on(updated, { where: { kind: "cpu" } })] }, async () => "two");
    const none = workflow(fresh("none"), { on: [on(updated, { where: { kind: "disk" } })] }, async () => "never");
    const node = await bench.open({ programs: [one, two, none] });
    const payload = { kind: "cpu", id: "r-1", at: new Date(5), big: 7n } as const;
    const { runs } = await node.emit(updated, payload);
    expect(runs.map(({ program, outcome }) => [program, outcome])).toEqual([
      [one.name, "started"],
      [two.name, "started"],
    ]);
    expect(await result(node, runs[0]!.runId)).toEqual({ type: updated.name, ...payload });
    expect(await result(node, runs[1]!.runId)).toBe("two");
  });

  test("filters match several values and nested ones, and ignore what is not plain JSON", async () => {
    const moved = event<{ place: { zone: string }; n: number; at?: Date }>()(fresh("moved"));
    const where = { place: { zone: { in: ["a", "b"] } }, n: 1 };
    const program = workflow(fresh("filtered"), { on: [on(moved, { where })] }, async () => {});
    const node = await bench.open({ programs: [program] });
    const started = async (zone: string, n: number) => (await node.emit(moved, { place: { zone }, n })).runs.length;
    expect([await started("a", 1), await started("b", 1), await started("c", 1), await started("a", 2)]).toEqual([
      1, 1, 0, 0,
    ]);
    const odd = { place: { zone: "a", "x\0": "\ud800" }, n: 1, at: new Date(0) };
    expect((await node.emit(moved, odd)).runs).toHaveLength(1);
  });

  test("the same event starts nothing again: by payload in any order of keys, or by id", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const program = workflow(fresh("once"), { on: [on(updated)] }, async (_ctx, { id }) => id);
    const node = await bench.open({ programs: [program] });
    const told: string[] = [];
    node.on("event.deduplicated", ({ runId }) => told.push(runId));
    const first = await node.emit(updated, { kind: "disk", id: "r-1" });
    const again = await node.emit(updated, { id: "r-1", kind: "disk" });
    expect(again.runs).toEqual([{ ...first.runs[0], outcome: "duplicate" }]);
    expect(told).toEqual([first.runs[0]!.runId]);
    expect(outcomes(await node.emit(updated, { kind: "disk", id: "r-2" }))).toEqual(["started"]);
    // An id identifies the event: with one, the payload is not compared.
    expect(outcomes(await node.emit(updated, { kind: "disk", id: "r-1" }, { id: "e-1" }))).toEqual(["started"]);
    expect(outcomes(await node.emit(updated, { kind: "cpu", id: "r-9" }, { id: "e-1" }))).toEqual(["duplicate"]);
    expect(await result(node, first.runs[0]!.runId)).toBe("r-1");
    expect(outcomes(await node.emit(updated, { kind: "disk", id: "r-1" }))).toEqual(["duplicate"]);
  });

  test("once while live: an event may come again when its run has ended", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const go = signal<null>("go");
    const trigger = on(updated, { once: "while live" });
    const program = workflow(fresh("live"), { on: [trigger] }, async (ctx) => ctx.waitFor(go));
    const node = await bench.open({ programs: [program] });
    const payload = { kind: "disk", id: "r-1" } as const;
    const { runs } = await node.emit(updated, payload);
    expect(outcomes(await node.emit(updated, payload))).toEqual(["duplicate"]);
    await node.run(runs[0]!.runId!).signal(go, null);
    await result(node, runs[0]!.runId);
    expect(outcomes(await node.emit(updated, payload))).toEqual(["started"]);
  });

  test("a hundred at once, each three times: a hundred runs", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const program = workflow(fresh("many"), { on: [on(updated)] }, async () => {});
    const node = await bench.open({ programs: [program] });
    const client = createClient({ store: bench.store });
    const emits = Array.from({ length: 300 }, (_, i) =>
      (i % 3 === 0 ? node : client).emit(updated, { kind: "disk", id: `r-${i % 100}` }),
    );
    const all = (await Promise.all(emits)).flatMap(({ runs }) => runs);
    expect(new Set(all.map(({ runId }) => runId)).size).toBe(100);
    expect(all.filter(({ outcome }) => outcome === "started")).toHaveLength(100);
  });

  test("events of a stack are for its nodes, and events of no stack for any node", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const program = workflow(fresh("stacked"), { on: [on(updated)] }, async () => "done");
    const blue = await bench.open({ programs: [program], stack: "blue" });
    const payload = { kind: "disk", id: "r-1" } as const;
    const emitted = async (stack?: string) => createClient({ store: bench.store, ...(stack && { stack }) });
    expect((await (await emitted("red")).emit(updated, payload)).runs).toEqual([]);
    for (const [client, id] of [
      [await emitted(), "e-1"],
      [await emitted("blue"), "e-2"],
    ] as const) {
      const { runs } = await client.emit(updated, payload, { id });
      expect(runs).toMatchObject([{ outcome: "started" }]);
      expect(await result(blue, runs[0]!.runId)).toBe("done");
    }
  });

  describe("one event, emitted in none and in two stacks", () => {
    const places = [undefined, "blue", "green"] as const;
    const clients = () => places.map((stack) => createClient({ store: bench.store, ...(stack && { stack }) }));
    const open = async (program: ReturnType<typeof workflow>) => {
      for (const stack of ["blue", "green"]) await bench.open({ programs: [program as never], stack });
    };

    test("has one run, in the stack of the first that emitted it", async () => {
      const updated = event<Resource>()(fresh("updated"));
      const program = workflow(fresh("one"), { on: [on(updated)] }, async () => "done");
      await open(program as never);
      for (const [i, first] of places.entries()) {
        const order = [...clients().slice(i), ...clients().slice(0, i)];
        const runs = [];
        for (const client of order) {
          runs.push(...(await client.emit(updated, { kind: "disk", id: "r" }, { id: `e-${i}` })).runs);
        }
        expect(runs.map(({ outcome }) => outcome)).toEqual(["started", "duplicate", "duplicate"]);
        expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
        expect((await bench.store.runs.get(runs[0]!.runId!))!.group.stack).toBe(first ?? null);
      }
      // At the same moment, in one statement or in several.
      const runs = await Promise.all(clients().map((client) => client.emit(updated, { kind: "disk", id: "same" })));
      expect(new Set(runs.flatMap((one) => one.runs.map(({ runId }) => runId))).size).toBe(1);
    });

    test('with per: "stack" it has one run in each', async () => {
      const updated = event<Resource>()(fresh("updated"));
      const program = workflow(fresh("each"), { on: [on(updated, { per: "stack" })] }, async () => "done");
      await open(program as never);
      const found = [];
      for (const client of [...clients(), ...clients()]) {
        found.push(...(await client.emit(updated, { kind: "disk", id: "r" })).runs);
      }
      const started = ["started", "started", "started", "duplicate", "duplicate", "duplicate"];
      expect(found.map(({ outcome }) => outcome)).toEqual(started);
      const stacks = await Promise.all(
        found.slice(0, 3).map(async ({ runId }) => (await bench.store.runs.get(runId!))!.group.stack),
      );
      expect(stacks).toEqual([null, "blue", "green"]);
    });

    for (const [per, gatherers] of [
      ["env", 1],
      ["stack", 3],
    ] as const) {
      test(`debounced per ${per}: ${gatherers} gather`, async () => {
        const updated = event<Resource>()(fresh("updated"));
        const trigger = on(updated, { subject: "id", debounce: "1h", per });
        await open(workflow(fresh("calm"), { on: [trigger] }, async () => "done") as never);
        const runs = [];
        for (const client of clients()) runs.push(...(await client.emit(updated, { kind: "disk", id: "r" })).runs);
        expect(runs.map(({ outcome }) => outcome)).toEqual(["debounced", "debounced", "debounced"]);
        expect(new Set(runs.map(({ runId }) => runId)).size).toBe(gatherers);
      });
    }
  });

  describe("one key, started in none and in two stacks", () => {
    const clients = () =>
      [undefined, "blue", "green"].map((stack) => createClient({ store: bench.store, ...(stack && { stack }) }));

    test('is one run for the env; with per: "stack" one in each', async () => {
      const program = workflow(fresh("keyed"), async () => "done");
      const start = async (per?: "env" | "stack") => {
        const ids = [];
        for (const client of [...clients(), ...clients()]) {
          ids.push((await client.start(program, undefined, { key: "k", ...(per && { per }) })).id);
        }
        return new Set(ids).size;
      };
      expect([await start(), await start("env"), await start("stack")]).toEqual([1, 1, 3]);
    });
  });

  test("emitted in a transaction: nothing when it is rolled back, all when it commits", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const plain = workflow(fresh("tx"), { on: [on(updated)] }, async (_ctx, { id }) => id);
    const calm = workflow(
      fresh("tx-calm"),
      { on: [on(updated, { subject: "kind", debounce: 50 })] },
      async (_, e) => e.id,
    );
    const node = await bench.open({ programs: [plain, calm] });
    for (const end of ["rollback", "commit"] as const) {
      const { runs } = await inTransaction(bench, end, (tx) => node.emit(updated, { kind: "disk", id: "r-1" }, { tx }));
      expect(outcomes({ runs })).toEqual(["started", "debounced"]);
      const there = await Promise.all(runs.map(async ({ runId }) => (await bench.store.runs.get(runId!)) !== null));
      expect(there).toEqual(end === "commit" ? [true, true] : [false, false]);
      if (end === "commit") for (const { runId } of runs) expect(await result(node, runId)).toBe("r-1");
    }
  });

  test("an event can gather for one program and start another, again and again", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const each = workflow(fresh("each"), { on: [on(updated)] }, async (_ctx, { used }) => used);
    const calm = workflow(
      fresh("mixed-calm"),
      { on: [on(updated, { subject: "id", debounce: "300ms" })] },
      async (_ctx, { used }) => used,
    );
    const node = await bench.open({ programs: [each, calm] });
    const told: unknown[] = [];
    node.on("event.accepted", ({ event: name, runs }) => told.push([name, runs]));
    node.on("event.deduplicated", ({ program }) => told.push(["duplicate", program]));
    node.on("event.debounced", ({ program }) => told.push(["debounced", program]));
    const emits = [1, 2, 2, 3].map((used) => node.emit(updated, { kind: "disk", id: "a", used }));
    const all = (await Promise.all(emits)).map(({ runs }) => runs);
    expect(all.map((runs) => runs.map(({ outcome }) => outcome))).toEqual([
      ["started", "debounced"],
      ["started", "debounced"],
      ["duplicate", "debounced"],
      ["started", "debounced"],
    ]);
    expect(told.filter((one) => String(one).startsWith("debounced"))).toEqual(all.map(() => ["debounced", calm.name]));
    expect(told.filter((one) => String(one).startsWith("duplicate"))).toEqual([["duplicate", each.name]]);
    const accepted = told.filter((one) => String(one).startsWith(updated.name));
    expect(accepted).toEqual([1, 1, 0, 1].map((runs) => [updated.name, runs]));
    expect(new Set(all.map(([, gathered]) => gathered!.runId)).size).toBe(1);
    expect(await Promise.all(all.map(([started]) => result(node, started!.runId)))).toEqual([1, 2, 2, 3]);
    expect(await result(node, all[0]![1]!.runId)).toBe(3);
  });

  test("an event whose run finds no place and may not wait is answered as skipped", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const few = actor(fresh("few"), {
      concurrency: 1,
      overflow: "drop",
      expectations: { one: expectation({ on: [on(updated)] }, async () => {}) },
    });
    await (await bench.open({ programs: [few] })).stop();
    const client = createClient({ store: bench.store });
    const emit = (id: string) => client.emit(updated, { kind: "disk", id });
    const [first, second] = [(await emit("a")).runs[0]!, (await emit("b")).runs[0]!];
    expect([first.outcome, second.outcome]).toEqual(["started", "skipped"]);
    expect((await bench.store.runs.get(second.runId!))?.state).toBe("skipped");
  });

  test("debounced: many events of a subject, one run with the last one; the next event makes the next run", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const trigger = on(updated, { subject: "id", debounce: "700ms" });
    const program = workflow(fresh("calm"), { on: [trigger] }, async (_ctx, input) => input);
    const node = await bench.open({ programs: [program] });
    const all = [];
    // Bursts, one after the other: few statements, so that no pause between them is as long as the window.
    for (let burst = 0; burst < 4; burst++) {
      const emits = [0, 1, 2, 3, 4].flatMap((i) =>
        ["a", "b"].map((id) => node.emit(updated, { kind: "disk", id, used: burst * 5 + i })),
      );
      for (const { runs } of await Promise.all(emits)) all.push(...runs);
    }
    expect(new Set(all.map(({ outcome }) => outcome))).toEqual(new Set(["debounced"]));
    const ids = new Set(all.map(({ runId }) => runId));
    expect(ids.size).toBe(2);
    const results = await Promise.all([...ids].map((id) => result(node, id)));
    expect(results).toMatchObject([
      { type: updated.name, id: "a", used: 19 },
      { id: "b", used: 19 },
    ]);
    const [next] = (await node.emit(updated, { kind: "disk", id: "a", used: 20 })).runs;
    expect(ids.has(next!.runId)).toBe(false);
    expect(await result(node, next!.runId)).toMatchObject({ used: 20 });
  });

  test("a payload that cannot be a run's input is rejected before anything is written, and its neighbours are not", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const trigger = on(updated, { subject: "id", debounce: 10 });
    const serial = workflow(fresh("serial"), { on: [on(updated)], serial: "used" as never }, async () => {});
    const calm = workflow(fresh("subject"), { on: [trigger] }, async () => {});
    const node = await bench.open({ programs: [serial, calm] });
    const emit = (payload: object) => node.emit(updated, payload as Resource);
    const bad = [
      { kind: "disk", id: "r-1" },
      { used: 1 },
      { type: "x" },
      null,
      [],
      { id: () => 1 },
      { id: { a: 1 }, used: 1 },
    ];
    const answers = await Promise.allSettled([...bad.map((one) => emit(one as object)), emit({ id: "r-1", used: 1 })]);
    const codes = answers.map((one) => (one.status === "rejected" ? one.reason.code : one.status));
    expect(codes).toEqual([...bad.map(() => "INVALID_INPUT"), "fulfilled"]);
    await expect(node.emit(updated, { kind: "cpu", id: "x", used: 1 }, { id: "i".repeat(600) })).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
    });
    const counts = await bench.store.runs.count({ env: "default", program: serial.name });
    expect(Object.values(counts)).toEqual([1]);
  });

  test("after a deploy without the trigger, it is removed with the last node that has it; without any node it stays", async () => {
    const updated = event<Resource>()(fresh("updated"));
    const name = fresh("deployed");
    const older = await bench.open({ programs: [workflow(name, { on: [on(updated)] }, async () => {})] });
    const newer = await bench.open({ programs: [workflow(name, async () => {})] });
    const client = createClient({ store: bench.store });
    const emit = async (id: string) => (await client.emit(updated, { kind: "disk", id })).runs.length;
    expect(await emit("while both run")).toBe(1);
    await older.stop();
    expect(await emit("after the older one stopped")).toBe(0);
    const last = await bench.open({ programs: [workflow(name, { on: [on(updated)] }, async () => {})] });
    await newer.stop();
    await last.stop();
    expect(await emit("without any node")).toBe(1);
  });
});

async function inTransaction<T>(
  { store }: { readonly store: Parameters<typeof memoryTransaction>[0] },
  end: "commit" | "rollback",
  work: (tx: ReturnType<typeof memoryTransaction> | pg.ClientBase) => Promise<T>,
): Promise<T> {
  if (!("migrate" in store)) {
    const tx = memoryTransaction(store);
    const answer = await work(tx);
    tx[end]();
    return answer;
  }
  const client = new pg.Client({ connectionString: inject("databaseUrl") });
  await client.connect();
  await client.query("begin");
  const answer = await work(client);
  await client.query(end);
  await client.end();
  return answer;
}

describe("types", () => {
  test("a payload of another type does not compile", async () => {
    const updated = event<Resource>()("typed");
    const client = {} as ReturnType<typeof createClient>;
    const never = () => {
      // @ts-expect-error: no such kind
      void client.emit(updated, { kind: "ram", id: "r-1" });
      // @ts-expect-error: the id is missing
      void client.emit(updated, { kind: "disk" });
    };
    expect(never).toBeTypeOf("function");
  });
});
