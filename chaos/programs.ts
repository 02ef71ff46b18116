// The load: workflows with effects, sleeps, signals, children, failures, a step that may happen once at most, and sagas; graphs; DAGs; episodes;
// and what `kinds.ts` has. There are two versions of the code, and a run that kills its process.

import { actor, expectation, strategy } from "../src/actor/index.js";
import { dag, each, task } from "../src/dag/index.js";
import { append, graph, type NodeContext, state } from "../src/graph/index.js";
import { type Context, type StepInfo, signal, workflow } from "../src/index.js";
import { kindsWith } from "./kinds.js";

/** A step that was begun: by whom, under which claim. What it returns, too, so that the journal tells which try it was. */
export interface Mark {
  readonly runId: string;
  readonly step: string;
  readonly key: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly pid: number;
}

/** As it is in the log: with the time, by the clock of the machine. */
export interface LoggedMark extends Mark {
  readonly at: number;
}

/** Writes the mark down where a kill cannot take it back, then works for a while. */
export type Effect = (mark: Mark, idempotencyKey: string, workMs: number) => Promise<void>;

/** A step that is an effect; `move` is one of an actor. */
export interface Act {
  (ctx: Pick<Context, "runId" | "step">, step: string, key: string, workMs: number): Promise<Mark>;
  move(step: string, info: StepInfo, workMs: number): Promise<Mark>;
}

export interface Job {
  /** What the run must answer with. */
  readonly n: number;
  readonly workMs: number;
}

export const paid = signal<number>("paid");
/** A fault may last for seconds: what the network does to a step must not end it. */
const RETRY = { attempts: 100_000, backoff: "fixed", delay: 100 } as const;
const FAILS = 2;
/** What a trip does, and undoes in reverse when it is cancelled. */
export const TRIP: readonly string[] = ["book hotel", "book car", "book flight"];

/** Of the code: a rolling deployment goes from one to the other and back. */
export type Version = 1 | 2;
export const NEWEST: Version = 2;

/** `kill` ends this process; only nodes have it. */
export function programsWith(effect: Effect, version: Version = NEWEST, kill: () => Promise<void> = async () => {}) {
  type Steps = Pick<Context, "runId" | "step">;
  const mark = (ctx: Steps, step: string, key: string, info: StepInfo): Mark => {
    const { fence, attempt } = info;
    return { runId: ctx.runId, step, key, epoch: Number(fence), attempt, pid: process.pid };
  };
  const perform = async (made: Mark, info: StepInfo, workMs: number) => {
    await effect(made, info.idempotencyKey, workMs);
    return made;
  };
  const inStep = (ctx: Steps, step: string, key: string, workMs: number) =>
    ctx.step(step, { key, retry: RETRY }, async (info) => perform(mark(ctx, step, key, info), info, workMs));
  const act: Act = Object.assign(inStep, {
    move: (step: string, info: StepInfo, workMs: number) =>
      perform(markOf(info.idempotencyKey.split(":")[0]!, step, info), info, workMs),
  });

  const order = workflow("order", async (ctx, { n, workMs }: Job) => {
    await act(ctx, "charge", "1", 20);
    if (version === 2 && (await ctx.patched("weigh the order"))) await act(ctx, "weigh the order", "1", 20);
    await Promise.all(["left", "right"].map((side) => act(ctx, "pack", side, workMs)));
    await ctx.sleep("cool off", 200);
    await act(ctx, "ship", "1", 20);
    return n;
  });
  const payment = workflow("payment", async (ctx, { n, workMs }: Job) => {
    await act(ctx, "ask", "1", workMs);
    const parts = [await ctx.waitFor(paid), await ctx.waitFor(paid)];
    await act(ctx, "book", "1", 20);
    return parts[0]! === n && parts[1] === n + 1 ? n : { wrong: parts };
  });
  const item = workflow("item", async (ctx, { n, workMs }: Job) => {
    await act(ctx, "make", "1", workMs);
    // Not guarded: a step added at the end, where runs of the older code have ended.
    if (version === 2) await act(ctx, "label", "1", 20);
    return n;
  });
  const family = workflow("family", async (ctx, { n, workMs }: Job) => {
    const jobs = [1, 2, 3].map((part) => ({ n: n + part, workMs }));
    const parts = await ctx.children(item, jobs);
    await act(ctx, "join", "1", 20);
    return parts.reduce((sum, part) => sum + part, 0) - 2 * n - 6;
  });
  const flaky = workflow("flaky", async (ctx, { n, workMs }: Job) => {
    await ctx.step("stumble", { retry: RETRY }, async (info) => {
      const made = mark(ctx, "stumble", "1", info);
      await effect(made, info.idempotencyKey, info.attempt <= FAILS ? 20 : workMs);
      if (info.attempt <= FAILS) throw new Error(`attempt ${info.attempt} fails`);
      return made;
    });
    return n;
  });
  const notice = workflow("notice", async (ctx, { n, workMs }: Job) => {
    const sent = ctx.step("send", { atMostOnce: true }, async (info) => {
      const made = mark(ctx, "send", "1", info);
      await effect(made, info.idempotencyKey, workMs);
      return made;
    });
    // Begun on a node that is gone, or its one attempt met the network: either way it is not tried again.
    await sent.catch(() => {});
    return n;
  });
  const trip = workflow("trip", { cleanupTimeout: "1h" }, async (ctx, { n, workMs }: Job) => {
    for (const part of TRIP) {
      ctx.onCancel(`undo ${part}`, { retry: RETRY }, async (info) => {
        const made = mark(ctx, `undo ${part}`, "onCancel:1", info);
        await effect(made, info.idempotencyKey, workMs / 8);
        return made;
      });
      await act(ctx, part, "1", workMs / 8);
    }
    await ctx.sleep("travel", workMs);
    return n;
  });
  const poison = workflow("poison", (ctx) => ctx.step("kill", kill));
  const tour = tourWith(effect);
  const parcels = parcelsWith(act);
  const parcel = workflow("parcel", async (ctx, job: Job) => (await ctx.child(parcels, job)).sent);
  const thought = thinkerWith(act).expectations.thought;
  const kinds = kindsWith(act, RETRY);
  return { order, payment, item, family, flaky, notice, trip, poison, tour, parcels, parcel, thought, ...kinds };
}

/** Of a step whose key is the last part of its idempotency key. */
function markOf(runId: string, step: string, { idempotencyKey, fence, attempt }: StepInfo): Mark {
  const key = idempotencyKey.split(":").at(-1)!;
  return { runId, step, key, epoch: Number(fence), attempt, pid: process.pid };
}

/** An actor: episodes in moves with a checkpoint between them, a few at a time on all nodes together. */
function thinkerWith({ move: act }: Act) {
  const moves = strategy({
    steps: { think: (info, workMs: number) => act("think", info, workMs) },
    init: async (info, { n, workMs }: Job) => ({ ...(await act("init", info, 20)), n, workMs, at: 0 }),
    next: ({ at, n, workMs }) => {
      if (at === 5) return { do: "done", result: n };
      if (at === 1) return { do: "checkpoint" };
      if (at === 3) return { do: "sleep", name: "a while", for: 200 };
      return { do: "call", name: "think", args: workMs / 4 };
    },
    handle: (seen) => ({ ...seen, at: seen.at + 1 }),
  });
  const budget = { turns: null, tokens: null, timeout: null };
  return actor("thinker", { concurrency: 5, expectations: { thought: expectation({ budget, retry: RETRY }, moves) } });
}

/** A DAG: a diamond whose one side is a fan-out; each task and item is an effect. */
function parcelsWith(
  act: (ctx: Pick<Context, "runId" | "step">, step: string, key: string, workMs: number) => Promise<Mark>,
) {
  const options = { retry: RETRY };
  const picked = task(options, async (ctx, { n, workMs }: Job) => {
    await act(ctx, "pick", "1", workMs / 4);
    return n;
  });
  const weighed = task({ ...options, needs: { picked } }, async (ctx, { picked }) => {
    await act(ctx, "weigh", "1", 20);
    return picked;
  });
  const over = ({ picked }: { readonly picked: number }) => [picked + 1, picked + 2, picked + 3];
  const wrapped = each({ ...options, needs: { picked }, over, parallel: 2 }, async (ctx, item: number) => {
    await act(ctx, "wrap", "1", 20);
    return item;
  });
  const sent = task({ ...options, needs: { weighed, wrapped } }, async (ctx, { weighed, wrapped }) => {
    await act(ctx, "send out", "1", 20);
    return wrapped.reduce((sum, item) => sum + item, 0) - 2 * weighed - 6;
  });
  return dag("parcels", { picked, weighed, wrapped, sent });
}

/** A graph: two rounds of a node and a map, then a subgraph and a gate; each node and item is an effect. */
function tourWith(effect: Effect) {
  const act = async (ctx: NodeContext, workMs: number): Promise<Mark> => {
    const { runId, node: step, visit: key, fence, attempt } = ctx;
    const made = { runId, step, key, epoch: Number(fence), attempt, pid: process.pid };
    await effect(made, ctx.idempotencyKey, workMs);
    return made;
  };
  const options = { retry: RETRY };
  const I = state<{ readonly last?: Mark }>();
  const inner = graph("stop", {
    state: I,
    start: "look",
    nodes: { look: I.node(options, async (ctx) => ({ last: await act(ctx, 20) })) },
    edges: { look: "end" },
  });
  const S = state<Job & { readonly round: number; readonly seen: readonly Mark[]; readonly last?: Mark }>({
    seen: append(),
  });
  return graph("tour", {
    state: S,
    init: (job: Job) => ({ ...job, round: 0, seen: [] }),
    start: "go",
    nodes: {
      go: S.node(options, async (ctx, s) => ({ round: s.round + 1, last: await act(ctx, 20) })),
      see: S.map((s) => [s.workMs / 2, 20, 20], act, { into: "seen", limit: 2, ...options }),
      rest: S.subgraph(inner, { input: () => ({}), apply: () => {} }),
      gate: S.approval({ ask: () => "Pay?", plan: (s) => s.n, apply: () => {} }),
      pay: S.node(options, async (ctx) => ({ last: await act(ctx, 20) })),
    },
    edges: {
      go: "see",
      see: { to: ["go", "rest"], choose: (s) => (s.round < 2 ? "go" : "rest") },
      rest: "gate",
      gate: "pay",
      pay: "end",
    },
    output: (s) => (s.seen.length === 6 ? s.n : s.seen.length),
    snapshotEvery: 2,
  });
}

export type Programs = ReturnType<typeof programsWith>;
/** Those a client starts. */
export const STARTED = [
  "order",
  "order",
  "payment",
  "family",
  "flaky",
  "notice",
  "trip",
  "tour",
  "parcel",
  "thought",
  "crossing",
  "metered",
] as const satisfies (keyof Programs)[];
export const AT_MOST_ONCE = "send";
