// A single step: when it may not be started any more, and what its function gets.

import { expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import { LazyAbort } from "../../src/kernel/lazy-abort.js";
import { retryPolicy } from "../../src/kernel/run/retry.js";
import { createNode } from "../../src/node/create-node.js";
import { callId, readRecorded } from "../../src/replay/recorded.js";
import { Replay } from "../../src/replay/replay.js";
import { StepCall } from "../../src/replay/step-call.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { createBus } from "../../src/telemetry/bus.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { workflow } from "../../src/workflow/workflow.js";

test("a step that waits for its lease is not started once its run has ended", async () => {
  let renewed = () => {};
  const session = {
    run: { runId: "r", baseSeq: 0, epoch: 1 },
    world: new VirtualWorld(),
    bus: createBus(),
    over: new LazyAbort(),
    lost: new LazyAbort(),
    stopping: false,
    inboxSeq: 0,
    length: 1,
    databaseNow: () => 0,
    onChange: () => {},
    changed: () => new Promise<void>(() => {}),
    isConfirmed: false,
    untilConfirmed: () => new Promise<void>((resolve) => (renewed = resolve)),
  } as unknown as Session;
  const start = { seq: 1, epoch: 0, kind: "start", name: "", key: null, payload: null, at: 0 };
  const replay = new Replay(session, readRecorded([start]), { timeoutMs: null, historyLimit: 1_000 });
  let starts = 0;
  const over = new Promise<string>((resolve) => {
    const rest = { replay, codecs: codecs(), policy: retryPolicy(1), resolve: () => {}, reject: () => {} };
    const work = () => ++starts;
    replay.ask(new StepCall({ id: callId("step", "a", "1"), kind: "step", name: "a", key: "1", work, ...rest }));
    // The function continues without it, as after a race.
    session.world.after(10, () => {
      resolve("over");
      replay.wake();
    });
  });
  const outcome = replay.run(over, { isDue: false, take: async () => {} });
  await (session.world as VirtualWorld).advance(20);
  expect(await outcome).toEqual({ kind: "returned", value: "over" });
  renewed();
  await (session.world as VirtualWorld).settle();
  expect(starts).toBe(0);
});

test("a step passes its idempotency key and its fence on with the rest of what it gets", async () => {
  const work = workflow("work", async (ctx) =>
    ctx.step("one", (info) => {
      const { idempotencyKey, fence } = { ...info };
      return `${idempotencyKey} ${fence}`;
    }),
  );
  const node = await createNode({ store: memoryStore(), programs: [work] });
  const run = await node.start(work);
  expect(await run.result({ timeout: "5s" })).toBe(`${run.id}:0:step:one:1 1`);
  await node.stop();
});
