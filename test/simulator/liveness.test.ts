// What must happen in time is able to fail: L1, L2, L4 and L5 are broken by hand, and noticed by name. L3 and L7 are a whole run's.

import { expect, test } from "vitest";
import { Calm } from "../../src/simulator/check/calm.js";
import { checkAttempt } from "../../src/simulator/check/effects.js";
import { LEASE_MS, park, Scene } from "./checkers-scene.js";

/** From now on the time limits apply. */
const calm = (s: Scene) => {
  s.history.calm = Object.assign(new Calm({ claimMs: 100, sweepMs: 100, slots: 2 }), { since: 0 });
};

const LATE: readonly (readonly [invariant: string, what: string, story: (s: Scene) => unknown])[] = [
  [
    "L1",
    "work that waits although there are free slots",
    async (s) => {
      calm(s);
      await s.insert();
      await s.world.advance(200);
      await s.claim();
    },
  ],
  [
    "L2",
    "work that is left to a dead owner",
    async (s) => {
      await s.inserted();
      calm(s);
      await s.world.advance(LEASE_MS + 200);
      await s.sweep();
    },
  ],
  [
    "L4",
    "a run that keeps sleeping when it is due",
    async (s) => {
      await s.commit(await s.inserted(), { ...park, wakeInMs: 50 });
      calm(s);
      await s.world.advance(400);
      await s.wake();
    },
  ],
  [
    "L4",
    "a wake that resumes no run",
    async (s) => {
      await s.commit(await s.inserted(), { ...park, wakeInMs: 50 });
      await s.world.advance(60);
      s.tell({ op: "runs.wakeParked", args: [{ limit: 10 }], answer: 0 });
    },
  ],
  [
    "L5",
    "a step that is started under an expired claim",
    async (s) => {
      const claim = await s.inserted();
      await s.world.advance(LEASE_MS);
      await s.sweep();
      checkAttempt(s.history, s.attempt(claim));
    },
  ],
];

test.for(LATE)("%s is broken by %s", async ([invariant, , story]) => {
  const s = new Scene();
  await story(s);
  expect(s.broken).toContain(invariant);
});
