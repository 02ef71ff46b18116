// The gate in front of steps: closed before a request to stop is written into the journal.

import { expect, test } from "vitest";
import type { Session } from "../../src/engine/session.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import { LazyAbort } from "../../src/kernel/lazy-abort.js";
import { retryPolicy } from "../../src/kernel/run/retry.js";
import { callId, readRecorded } from "../../src/replay/recorded.js";
import { Replay } from "../../src/replay/replay.js";
import { StepCall } from "../../src/replay/step-call.js";
import { MessageTaker } from "../../src/replay/take-messages.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

test.each(["cancel", "pause"] as const)(
  "a step that waits for its lease does not begin while a %s is being recorded",
  async (kind) => {
    const world = new VirtualWorld();
    let renewed = () => {};
    const sure = new Promise<void>((resolve) => {
      renewed = resolve;
    });
    let starts = 0;
    const seen: { readonly closed: boolean; readonly starts: number }[] = [];
    const message = { key: kind, messageId: "m", kind, name: kind, payload: null, at: 0 };
    const session = {
      run: { runId: "r", baseSeq: 0, epoch: 1, inboxSeq: 1, hasMessages: true },
      world,
      lost: new LazyAbort(),
      over: new LazyAbort(),
      bus: { emit: () => {} },
      inboxSeq: 1,
      newsCount: 0,
      isConfirmed: false,
      untilConfirmed: () => sure,
      databaseNow: () => 0,
      onChange: () => {},
      unread: async () => [message],
      // The request is on its way into the journal: its caller may read it there before the answer is here.
      commit: async () => {
        renewed();
        for (let turns = 0; turns < 20; turns++) await Promise.resolve();
        seen.push({ closed: replay.gate.isClosed, starts });
        return { seq: 2, inboxSeq: 1 };
      },
      stop: () => {},
      expire: () => {},
    } as unknown as Session;
    const start = { seq: 1, epoch: 0, kind: "start", name: "", key: null, payload: null, at: 0 };
    const replay = new Replay(session, readRecorded([start]), { timeoutMs: null, historyLimit: 100 });
    const rest = { replay, codecs: codecs(), policy: retryPolicy(1), resolve: () => {}, reject: () => {} };
    const work = () => ++starts;
    const call = new StepCall({ id: callId("step", "a", "1"), kind: "step", name: "a", key: "1", work, ...rest });
    replay.ask(call);
    call.start();
    const mail = new MessageTaker(replay);
    expect(mail.isDue).toBe(true);
    await mail.take();
    expect(seen).toEqual([{ closed: true, starts: 0 }]);
    expect(starts).toBe(0);
    expect(call.running).toBe(false);
  },
);
