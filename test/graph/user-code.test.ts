// Mistakes in user functions fail the run or the node, and leave nothing that cannot be read.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, InvalidInput } from "../../src/index.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Trip {
  n: number;
  log: string[];
}
const S = state<Trip>({ log: append() });
const limit = { timeout: "10s" } as const;
const quick = { attempts: 2, delay: 1 } as const;

onBothStores((bench) => {
  test("a run fails with the error that `init` throws, and a state that cannot be stored is rejected with its path", async () => {
    const picky = graph("picky", {
      state: S,
      init: (n: number) => {
        if (n < 0) throw new RangeError("less than nothing");
        return { n, log: [(() => {}) as unknown as string] };
      },
      start: "only",
      nodes: { only: () => {} },
      edges: { only: "end" },
    });
    const node = await bench.open({ programs: [picky] });
    await expect((await node.start(picky, -1)).result(limit)).rejects.toMatchObject({
      state: "failed",
      cause: { name: "RangeError", message: "less than nothing" },
    });
    await expect((await node.start(picky, 1)).result(limit)).rejects.toMatchObject({
      state: "failed",
      cause: { code: "INVALID_INPUT", message: expect.stringContaining("init.state.log[0]") },
    });
    await node.stop();
  });

  test("an update that its reducer cannot take is the node's failure, and takes its failure edge", async () => {
    const careless = graph("careless", {
      state: S,
      start: "bad",
      nodes: {
        bad: S.node({ retry: quick }, () => ({ log: 7 as unknown as string[] })),
        fan: S.parallel({ a: () => ({ log: ["a"] }), b: () => ({ log: 7 as unknown as string[] }) }),
        mend: (ctx) => ({ n: 1, log: [`${ctx.failure!.node}: ${ctx.failure!.error.message}`] }),
      },
      edges: { bad: { to: "end", failed: "fan" }, fan: { to: "end", failed: "mend" }, mend: "end" },
    });
    const node = await bench.open({ programs: [careless] });
    const run = await node.start(careless, { n: 0, log: [] });
    expect((await run.result(limit)).log).toEqual(['fan: The reducer of "log" threw on the update.']);
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.filter(({ kind }) => kind === "node.tried")).toEqual([]);
    await node.stop();
  });

  test("a reducer that changes its old value in place fails the node before anything is recorded, also in branches and side by side", async () => {
    const pushes = state<{ log: string[] }>({
      log: (old, update) => {
        if (old.length === 0) return update;
        old.push(...update);
        return old;
      },
    });
    const say = (word: string) => () => ({ log: [word] });
    const nodes = { plan: () => {}, a: say("a"), b: say("b") };
    const serial = graph("pushes-serial", {
      state: pushes,
      start: "plan",
      nodes,
      edges: { plan: "a", a: "b", b: "end" },
    });
    const beside = graph("pushes-beside", {
      state: pushes,
      start: "plan",
      nodes,
      edges: { plan: { to: ["a", "b"] }, a: "end", b: "end" },
    });
    const branches = graph("pushes-branches", {
      state: pushes,
      start: "both",
      nodes: { both: pushes.parallel({ a: say("a"), b: say("b") }) },
      edges: { both: "end" },
    });
    const node = await bench.open({ programs: [serial, beside, branches] });
    const problem = 'The reducer of "log" threw on the update.';
    for (const [program, message, last] of [
      [serial, problem, "b"],
      [branches, problem, "both"],
      [beside, "The reducers do not take the updates of a:1,b:1 together.", "b"],
    ] as const) {
      const run = await node.start(program, { log: [] });
      const failed = { state: "failed", cause: { code: "PERMANENT", message } };
      await expect(run.result(limit)).rejects.toMatchObject(failed);
      const { entries } = (await bench.store.journal.read(run.id))!;
      const ends = entries.filter(({ name }) => name === last).map(({ kind }) => kind);
      expect(ends).toEqual(["node.failed"]);
    }
  });

  test("a reducer that changes its update and a choice that changes the state leave the recorded result as it was returned", async () => {
    const marks = state<{ log: string[] }>({
      log: (old, update) => {
        update.push("seen");
        return [...old, ...update];
      },
    });
    const chosen: unknown[] = [];
    const marking = graph("marking", {
      state: marks,
      start: "a",
      nodes: { a: () => ({ log: ["a"] }) },
      edges: {
        a: {
          to: ["end"],
          choose: (now) => {
            try {
              now.log.push("chosen");
            } catch (error) {
              chosen.push((error as Error).name);
            }
            return "end";
          },
        },
      },
    });
    const node = await bench.open({ programs: [marking] });
    const run = await node.start(marking, { log: ["0"] });
    expect(await run.result(limit)).toEqual({ log: ["0", "a", "seen"] });
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.find(({ kind }) => kind === "node")!.payload!.data).not.toContain("seen");
    expect(chosen).toContain("TypeError");
  });

  test("what a function has returned is not frozen, also side by side", async () => {
    const mine = { log: ["mine"] };
    const owned = graph("owned", {
      state: S,
      start: "plan",
      nodes: { plan: () => {}, a: () => mine, b: () => mine },
      edges: { plan: { to: ["a", "b"] }, a: "end", b: "end" },
    });
    const node = await bench.open({ programs: [owned] });
    expect((await (await node.start(owned, { n: 0, log: [] })).result(limit)).log).toEqual(["mine", "mine"]);
    expect([Object.isFrozen(mine), Object.isFrozen(mine.log)]).toEqual([false, false]);
  });

  test("a recorded update that newer code cannot take quarantines the run until the code is fixed", async () => {
    let isBroken = true;
    const shaped = (broken: () => boolean) => {
      const R = state<{ sum: number }>({
        sum: (old, update) => {
          if (broken()) throw new TypeError("no longer");
          return old + update;
        },
      });
      return graph("shaped", {
        state: R,
        start: "add",
        nodes: { add: () => ({ sum: 2 }), ask: R.approval({ ask: () => "?", apply: () => ({ sum: 3 }) }) },
        edges: { add: "ask", ask: "end" },
      });
    };
    const first = await bench.open({ programs: [shaped(() => false)] });
    const { id } = await first.start(
      shaped(() => false),
      { sum: 1 },
    );
    await expect.poll(async () => (await first.run(id).status()).state).toBe("parked");
    await first.stop();
    const second = await bench.open({ programs: [shaped(() => isBroken)] });
    const run = second.run<{ sum: number }>(id);
    await run.decide("ask", { choice: "approved", by: "ann" });
    await expect.poll(() => quarantinedWith(bench.store, id), { timeout: 10_000 }).toBe("STATE_FAILED");
    isBroken = false;
    await second.dead.retry([id]);
    expect(await run.result(limit)).toEqual({ sum: 6 });
    await second.stop();
  });

  test("a map over a value that is not a list fails its node with that reason", async () => {
    const odd = graph("odd", {
      state: S,
      start: "each",
      nodes: {
        each: S.map(
          () => "abc" as unknown as string[],
          (_ctx, item) => item,
          { into: "log" },
        ),
      },
      edges: { each: "end" },
    });
    const node = await bench.open({ programs: [odd] });
    await expect((await node.start(odd, { n: 0, log: [] })).result(limit)).rejects.toMatchObject({
      cause: { message: "The items of each must be a list." },
    });
    await node.stop();
  });

  test("a run that catches the end of its budget in its last node is failed, and with more of it completes without running again", async () => {
    let calls = 0;
    const thrifty = (tokens: number) =>
      graph("thrifty", {
        state: S,
        start: "think",
        nodes: {
          think: (ctx) => {
            calls++;
            ctx.spend("tokens", 100); // as much as there is: not over it
            try {
              ctx.spend("tokens", 1);
            } catch {
              return { n: 7 };
            }
            return {};
          },
        },
        edges: { think: "end" },
        limits: { budgets: { tokens } },
      });
    const node = await bench.open({ programs: [thrifty(100)] });
    const { id } = await node.start(thrifty(100), { n: 0, log: [] });
    await expect(node.run(id).result(limit)).rejects.toMatchObject({
      state: "failed",
      cause: { code: "BUDGET_EXCEEDED", details: { budget: "tokens", limit: 100, spent: 101 } },
    });
    await node.stop();
    const richer = await bench.open({ programs: [thrifty(101)] });
    await richer.dead.retry([id]);
    expect(await richer.run(id).result(limit)).toMatchObject({ n: 7 });
    expect(calls).toBe(1);
    await richer.stop();
  });

  test("each attempt reports its progress, and one that timed out finds its signal aborted, whenever it asks", async () => {
    const seen: unknown[] = [];
    let late = () => {};
    const isLate = new Promise<void>((resolve) => (late = resolve));
    const tired = graph("tired", {
      state: S,
      start: "work",
      nodes: {
        work: S.node({ retry: quick, timeout: 300 }, async (ctx) => {
          if (ctx.attempt === 1) {
            await ctx.progress("first of 1");
            await new Promise((resolve) => setTimeout(resolve, 330));
            seen.push(ctx.signal.aborted, (ctx.signal.reason as { code?: string }).code);
            late();
            return {};
          }
          await isLate;
          await ctx.progress("first of 2");
          await ctx.progress("second of 2");
          return { n: 1 };
        }),
      },
      edges: { work: "end" },
    });
    const node = await bench.open({ programs: [tired] });
    const run = await node.start(tired, { n: 0, log: [] });
    await run.result(limit);
    expect(seen).toEqual([true, "STEP_TIMEOUT"]);
    const told: unknown[] = [];
    for await (const event of run.watch()) if (event.type === "progress") told.push(event.value);
    expect(told).toEqual(["first of 1", "first of 2", "second of 2"]);
    await node.stop();
  });

  test("a caller's input cannot pose as a fork and take another run's state", async () => {
    const secret = graph("secret", { state: S, start: "only", nodes: { only: () => {} }, edges: { only: "end" } });
    const node = await bench.open({ programs: [secret] });
    const victim = await node.start(secret, { n: 42, log: ["secret"] });
    await victim.result(limit);
    const posing = { "~fork": { run: victim.id, from: "only:1", state: null, by: "eve" }, input: null };
    const start = node.start(secret, posing as unknown as Trip);
    await expect(start).rejects.toThrow(InvalidInput);
    const client = createClient<readonly [typeof secret]>({ store: bench.store });
    await expect(client.start("secret", posing as unknown as Trip)).rejects.toThrow(InvalidInput);
    // With anything else in it, it is an input like any other.
    const other = await node.start(secret, { ...posing, n: 1, log: [] } as unknown as Trip);
    expect(await other.result(limit)).toMatchObject({ n: 1 });
    await node.stop();
  });

  test("mistakes in a gate or a wait are reported when the graph is defined", () => {
    const apply = () => {};
    expect(() => S.approval({ ask: () => "?", choices: [], apply })).toThrow("approval.choices");
    expect(() => S.approval({ ask: () => "?", default: "maybe" as "denied", apply })).toThrow("approval.default");
    expect(() => S.approval({ ask: () => "?", timeout: "soon" as "1s", apply })).toThrow("timeout of an approval");
    expect(() => S.node({ timeout: "soon" as "1s" }, apply)).toThrow(InvalidInput);
    const long = "x".repeat(120);
    const nested = (name: string, node: ReturnType<typeof S.parallel>) =>
      graph(name, { state: S, start: long, nodes: { [long]: node }, edges: { [long]: "end" } });
    const gate = S.approval({ ask: () => "?", apply });
    nested("fits", S.parallel({ gate }));
    expect(() => nested("too-deep", S.parallel({ [long]: gate }))).toThrow("the limit is 200");
  });
});
