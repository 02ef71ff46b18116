// What a wait writes, and when: its beginning with the park, the end of a sleep with what the function does next.

import { expect, onTestFinished, test } from "vitest";
import { InvalidInput } from "../../src/kernel/error.js";
import { entryOf } from "../../src/kernel/run/effect.js";
import { createNode } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import type { Commit, CommitAnswer } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreUnavailable } from "../../src/store/postgres/connection/errors.js";
import type { AnyWorkflow } from "../../src/workflow/context.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";

const TIMING = { housekeeping: 20, lease: 300, renewEvery: 50, pollInterval: 20, pollMax: 40 } as const;
const NAP_MS = 30;
const go = signal<string>("go");

type Send = () => Promise<readonly CommitAnswer[]>;
/** Called before each commit is sent, with the kinds of its entries. */
type Hook = (kinds: string, send: Send, commit: Commit) => Promise<readonly CommitAnswer[]>;

/** One node on a store that notes which entries each commit writes. */
async function open(program: AnyWorkflow, hook: Hook = (_, send) => send()) {
  const memory = memoryStore();
  const sent: string[] = [];
  const parks: (number | null)[] = [];
  const commit: Store["runs"]["commit"] = async (commits) => {
    const answers = commits.map((one) => {
      const kinds = one.effects.map((effect) => entryOf(effect).kind).join(" ");
      sent.push(kinds);
      for (const effect of one.effects) if (effect.kind === "park") parks.push(effect.wakeInMs);
      return hook(kinds, () => memory.runs.commit([one]), one);
    });
    return (await Promise.all(answers)).flat();
  };
  const store = { ...memory, runs: { ...memory.runs, commit } } as Store;
  const node = await createNode({ store, programs: [program], timing: TIMING });
  onTestFinished(() => node.stop());
  const entries = async (id: string) => (await memory.journal.read(id))!.entries;
  return { node, sent, parks, entries };
}

/** Holds the first commit of these kinds until `release`. */
function holding(held: string) {
  const isHeld = deferred<void>();
  const gate = deferred<void>();
  let isFirst = true;
  const hook: Hook = async (kinds, send) => {
    if (kinds !== held || !isFirst) return send();
    isFirst = false;
    isHeld.resolve();
    await gate.promise;
    return send();
  };
  return { hook, isHeld: isHeld.promise, release: () => gate.resolve() };
}

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("a run that sleeps and ends writes two commits", async () => {
  const nap = workflow("nap", async (ctx) => {
    await ctx.sleep("nap", NAP_MS);
    return "rested";
  });
  const { node, sent, parks, entries } = await open(nap);
  const run = await node.start(nap);
  expect(await run.result()).toBe("rested");
  expect(sent).toEqual(["sleep.begun parked", "sleep completed"]);
  expect(parks).toEqual([NAP_MS]);
  const log = await entries(run.id);
  expect(log.map(({ seq, kind }) => [seq, kind])).toEqual([
    [1, "start"],
    [2, "sleep.begun"],
    [3, "parked"],
    [4, "sleep"],
    [5, "completed"],
  ]);
  expect(log[3]!.at - log[1]!.at).toBeGreaterThanOrEqual(NAP_MS);
});

test("a sleep after a sleep, a failure and a new generation are written with the end of the sleep", async () => {
  const naps = workflow("naps", async (ctx, left: number) => {
    await ctx.sleep("first", NAP_MS);
    await ctx.sleep("second", NAP_MS);
    if (left > 0) return ctx.continueAsNew(left - 1);
    throw new Error("tired");
  });
  const { node, sent } = await open(naps);
  const run = await node.start(naps, 1);
  await expect(run.result()).rejects.toThrow("tired");
  const both = ["sleep.begun parked", "sleep sleep.begun parked"];
  expect(sent).toEqual([...both, "sleep start", ...both, "sleep failed"]);
});

test("a step after a sleep begins only when the end of the sleep is in the journal", async () => {
  let steps = 0;
  const works = workflow("works", async (ctx) => {
    await ctx.sleep("nap", NAP_MS);
    return ctx.step("work", () => ++steps);
  });
  const { hook, isHeld, release } = holding("sleep");
  const { node, sent } = await open(works, hook);
  const run = await node.start(works);
  await isHeld;
  await pass(50);
  expect(steps).toBe(0);
  release();
  expect(await run.result()).toBe(1);
  expect(sent).toEqual(["sleep.begun parked", "sleep", "step", "completed"]);
});

test("the end of a sleep does not wait for what the function awaits outside of its context", async () => {
  const outside = deferred<void>();
  const awaits = workflow("awaits", async (ctx) => {
    await ctx.sleep("nap", NAP_MS);
    await outside.promise;
  });
  const { node, sent } = await open(awaits);
  const run = await node.start(awaits);
  await expect.poll(() => sent).toEqual(["sleep.begun parked", "sleep"]);
  outside.resolve();
  await run.result();
  expect(sent.slice(2)).toEqual(["completed"]);
});

test("next to a step at work, a wait is written at once", async () => {
  const work = deferred<void>();
  const both = workflow("both", async (ctx) => {
    await Promise.all([ctx.step("work", () => work.promise), ctx.sleep("nap", NAP_MS)]);
  });
  const { node, sent } = await open(both);
  const run = await node.start(both);
  await expect.poll(() => sent).toEqual(["sleep.begun", "sleep"]);
  work.resolve();
  await run.result();
  expect(sent.slice(2)).toEqual(["step", "completed"]);
});

test("with another call open, the end of a sleep is written before the function receives it", async () => {
  const seen: string[] = [];
  const races = workflow("races", async (ctx) => {
    const first = await Promise.race([ctx.sleep("nap", NAP_MS).then(() => "slept"), ctx.waitFor(go)]);
    seen.push(first);
    return first;
  });
  const { hook, isHeld, release } = holding("sleep");
  const { node, sent } = await open(races, hook);
  const run = await node.start(races);
  await isHeld;
  await run.signal(go, "too late");
  await pass(50);
  expect(seen).toEqual([]);
  release();
  expect(await run.result()).toBe("slept");
  expect(sent.slice(0, 2)).toEqual(["sleep.begun parked", "sleep"]);
});

test("waits that begin together are one commit, and the run wakes for the shortest", async () => {
  const waits = workflow("waits", async (ctx) => {
    const long = ctx.sleep("long", "1h");
    const answer = await ctx.waitFor(go, { timeout: NAP_MS });
    void long.catch(() => {});
    return answer ?? "expired";
  });
  const { node, sent, parks } = await open(waits);
  const run = await node.start(waits);
  expect(await run.result()).toBe("expired");
  expect(sent).toEqual(["sleep.begun wait.begun parked", "wait.expired", "completed"]);
  expect(parks).toEqual([NAP_MS]);
});

test("a wait that is shorter than a park is written at once", async () => {
  const blink = workflow("blink", async (ctx) => void (await ctx.sleep("blink", 1)));
  const { node, sent } = await open(blink);
  await (await node.start(blink)).result();
  expect(sent[0]).toBe("sleep.begun");
});

test("a wait counts from when it was written, however long that took", async () => {
  const naps = workflow("naps", async (ctx) => {
    await Promise.all([ctx.sleep("nap", 2 * NAP_MS), ctx.sleep("blink", 1)]);
  });
  const { hook, isHeld, release } = holding("sleep.begun sleep.begun");
  const { node, entries } = await open(naps, hook);
  const run = await node.start(naps);
  await isHeld;
  await pass(3 * NAP_MS);
  release();
  await run.result();
  const [begun, ended] = (await entries(run.id)).filter(({ name }) => name === "nap");
  expect([begun!.kind, ended!.kind]).toEqual(["sleep.begun", "sleep"]);
  expect(ended!.at - begun!.at).toBeGreaterThanOrEqual(2 * NAP_MS);
});

for (const request of ["cancel", "pause"] as const) {
  test(`after a ${request} that comes while the end of a sleep is written, no step begins`, async () => {
    let steps = 0;
    const works = workflow("works", async (ctx) => {
      await ctx.sleep("nap", NAP_MS);
      return ctx.step("work", () => ++steps);
    });
    const { hook, isHeld, release } = holding("sleep");
    const { node } = await open(works, hook);
    const run = await node.start(works);
    await isHeld;
    const asked = request === "cancel" ? run.cancel() : run.pause();
    await pass(50);
    release();
    await asked;
    const state = request === "cancel" ? "cancelled" : "paused";
    await expect.poll(async () => (await run.status()).state).toBe(state);
    expect(steps).toBe(0);
    if (request === "cancel") return;
    await run.resume();
    expect(await run.result()).toBe(1);
  });

  test(`a ${request} of a sleeping run finds it as before`, async () => {
    let ended = 0;
    const naps = workflow("naps", async (ctx) => {
      await ctx.sleep("nap", request === "cancel" ? "1h" : 100);
      return ++ended;
    });
    const { node, sent } = await open(naps);
    const run = await node.start(naps);
    await expect.poll(async () => (await run.status()).state).toBe("parked");
    if (request === "cancel") {
      await run.cancel();
      await expect.poll(async () => (await run.status()).state).toBe("cancelled");
      expect(ended).toBe(0);
    } else {
      await run.pause();
      await pass(150);
      expect(ended).toBe(0);
      await run.resume();
      expect(await run.result()).toBe(1);
      expect(sent.at(-1)).toBe("sleep completed");
    }
  });
}

const LOST: CommitAnswer = { outcome: "lost" };
const REFUSED: CommitAnswer = { outcome: "refused", error: new InvalidInput("x", "is bad") };
const unavailable = () => new StoreUnavailable("commit", 1, null);

/** What may happen to the commit that has both the end of a sleep and the end of the run. */
const TROUBLES: Readonly<Record<string, (send: Send) => Promise<readonly CommitAnswer[]>>> = {
  "whose answer is lost": (send) =>
    send().then(() => {
      throw unavailable();
    }),
  "that is not sent": () => Promise.reject(unavailable()),
  "whose claim is lost": async () => [LOST],
  "that is refused": async () => [REFUSED],
};

for (const [what, trouble] of Object.entries(TROUBLES)) {
  test(`a commit ${what} leaves one end of the sleep and one of the run`, async () => {
    let passed = 0;
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("nap", NAP_MS);
      return ++passed;
    });
    let isFirst = true;
    const { node, sent, entries } = await open(nap, (kinds, send) => {
      if (kinds !== "sleep completed" || !isFirst) return send();
      isFirst = false;
      return trouble(send);
    });
    const run = await node.start(nap);
    expect(await run.result({ timeout: "10s" })).toBe(passed);
    const kinds = (await entries(run.id)).map(({ kind }) => kind).filter((kind) => kind !== "reclaimed");
    expect(kinds).toEqual(["start", "sleep.begun", "parked", "sleep", "completed"]);
    expect(new Set(sent)).toEqual(new Set(["sleep.begun parked", "sleep completed"]));
  });
}
