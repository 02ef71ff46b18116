// Episodes on both stores: how they are started, what they may cost, and how their strategies advance.

import { beforeAll, expect, test } from "vitest";
import { actor } from "../../src/actor/actor.js";
import { expectation } from "../../src/actor/expectation.js";
import { type Checkpoints, strategy } from "../../src/actor/strategy.js";
import type { Node } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import { event, on } from "../../src/trigger/event.js";
import { every } from "../../src/trigger/schedule.js";
import { manual } from "../../src/trigger/trigger.js";
import { quarantinedWith } from "../harness/quarantined.js";
import { onBothStores } from "../workflow/node-suite.js";

const hang = () => new Promise<never>(() => {});
const ready = signal<{ n: number }>("ready");
const moved = event<{ resource: string; n: number }>()("resource.moved");

onBothStores((bench) => {
  const watcher = actor("watcher", {
    expectations: {
      seen: expectation({ on: [on(moved), every("1h"), manual<{ why: string }>()] }, async (ctx, input) =>
        ctx.step("look", () => (input.type === "manual" ? input.why : input.type)),
      ),
      thrifty: expectation({ budget: { tokens: 100 } }, async (ctx, each: number) => {
        for (let n = 1; ; n++) {
          const tokens = await ctx.step("ask", () => each);
          ctx.spend({ tokens });
          if (n === 3) return ctx.spent;
        }
      }),
      answers: expectation(
        { budget: { turns: 2 }, onBudgetExhausted: ({ limit, spent, input }) => `${limit} ${spent.turns} ${input}` },
        async (ctx, input: string): Promise<string> => {
          for (;;) {
            await ctx.step("turn", () => input);
            ctx.spend({ turns: 1 });
          }
        },
      ),
      blocked: expectation({ budget: { timeout: 150 } }, async (ctx) => ctx.step("hang", hang)),
      patient: expectation({ budget: { timeout: 300 } }, async (ctx) => {
        await ctx.waitFor(ready);
        return ctx.step("after", () => "in time");
      }),
      inside: expectation(async (ctx) => ctx.step("wrong", { retry: 1 }, () => ctx.spend({ tokens: 1 }))),
      retried: expectation({ retry: { attempts: 4, delay: 5, jitter: 0 } }, async (ctx) =>
        ctx.step("flaky", ({ attempt }) => {
          if (attempt < 4) throw new Error(`attempt ${attempt}`);
          return attempt;
        }),
      ),
    },
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [watcher] });
  });
  const { expectations } = watcher;

  test("an expectation is started by an event, once, and by a call with a payload of its own", async () => {
    const emitted = await node.emit(moved, { resource: "r", n: 1 });
    const again = await node.emit(moved, { resource: "r", n: 1 });
    expect(emitted.runs).toMatchObject([{ program: "watcher::seen", outcome: "started" }]);
    expect(again.runs).toMatchObject([{ runId: emitted.runs[0]!.runId, outcome: "duplicate" }]);
    expect(await node.run(emitted.runs[0]!.runId!).result({ timeout: "5s" })).toBe("resource.moved");
    const called = await node.start(expectations.seen, { type: "manual", why: "asked for" });
    expect(await called.result({ timeout: "5s" })).toBe("asked for");
  });

  test("tokens beyond the budget end the episode with BUDGET_EXHAUSTED, which names the budget", async () => {
    const enough = await node.start(expectations.thrifty, 30);
    expect(await enough.result({ timeout: "5s" })).toEqual({ turns: 0, tokens: 90 });
    const told: unknown[] = [];
    node.on("run.budget_exhausted", (facts) => told.push(facts));
    const tooMuch = await node.start(expectations.thrifty, 60);
    await expect(tooMuch.result({ timeout: "5s" })).rejects.toMatchObject({
      state: "failed",
      cause: { code: "BUDGET_EXHAUSTED" },
    });
    expect(told).toMatchObject([{ runId: tooMuch.id, program: "watcher::thrifty", limit: "tokens", tokens: 120 }]);
  });

  test("the return value of onBudgetExhausted becomes the episode's result", async () => {
    const run = await node.start(expectations.answers, "abc");
    expect(await run.result({ timeout: "5s" })).toBe("turns 3 abc");
  });

  test("a call that ignores its abort does not keep the episode from ending at its time", async () => {
    const run = await node.start(expectations.blocked);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ cause: { code: "BUDGET_EXHAUSTED" } });
  });

  test("waiting is not working time: an episode that waits longer than its budget continues", async () => {
    const run = await node.start(expectations.patient);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    expect((await run.status()).wakeAt).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 400));
    await run.signal(ready, { n: 1 });
    expect(await run.result({ timeout: "5s" })).toBe("in time");
  });

  test("spending inside a step is rejected, because a replay would forget it", async () => {
    const run = await node.start(expectations.inside);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "INVALID_INPUT" } });
  });

  test("the retry policy of an expectation applies to its steps", async () => {
    const run = await node.start(expectations.retried);
    expect(await run.result({ timeout: "5s" })).toBe(4);
  });
});

onBothStores((bench) => {
  const calls: string[] = [];
  const topic = strategy({
    steps: {
      search: (_s, query: string) => {
        calls.push(query);
        if (query === "bad") throw new Error("nothing found");
        return query.length;
      },
    },
    signals: { ready },
    init: (_s, input: { queries: string[] }) => {
      calls.push("init");
      return { left: input.queries, sum: 0, asked: false, heard: 0, saved: 0 };
    },
    next: (state) => {
      const [query] = state.left;
      if (query === "save") return { do: "checkpoint" };
      if (query === "nap") return { do: "sleep", name: "nap", for: 20 };
      if (query === "hear") return { do: "wait", name: "ready" };
      if (query === "ask") return { do: "approval", name: "go", ask: "Go on?", plan: { sum: state.sum } };
      if (query !== undefined) return { do: "call", name: "search", args: query, retry: 1 };
      return { do: "done", result: { sum: state.sum, heard: state.heard, saved: state.saved } };
    },
    handle: (state, step, { spend }) => {
      const rest = { ...state, left: state.left.slice(1) };
      if (step.did === "call") spend({ tokens: step.result });
      if (step.did === "call") return { ...rest, sum: state.sum + step.result };
      if (step.did === "wait") return { ...rest, heard: state.heard * 10 + (step.payload?.n ?? 0) };
      if (step.did === "checkpoint") return { ...rest, saved: state.saved + 1 };
      if (step.did === "approval" && step.decision.outcome !== "approved") return { ...rest, left: [] };
      return rest;
    },
    failed: (state, call) => ({ ...state, left: state.left.slice(1), sum: state.sum - String(call.args).length }),
  });
  const thinker = actor("thinker", {
    expectations: {
      topic: expectation({ budget: { turns: 8, tokens: 1_000 } }, topic),
      stuck: expectation(
        strategy({
          steps: {},
          init: () => 0,
          next: () => ({ do: "checkpoint" }),
          handle: (state) => state,
        }),
      ),
    },
  });
  let node: Node;
  beforeAll(async () => {
    node = await bench.open({ programs: [thinker] });
  });
  const start = (...queries: string[]) => node.start(thinker.expectations.topic, { queries });

  test("a strategy in moves: each move is recorded, and its result makes the next state", async () => {
    const run = await start("abc", "nap", "bad", "de");
    expect(await run.result({ timeout: "5s" })).toEqual({ sum: 2, heard: 0, saved: 0 });
    const { entries } = (await bench.store.journal.read(run.id))!;
    const steps = entries.filter(({ kind }) => kind.startsWith("step"));
    expect(steps.map(({ kind, name, key }) => `${kind} ${name} ${key}`)).toEqual([
      "step init 1",
      "step search 1",
      "step.failed search 3",
      "step search 4",
    ]);
  });

  test("an approval is bound to its plan: a decision on another plan is refused", async () => {
    const run = await start("abc", "ask", "de");
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    const decision = { choice: "approved", by: "ann" };
    await expect(run.decide("go", { ...decision, shown: "0".repeat(64) })).rejects.toMatchObject({
      code: "DECISION_STALE",
    });
    const { entries } = (await bench.store.journal.read(run.id))!;
    const asked = JSON.parse(entries.find(({ kind }) => kind === "approval.begun")!.payload!.data);
    expect(asked.plan).toEqual({ sum: 3 });
    await run.decide("go", { ...decision, shown: asked.hash });
    expect(await run.result({ timeout: "5s" })).toMatchObject({ sum: 5 });
  });

  test("the strategy decides what to do after a denied approval", async () => {
    const run = await start("ask", "never");
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    await run.decide("go", { choice: "denied", by: "ann" });
    expect(await run.result({ timeout: "5s" })).toMatchObject({ sum: 0 });
  });

  test("an episode resumes from a checkpoint with its keys, signals and budget unchanged", async () => {
    calls.length = 0;
    const run = await start("abc", "hear", "save", "hear", "ask", "ask", "de");
    for (const n of [1, 2]) await run.signal(ready, { n });
    // Both signals came before the checkpoint; the second is consumed after it.
    for (const nth of [1, 2]) {
      const waits = async () => {
        const { entries } = (await bench.store.journal.read(run.id))!;
        return entries.filter(({ kind }) => kind === "approval.begun").length;
      };
      await expect.poll(waits, { timeout: 5_000 }).toBe(nth);
      await run.decide("go", { choice: "approved", by: "ann", nth });
    }
    expect(await run.result({ timeout: "5s" })).toEqual({ sum: 5, heard: 12, saved: 1 });
    expect(calls).toEqual(["init", "abc", "de"]);
  });

  test("turns are counted across checkpoints and claims", async () => {
    const run = await start("a", "b", "c", "save", "nap", "e", "f", "g", "h", "i");
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "BUDGET_EXHAUSTED" } });
  });

  test("a strategy that only ever asks for checkpoints is stopped", async () => {
    const run = await node.start(thinker.expectations.stuck, undefined as never);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { code: "STRATEGY_STUCK" } });
  });
});

onBothStores((bench) => {
  const version = (checkpoints: Checkpoints) =>
    actor("saver", {
      expectations: {
        save: expectation(
          strategy({
            steps: { sum: (_s, n: number) => n },
            signals: { ready },
            checkpoints,
            init: (_s, _input: null) => ({ at: 0, total: 0, version: 1 }),
            next: (state) => {
              if (state.at === 0) return { do: "call", name: "sum", args: 1 };
              if (state.at === 1) return { do: "checkpoint" };
              if (state.at === 2) return { do: "wait", name: "ready" };
              return { do: "done", result: `v${state.version} ${state.total}` };
            },
            handle: (state, step) => ({
              ...state,
              at: state.at + 1,
              total: state.total + (step.did === "call" ? step.result : 0),
            }),
          }),
        ),
      },
    });
  const first = version({ version: 1 });
  const { save } = first.expectations;

  /** Begun by the first version, and waiting after its checkpoint. */
  async function begun() {
    const node = await bench.open({ programs: [first] });
    const run = await node.start(save, null);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    await node.stop();
    return run;
  }

  test("a state of an older version is migrated, step by step", async () => {
    const run = await begun();
    const migrate = {
      1: (s: { version: number; total: number }) => ({ ...s, version: 2, total: s.total + 10 }),
      2: (s: { version: number; total: number }) => ({ ...s, version: 3, total: s.total + 100 }),
    };
    const node = await bench.open({ programs: [version({ version: 3, migrate })] });
    await node.run(run.id).signal(ready, { n: 1 });
    expect(await node.run(run.id).result({ timeout: "5s" })).toBe("v3 111");
    await node.stop();
  });

  test("a migration that fails or is missing, and a newer version, quarantine the run; it continues after a rollback", async () => {
    const fails = {
      1: () => {
        throw new Error("cannot");
      },
    };
    for (const checkpoints of [{ version: 2, migrate: fails }, { version: 2 }]) {
      const run = await begun();
      const newer = await bench.open({ programs: [version(checkpoints)] });
      await newer.run(run.id).signal(ready, { n: 1 });
      const reason = () => quarantinedWith(bench.store, run.id);
      await expect.poll(reason, { timeout: 5_000 }).toBe("CHECKPOINT_UNREADABLE");
      await newer.stop();
      const older = await bench.open({ programs: [first] });
      expect(await older.run(run.id).result({ timeout: "5s" })).toBe("v1 1");
      const { entries } = (await bench.store.journal.read(run.id))!;
      expect(entries.filter(({ kind }) => kind === "step").map(({ name }) => name)).toEqual(["init", "sum"]);
      await older.stop();
    }
  });

  test("a checkpoint of a newer version is not read by older code", async () => {
    const newer = version({ version: 2, migrate: { 1: (state) => state } });
    const node = await bench.open({ programs: [newer] });
    const run = await node.start(newer.expectations.save, null);
    await expect.poll(async () => (await run.status()).state, { timeout: 5_000 }).toBe("parked");
    await node.stop();
    const older = await bench.open({ programs: [first] });
    await older.run(run.id).signal(ready, { n: 1 });
    await expect.poll(() => quarantinedWith(bench.store, run.id), { timeout: 5_000 }).toBe("CHECKPOINT_UNREADABLE");
    await older.stop();
  });
});
