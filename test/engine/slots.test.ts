// The line for the slots of an executor: who gets one, and who leaves the line without.

import { expect, test } from "vitest";
import { Slots } from "../../src/engine/claiming/slots.js";
import type { Session } from "../../src/engine/session.js";
import { LazyAbort } from "../../src/kernel/lazy-abort.js";
import { systemWorld } from "../../src/kernel/system-world.js";

interface Fake {
  readonly session: Session;
  readonly listeners: readonly unknown[];
  change(how?: { stopping?: boolean; news?: boolean; lost?: boolean }): void;
}

function fake(asked: () => Promise<boolean> = async () => false): Fake {
  const listeners: (() => void)[] = [];
  const state = { stopping: false, newsCount: 0, lost: new LazyAbort(), world: systemWorld() };
  const session = {
    ...state,
    onChange: (wake: () => void) => {
      listeners.push(wake);
      return () => void listeners.splice(listeners.indexOf(wake), 1);
    },
    isAskedToStop: asked,
  };
  return {
    session: session as unknown as Session,
    listeners,
    change: ({ stopping = false, news = false, lost = false } = {}) => {
      session.stopping ||= stopping;
      if (news) session.newsCount++;
      if (lost) session.lost.abort(new Error("lost"));
      for (const wake of [...listeners]) wake();
    },
  };
}

test("sessions get slots in the order in which they came", async () => {
  const slots = new Slots(1);
  expect(slots.takeNow(fake().session)).toBe("slot");
  const order: number[] = [];
  const waits = [1, 2, 3].map((n) => slots.take(fake().session).then(() => order.push(n)));
  for (const wait of waits) {
    slots.give();
    await wait;
  }
  expect(order).toEqual([1, 2, 3]);
  expect(slots.takeNow(fake().session)).toBeNull();
});

test("a slot that was handed to a waiting session is not taken by one that comes later", async () => {
  const slots = new Slots(1);
  slots.takeNow(fake().session);
  const first = slots.take(fake().session);
  slots.give();
  expect(slots.takeNow(fake().session)).toBeNull();
  expect(await first).toBe("slot");
});

test.each(["stopping", "lost"] as const)("a session that is %s when it gets a slot passes it on", async (how) => {
  const slots = new Slots(1);
  slots.takeNow(fake().session);
  const leaving = fake();
  const left = slots.take(leaving.session).catch(() => "lost");
  const next = slots.take(fake().session);
  slots.give();
  leaving.change({ [how]: true });
  expect(await left).toBe(how === "lost" ? "lost" : "none");
  expect(await next).toBe("slot");
});

test("a slot that comes while a waiting session looks whether it is asked to stop is not forgotten", async () => {
  const slots = new Slots(1);
  slots.takeNow(fake().session);
  let answer = (_: boolean) => {};
  const looking = fake(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const turn = slots.take(looking.session);
  looking.change({ news: true });
  await Promise.resolve();
  slots.give();
  answer(false);
  expect(await turn).toBe("slot");
});

test("a session whose run is asked to stop is let through, and its slot goes to the next", async () => {
  const slots = new Slots(1);
  slots.takeNow(fake().session);
  const asked = fake(async () => true);
  const turn = slots.take(asked.session);
  const next = slots.take(fake().session);
  asked.change({ news: true });
  expect(await turn).toBe("stop");
  slots.give();
  expect(await next).toBe("slot");
});

test("a slot that is lent goes to the next in line, and its session waits for one again", async () => {
  const slots = new Slots(1);
  const sleeper = fake();
  slots.takeNow(sleeper.session);
  const second = slots.take(fake().session);
  let wake = () => {};
  const turn = slots.lend(
    sleeper.session,
    new Promise((resolve) => {
      wake = resolve;
    }),
  );
  expect(await second).toBe("slot");
  expect([slots.busy, slots.lent]).toEqual([1, 1]);
  wake();
  let isBack = false;
  void turn.then(() => {
    isBack = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  // In line it is as much at work as any other.
  expect([isBack, slots.lent]).toEqual([false, 0]);
  slots.give();
  expect(await turn).toBe(true);
  expect([slots.busy, slots.lent]).toEqual([1, 0]);
});

test("a session whose slot was lent leaves the line after a moment", async () => {
  const slots = new Slots(1);
  const sleeper = fake();
  slots.takeNow(sleeper.session);
  const turn = slots.lend(sleeper.session, Promise.resolve());
  expect(slots.takeNow(fake().session)).toBe("slot");
  expect(await turn).toBe(false);
  slots.give();
  expect(slots.busy).toBe(0);
});

test("a session that lost its claim while its slot was lent takes none", async () => {
  const slots = new Slots(1);
  const sleeper = fake();
  slots.takeNow(sleeper.session);
  const turn = slots.lend(sleeper.session, new Promise((resolve) => setImmediate(resolve)));
  sleeper.change({ lost: true });
  await expect(turn).rejects.toThrow("lost");
  expect([slots.busy, slots.lent]).toEqual([0, 0]);
});

test("slots are crowded while all are taken or lent, up to ten lent for each", async () => {
  const slots = new Slots(2);
  expect(slots.isCrowded).toBe(false);
  slots.takeNow(fake().session);
  expect(slots.isCrowded).toBe(false);
  slots.takeNow(fake().session);
  expect(slots.isCrowded).toBe(true);
  const never = new Promise<void>(() => {});
  void slots.lend(fake().session, never);
  expect(slots.isCrowded).toBe(true);
  for (let i = 1; i < 20; i++) {
    slots.takeNow(fake().session);
    void slots.lend(fake().session, never);
  }
  expect([slots.lent, slots.isCrowded]).toEqual([20, false]);
});

test("a session that waits in line many times is called back once", async () => {
  const slots = new Slots(1);
  const sleeper = fake();
  slots.takeNow(fake().session);
  for (let i = 0; i < 3; i++) {
    const turn = slots.take(sleeper.session);
    expect(sleeper.listeners).toHaveLength(1);
    slots.give();
    await turn;
  }
  expect(sleeper.listeners).toHaveLength(0);
});
