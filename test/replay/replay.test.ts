// Replay alone: in which order results reach a function, and when a mismatch is detected.

import { expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { LazyAbort } from "../../src/kernel/lazy-abort.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { World } from "../../src/kernel/world.js";
import type { Call } from "../../src/replay/call.js";
import { callId, readRecorded } from "../../src/replay/recorded.js";
import { Replay } from "../../src/replay/replay.js";
import type { JournalEntry } from "../../src/store/contract/journal/journal.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

const entry = (seq: number, kind: string, name = ""): JournalEntry => {
  return { seq, epoch: 1, kind, name, key: "1", payload: null, at: 0 };
};

function open(log: readonly JournalEntry[], world: World = new VirtualWorld()) {
  const session = {
    run: { runId: "r", baseSeq: 0 },
    world,
    lost: new LazyAbort(),
    over: new LazyAbort(),
    stopping: false,
    inboxSeq: 0,
    length: log.length,
    databaseNow: () => 0,
    onChange: () => {},
    changed: () => new Promise<void>(() => {}),
  } as unknown as Session;
  const replay = new Replay(session, readRecorded(log), { timeoutMs: null, historyLimit: 1_000 });
  const told: string[] = [];
  /** A step that the test ends; `started` means that it was not in the journal. */
  const step = (name: string, started: (id: string) => void = () => {}, first = false): Promise<void> =>
    new Promise((resolve) => {
      const call: Call & { started: boolean; running: boolean } = {
        id: callId("step", name, "1"),
        title: `step "${name}"`,
        first,
        started: false,
        running: false,
        deadline: null,
        isCleanup: false,
        start() {
          call.started = true;
          call.running = true;
          started(call.id);
        },
        expire() {},
        withdraw: () => null,
        deliver() {
          call.running = false;
          told.push(name);
          resolve();
        },
      };
      replay.ask(call);
    });
  const run = (body: Promise<unknown>) => replay.run(body, { isDue: false, take: async () => {} });
  return { replay, step, run, told };
}

test("endings that arrive in another order than they were written are delivered in the journal's order", async () => {
  const { replay, step, run, told } = open([entry(1, "start")]);
  const started: string[] = [];
  const note = (id: string) => {
    if (started.push(id) < 3) return;
    for (const seq of [4, 2, 3]) replay.ended({ id: started[seq - 2]!, entry: entry(seq, "step") });
  };
  const race = Promise.race(["a", "b", "c"].map((name) => step(name, note).then(() => name)));
  expect(await run(race)).toEqual({ kind: "returned", value: "a" });
  expect(told[0]).toBe("a");
});

test("recorded endings are delivered one turn apart: what the first causes comes before the second", async () => {
  const { step, run, told } = open([entry(1, "start"), entry(2, "step", "a"), entry(3, "step", "b")]);
  const after = async () => {
    await step("a");
    for (let i = 0; i < 20; i++) await null;
    told.push("what a brings about");
  };
  await run(Promise.all([after(), step("b")]));
  expect(told).toEqual(["a", "what a brings about", "b"]);
});

test("a new call next to recorded ones is no mismatch while the function continues", async () => {
  const { replay, step, run } = open([entry(1, "start"), entry(2, "step", "a"), entry(3, "step", "b")]);
  const fresh = (id: string) => replay.ended({ id, entry: entry(4, "step") });
  const body = Promise.all([step("new", fresh), step("a").then(() => step("b"))]).then(() => "fits");
  expect(await run(body)).toEqual({ kind: "returned", value: "fits" });
});

test("a recorded call that is never made is a mismatch once the function is idle", async () => {
  const { step, run } = open([entry(1, "start"), entry(2, "step", "a"), entry(3, "step", "b")]);
  const outcome = await run(step("a").then(() => step("renamed")));
  expect(outcome).toMatchObject({ kind: "mismatch", missing: [{ name: "b" }], asked: ['step "renamed"'] });
});

test("while a patch is being recorded no result is delivered: without it a replay would differ", async () => {
  const { replay, step, run, told } = open([entry(1, "start")]);
  const ids: string[] = [];
  const patch = step("patch", (id) => ids.push(id), true);
  const other = step("other", (id) => replay.ended({ id, entry: entry(2, "step") }));
  const race = Promise.race([patch.then(() => "patch"), other.then(() => "other")]);
  const outcome = run(race);
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([]);
  replay.ended({ id: ids[0]!, entry: entry(3, "patched") });
  expect(await outcome).toEqual({ kind: "returned", value: "other" });
});

test("a second ending of a call, as of a wait that timed out as its signal came, is dropped and no mismatch", async () => {
  const { step, run, told } = open([entry(1, "start"), entry(2, "step", "a"), entry(3, "step", "a")]);
  expect(await run(step("a").then(() => "fits"))).toEqual({ kind: "returned", value: "fits" });
  expect(told).toEqual(["a"]);
});

test("a recorded call that the function makes some microtasks after another is no mismatch", async () => {
  const { replay, step, run, told } = open([entry(1, "start"), entry(2, "step", "later")]);
  const start = (id: string) => replay.ended({ id, entry: entry(3, "step") });
  const later = async () => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
    await step("later");
  };
  expect(await run(Promise.all([step("first", start), later()]))).toMatchObject({ kind: "returned" });
  expect(told).toEqual(["later", "first"]);
});

test("an ending that comes in any microtask after a turn is delivered, and is no mismatch", async () => {
  const world = systemWorld();
  for (let turns = 1; turns <= 5; turns++) {
    for (let microtasks = 0; microtasks < 8; microtasks++) {
      const { replay, step, run, told } = open([entry(1, "start")], world);
      let seq = 1;
      /** As from a store that answers without a macrotask. */
      const endsAfter = (turns: number, microtasks: number) => async (id: string) => {
        for (let i = 0; i < turns; i++) await world.turn();
        for (let i = 0; i < microtasks; i++) await Promise.resolve();
        replay.ended({ id, entry: entry(++seq, "step") });
      };
      const first = async () => {
        await step("a", endsAfter(1, 0));
        await step("b", endsAfter(3, 0));
      };
      const body = Promise.all([first(), step("c", endsAfter(turns, microtasks))]);
      expect(await run(body)).toMatchObject({ kind: "returned" });
      expect([...told].sort()).toEqual(["a", "b", "c"]);
    }
  }
});
