// What a node concludes about itself: in doubt before others can have declared it gone, and until its claims are confirmed.

import { expect, test } from "vitest";
import { OwnPresence } from "../../src/engine/upkeep/own-presence.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

const SETTINGS = { presenceGraceMs: 1_000, housekeepingMs: 1_000 };
/** Others wait for two of its heartbeats. */
const SILENCE_MS = 2_000;

function scene() {
  const world = new VirtualWorld();
  const presence = new OwnPresence(world, SETTINGS);
  presence.attend();
  const beat = () => {
    presence.heartbeatSent();
    presence.heartbeatAnswered(world.monotonicNow());
  };
  /** Whether a claim that was last confirmed then is in doubt. */
  const doubts = (confirmedAt: number) => confirmedAt < presence.doubtBefore;
  beat();
  return { world, presence, beat, doubts };
}

test("a node that is present, or sent a heartbeat a moment ago, doubts nothing", async () => {
  const { world, presence, beat, doubts } = scene();
  for (let i = 0; i < 10; i++) {
    await world.advance(1_200);
    expect(doubts(0)).toBe(false);
    beat();
  }
  presence.change(false);
  await world.advance(1_500);
  expect(doubts(0)).toBe(false);
  presence.confirmed(world.monotonicNow());
  await world.advance(1_500);
  expect(doubts(0)).toBe(false);
});

test("a node without presence and heartbeats doubts its claims before others can have reclaimed them", async () => {
  const { world, presence, doubts } = scene();
  await world.advance(500);
  presence.change(false);
  await world.advance(SILENCE_MS - 500 - 1);
  expect(doubts(0)).toBe(true);
  expect(doubts(world.monotonicNow())).toBe(true);
});

test("a heartbeat without an answer is as bad as a lost presence", async () => {
  const { world, presence, doubts } = scene();
  await world.advance(1_000);
  presence.heartbeatSent();
  presence.unanswered();
  await world.advance(SILENCE_MS - 1_000 - 1);
  expect(doubts(0)).toBe(true);
});

test("after a new heartbeat, a node still doubts each claim until it is confirmed", async () => {
  const { world, presence, beat, doubts } = scene();
  presence.change(false);
  await world.advance(5_000);
  beat();
  presence.change(true);
  expect(doubts(4_999)).toBe(true);
  expect(doubts(5_000)).toBe(false);
  await world.advance(1_000);
  expect(doubts(4_999)).toBe(true);
  presence.confirmed(world.monotonicNow());
  expect(doubts(world.monotonicNow())).toBe(false);
});

test("a presence that is back without a heartbeat in between leaves the claims in doubt", async () => {
  const { world, presence, doubts } = scene();
  presence.change(false);
  await world.advance(5_000);
  presence.change(true);
  expect(doubts(4_999)).toBe(true);
});

test("a process that was stopped for that long does not trust the presence it had before", async () => {
  const { world, beat, doubts } = scene();
  await world.advance(SILENCE_MS);
  expect(doubts(0)).toBe(true);
  beat();
  expect(doubts(0)).toBe(true);
  expect(doubts(world.monotonicNow())).toBe(false);
});

test("a node that is not judged by its presence doubts nothing", async () => {
  const world = new VirtualWorld();
  const presence = new OwnPresence(world, SETTINGS);
  presence.change(false);
  presence.unanswered();
  await world.advance(60_000);
  expect(presence.doubtBefore).toBe(Number.NEGATIVE_INFINITY);
  expect(presence.nextBeatMs).toBeNull();
});
