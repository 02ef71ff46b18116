// A session in virtual time: a transaction is repeated only while the lease is valid.

import { expect, test } from "vitest";
import { Committer } from "../../src/engine/committer.js";
import type { EngineEvents } from "../../src/engine/events.js";
import { Session } from "../../src/engine/session.js";
import type { Replay } from "../../src/replay/replay.js";
import { MessageTaker } from "../../src/replay/take-messages.js";
import type { ClaimedRun, Commit } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import type { Transaction } from "../../src/store/contract/transaction.js";
import { StoreUnavailable } from "../../src/store/postgres/connection/errors.js";
import { createBus } from "../../src/telemetry/bus.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

const LEASE_MS = 1_000;

/** A store whose first transaction is lost, after `lostAfterMs`. */
function scene(lostAfterMs: number) {
  const world = new VirtualWorld();
  let calls = 0;
  const runs = {
    commit: async () => [{ outcome: "lost" }],
    async transact(work: (tx: Transaction) => Promise<Commit>) {
      const { expectedSeq, effects } = await work({ query: async () => [] });
      if (++calls > 1) return { outcome: "accepted", seq: expectedSeq + effects.length, inboxSeq: 0 };
      await new Promise<void>((resolve) => world.after(lostAfterMs, resolve));
      throw new StoreUnavailable("transact", lostAfterMs, null);
    },
  };
  const run = { runId: "r", epoch: 1, token: "t", seq: 1, inboxSeq: 0, claimedAt: 0 } as ClaimedRun;
  const inbox = { send: async () => [{ outcome: "accepted" }] };
  const store = { runs, inbox, journal: { read: async () => null } } as unknown as Store;
  const writer = new Committer(store.runs, world).open(run, 1);
  const presence = { doubtBefore: Number.NEGATIVE_INFINITY };
  const rest = {
    bus: createBus<EngineEvents>(),
    askedAt: 0,
    leaseMs: LEASE_MS,
    presence,
    onCommitted: () => {},
  };
  const session = new Session({ run, writer, store, world, ...rest });
  const attempts: number[] = [];
  const transact = () =>
    session.transaction(async () => {
      attempts.push(world.monotonicNow());
      return [{ kind: "append", entry: { kind: "transaction", name: "book", key: "1" } }];
    });
  return { world, session, presence, attempts, transact };
}

test("a transaction is repeated when its connection broke", async () => {
  const { world, attempts, transact } = scene(100);
  const done = transact();
  await world.advance(500);
  expect(attempts).toEqual([0, 300]);
  expect(await done).toMatchObject({ seq: 2 });
});

test("a transaction is not repeated while the lease is in doubt", async () => {
  const { world, session, attempts, transact } = scene(2_000);
  const done = transact();
  await world.advance(5_000);
  expect(attempts).toEqual([0]);
  session.renewed(world.monotonicNow());
  await world.advance(10);
  expect(attempts).toEqual([0, 5_000]);
  expect(await done).toMatchObject({ seq: 2 });
});

test("a transaction that waits for a renewal continues with the next, also when the doubt ends before the renewal", async () => {
  const { world, session, presence, attempts, transact } = scene(100);
  presence.doubtBefore = Number.POSITIVE_INFINITY;
  const done = transact();
  await world.advance(200);
  // A heartbeat of the node was answered.
  presence.doubtBefore = Number.NEGATIVE_INFINITY;
  session.renewed(world.monotonicNow());
  await world.advance(500);
  expect(attempts).toEqual([200, 500]);
  expect(await done).toMatchObject({ seq: 2 });
});

test("a transaction is not repeated once the claim is lost", async () => {
  const { world, session, attempts, transact } = scene(2_000);
  const done = transact();
  const ended = expect(done).rejects.toMatchObject({ code: "CLAIM_LOST" });
  await world.advance(1_000);
  session.lose();
  await world.advance(5_000);
  await ended;
  expect(attempts).toEqual([0]);
});

test("a timeout sent to the run's own inbox is news, and does not count as a message that was read", async () => {
  const { session } = scene(0);
  const news = session.changed();
  await session.sendTimeout("wait:permit:1", "permit");
  await news;
  expect(session.newsCount).toBe(1);
  // Parking compares this number with the row's: one too high would hide the next message.
  expect(session.inboxSeq).toBe(0);
});

test("a commit refused for a lost claim ends all work on the run at once", async () => {
  const { world, session } = scene(0);
  const ended = session.commit([{ kind: "handBack" }]).catch((error: { code: string }) => error.code);
  await world.advance(10);
  expect(session.lost.aborted).toBe(true);
  expect(await ended).toBe("CLAIM_LOST");
});

test("a run that a failover has lost after it was granted is a lost claim, and nothing breaks", async () => {
  const { session } = scene(0);
  await expect(session.history(true)).rejects.toMatchObject({ code: "CLAIM_LOST" });
});

test("a lower inbox number is news, and so is the next message with the same number", async () => {
  const { session } = scene(0);
  const unread: number[] = [];
  session.unread = async () => {
    unread.push(session.inboxSeq);
    return [];
  };
  const mail = new MessageTaker({ session } as Replay);
  for (const inboxSeq of [1, 1, 0, 1]) {
    session.heard(inboxSeq);
    if (mail.isDue) await mail.take();
  }
  expect(unread).toEqual([1, 0, 1]);
});
