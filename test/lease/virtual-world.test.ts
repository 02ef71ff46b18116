// The world whose time a test moves by hand.

import { expect, test } from "vitest";
import { isUuid } from "../../src/kernel/id.js";
import { sleep } from "../../src/kernel/world.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

test("timers fire in the order of their deadlines, including those that timers set", async () => {
  const world = new VirtualWorld();
  const fired: [string, number][] = [];
  const mark = (name: string) => fired.push([name, world.monotonicNow()]);
  world.after(20, () => mark("20"));
  world.after(10, () => {
    mark("10");
    world.after(5, () => mark("15"));
    void sleep(world, 30).then(() => mark("40"));
  });
  world.after(20, () => mark("20 again"));
  world.after(12, () => mark("never"))();
  await world.advance(39);
  expect(fired).toEqual([
    ["10", 10],
    ["15", 15],
    ["20", 20],
    ["20 again", 20],
  ]);
  expect(world.pendingTimers).toBe(1);
  await world.advance(1);
  expect(fired.at(-1)).toEqual(["40", 40]);
  expect(world.pendingTimers).toBe(0);
});

test("both clocks move together; a blocked process finds its timers late", async () => {
  const world = new VirtualWorld({ startAt: 1_000 });
  const firedAt: number[] = [];
  world.after(10, () => firedAt.push(world.monotonicNow()));
  world.block(500);
  expect(firedAt).toEqual([]);
  await world.advance(0);
  expect(firedAt).toEqual([500]);
  expect(world.wallNow()).toBe(1_500);
});

test("a turn counts as ready work", async () => {
  const world = new VirtualWorld();
  let turns = 0;
  void (async () => {
    for (; turns < 5; turns++) await world.turn();
  })();
  await world.settle();
  expect(turns).toBe(5);
});

test("random numbers repeat with the seed", () => {
  const draw = (seed: number) => {
    const world = new VirtualWorld({ seed });
    return [world.random(), world.token(), world.id()];
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  const world = new VirtualWorld();
  const tokens = new Set(Array.from({ length: 1_000 }, () => world.token()));
  expect(tokens.size).toBe(1_000);
  expect([...tokens].every(isUuid)).toBe(true);
  expect(isUuid(world.id())).toBe(true);
});
