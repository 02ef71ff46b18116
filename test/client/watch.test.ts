// Watching a run: from its start or a cursor, here or in another process, until it ends.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { RunEvent } from "../../src/client/run-event.js";
import { createNode } from "../../src/node/create-node.js";
import { signal } from "../../src/replay/signal.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "../workflow/node-suite.js";

const go = signal("go");
const travel = workflow("travel", async (ctx, to: string) => {
  await ctx.step("pack", () => "bag");
  await ctx.progress({ done: 1 });
  await ctx.waitFor(go);
  let tries = 0;
  await ctx.step("board", { retry: { attempts: 2, delay: 10 } }, () => {
    if (tries++ === 0) throw new TypeError("late");
  });
  await ctx.sleep("fly", 20);
  return `in ${to}`;
});
const laps = workflow("laps", async (ctx, left: number): Promise<string> => {
  await ctx.progress(left);
  await ctx.waitFor(go);
  return left > 1 ? ctx.continueAsNew(left - 1) : "done";
});
const fails = workflow("fails", async () => {
  throw new RangeError("no");
});

/** Counts the queries of a watcher. */
function counting(store: Store) {
  const count = { reads: 0 };
  const read: Store["journal"]["read"] = (...all) => {
    count.reads++;
    return store.journal.read(...all);
  };
  const glance: Store["runs"]["glance"] = (...all) => {
    count.reads++;
    return store.runs.glance(...all);
  };
  return { count, store: { ...store, runs: { ...store.runs, glance }, journal: { ...store.journal, read } } };
}

onBothStores((bench) => {
  test("yields what happened in order, with payloads, and ends with the run", async () => {
    const node = await bench.open({ programs: [travel] });
    const run = await node.start(travel, "Rome");
    const seen: RunEvent[] = [];
    for await (const event of createClient({ store: bench.store }).run(run.id).watch()) {
      seen.push(event);
      if (event.type === "progress") await run.signal(go);
    }
    const story = seen.filter(({ type }) => type !== "released");
    expect(story).toMatchObject([
      { type: "started", input: "Rome" },
      { type: "step", name: "pack", state: "done", value: "bag" },
      { type: "progress", value: { done: 1 } },
      { type: "received", name: "go" },
      { type: "step", name: "board", state: "tried", error: { name: "TypeError", message: "late" } },
      { type: "step", name: "board", state: "done" },
      { type: "waiting", on: "sleep", name: "fly", until: expect.any(Number) },
      { type: "recorded", kind: "sleep", name: "fly" },
      { type: "ended", state: "completed", value: "in Rome" },
    ]);
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, i) => i + 1));
    await node.stop();
  });

  test("continues after a cursor, and a cursor at the end of an ended run ends at once", async () => {
    const node = await bench.open({ programs: [fails] });
    const run = await node.start(fails);
    await run.result({ timeout: "10s" }).catch(() => {});
    const all: RunEvent[] = [];
    for await (const event of run.watch()) all.push(event);
    expect(all.at(-1)).toMatchObject({ type: "ended", state: "failed", value: { name: "RangeError" } });
    const rest: RunEvent[] = [];
    for await (const event of run.watch({ after: 1 })) rest.push(event);
    expect(rest).toEqual(all.slice(1));
    for await (const event of run.watch({ after: all.at(-1)!.seq })) expect.fail(`told ${event.type}`);
    await node.stop();
  });

  test("follows a run into its next generation: one sequence, and another start with its input", async () => {
    const node = await bench.open({ programs: [laps] });
    const run = await node.start(laps, 3);
    const seen: RunEvent[] = [];
    for await (const event of createClient({ store: bench.store }).run(run.id).watch()) {
      seen.push(event);
      // Each generation waits until the one before was seen completely.
      if (event.type === "progress") await run.signal(go);
    }
    const starts = seen.flatMap((event) => (event.type === "started" ? event.input : []));
    const progress = seen.flatMap((event) => (event.type === "progress" ? event.value : []));
    expect(starts).toEqual([3, 2, 1]);
    expect(progress).toEqual([3, 2, 1]);
    expect(seen.at(-1)).toMatchObject({ type: "ended", state: "completed", value: "done" });
    const seqs = seen.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    const rest: number[] = [];
    for await (const { seq } of run.watch({ after: seqs.at(-3)! })) rest.push(seq);
    expect(rest).toEqual(seqs.slice(-2));
    await node.stop();
  });

  test("an unknown run is reported as such", async () => {
    const unknown = createClient({ store: bench.store }).run("00000000-0000-7000-8000-000000000000");
    await expect(unknown.watch().next()).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });

  test("polls less and less often while nothing changes, and not at all after the loop is left", async () => {
    const node = await bench.open({ programs: [travel] });
    const run = await node.start(travel, "Oslo");
    const { count, store } = counting(bench.store);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 1_500);
    const seen: string[] = [];
    for await (const { type } of createClient({ store }).run(run.id).watch({ signal: stop.signal })) seen.push(type);
    expect(seen[0]).toBe("started");
    // 20 ms, then half as long again each time: not more than a dozen polls without news in 1.5 s.
    expect(count.reads).toBeLessThan(20);
    for await (const { type } of createClient({ store }).run(run.id).watch()) {
      if (type === "started") break;
    }
    const after = count.reads;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(count.reads).toBe(after);
    await run.cancel();
    await node.stop();
  });
});

test("a watcher in the process that executes the run is woken at once, without time passing", async () => {
  const world = new VirtualWorld();
  const store = memoryStore({ world });
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const two = workflow("two", async (ctx) => {
    await ctx.step("first", () => 1);
    await ctx.step("second", () => gate);
  });
  const node = await createNode({ store, programs: [two] }, world);
  const run = await node.start(two);
  const seen: string[] = [];
  for await (const event of run.watch()) {
    seen.push(event.type === "step" ? event.name : event.type);
    // The watcher has found nothing more by now, and sleeps on a stopped clock.
    if (seen.length === 2) setTimeout(release, 50);
  }
  expect(seen).toEqual(["started", "first", "second", "ended"]);
  const stopped = node.stop();
  await world.advance(5_000);
  await stopped;
});
