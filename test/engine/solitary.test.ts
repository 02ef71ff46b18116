// A suspect is executed alone: running runs may end first, unstarted ones are handed back, and nothing else is claimed for a while.

import { expect, test } from "vitest";
import { aloneMs, Solitary } from "../../src/engine/claiming/solitary.js";
import type { Session } from "../../src/engine/session.js";
import { LazyAbort } from "../../src/kernel/lazy-abort.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

function scene() {
  const world = new VirtualWorld();
  const node = { active: 1, handedBack: 0, opened: 0 };
  const solitary = new Solitary({
    world,
    active: () => node.active,
    handBack: () => node.handedBack++,
    onOpen: () => node.opened++,
  });
  const session = { run: { crashes: 3 }, stopping: false, lost: new LazyAbort() } as unknown as Session;
  const log: string[] = [];
  let end = () => {};
  /** As the claim loop does it. */
  const execute = () => {
    expect(solitary.ask()).toBe(1);
    solitary.answered([{ suspect: true }]);
    const work = () => {
      log.push(`began at ${world.monotonicNow()}`);
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    };
    return solitary.execute(session, work).finally(() => solitary.left());
  };
  return { world, node, solitary, session, log, execute, end: () => end() };
}

test("one suspect at a time: no claim may grant another until the first has ended", async () => {
  const { world, solitary, execute, end } = scene();
  expect(solitary.ask()).toBe(1);
  expect(solitary.ask()).toBe(0);
  solitary.answered([{ suspect: false }]);
  expect(solitary.isClosed).toBe(false);
  const done = execute();
  expect([solitary.ask(), solitary.isClosed]).toEqual([0, true]);
  await world.advance(100);
  end();
  await done;
  expect([solitary.isClosed, solitary.ask()]).toEqual([false, 1]);
});

test("others may end first, for five seconds at most; unstarted runs are handed back at once", async () => {
  const { world, node, solitary, log, execute } = scene();
  node.active = 3;
  void execute();
  await world.advance(100);
  expect([log, node.handedBack, solitary.handsBackUnstarted]).toEqual([[], 1, true]);
  node.active = 1;
  await world.advance(20);
  expect(log).toHaveLength(1);

  const other = scene();
  other.node.active = 3;
  void other.execute();
  await other.world.advance(4_900);
  expect(other.log).toEqual([]);
  await other.world.advance(200);
  expect(other.log).toHaveLength(1);
});

test("a long suspect does not idle its node, and is still the only suspect", async () => {
  const { world, node, solitary, execute, end } = scene();
  const done = execute();
  await world.advance(29_000);
  expect([solitary.isClosed, node.opened]).toEqual([true, 0]);
  await world.advance(2_000);
  expect([solitary.isClosed, solitary.handsBackUnstarted, node.opened, solitary.ask()]).toEqual([false, false, 1, 0]);
  end();
  await done;
  expect(solitary.ask()).toBe(1);
  expect([3, 4, 5, 50].map(aloneMs)).toEqual([30_000, 60_000, 120_000, 300_000]);
});

test("a claim that failed leaves the node open", async () => {
  const { solitary } = scene();
  solitary.ask();
  solitary.answered(null);
  expect([solitary.isClosed, solitary.ask()]).toEqual([false, 1]);
});

test("where runs are claimed ahead, a slot is left for a suspect once a second", async () => {
  const { world, solitary } = scene();
  await world.advance(1_100);
  expect(solitary.mayPrefetch).toBe(false);
  solitary.ask();
  expect(solitary.mayPrefetch).toBe(true);
  await world.advance(1_100);
  expect(solitary.mayPrefetch).toBe(false);
});
