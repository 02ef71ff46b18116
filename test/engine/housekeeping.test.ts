// Housekeeping in virtual time: what a node that has just come takes from others, and what it does when a round fails.

import { expect, test } from "vitest";
import { Door, keepHouse } from "../../src/engine/housekeeping.js";
import { Modes } from "../../src/engine/modes.js";
import type { ModeState } from "../../src/kernel/node-mode.js";
import { resolveSettings } from "../../src/kernel/settings.js";
import type { HouseReport, HouseRound } from "../../src/store/contract/house.js";
import type { Store } from "../../src/store/contract/store.js";
import { createBus } from "../../src/telemetry/bus.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

const QUIET: HouseReport = {
  registered: true,
  woken: 0,
  reclaimed: [],
  called: [],
  held: false,
  mode: null,
  overdue: false,
  nextWakeMs: null,
};

function house(answer: (at: number) => HouseReport | Error = () => QUIET) {
  const world = new VirtualWorld();
  const rounds: { readonly at: number; readonly reclaim: boolean }[] = [];
  const store = {
    async housekeep({ reclaim }: HouseRound) {
      rounds.push({ at: world.monotonicNow(), reclaim });
      const report = answer(world.monotonicNow());
      if (report instanceof Error) throw report;
      return report;
    },
  } as unknown as Store;
  const { settings } = resolveSettings({ lease: 10_000, startupGrace: 5_000, housekeeping: 1_000 });
  const stop = new AbortController();
  const work: number[] = [];
  const onWork = () => work.push(world.monotonicNow());
  const [sweeper, door] = [null, new Door(world)];
  const told = { onWork, onCalled: () => {}, onForgotten: async () => {} };
  const who = { env: "default", incarnation: world.token(), alone: false };
  const modes = new Modes();
  const obeyed: (ModeState | null)[] = [];
  const onRound = async (mode: ModeState | null) => void obeyed.push(mode);
  const rest = { modes, reclaims: true, onRound, sweeper, door, ...told };
  const options = { store, settings, world, bus: createBus(), ...who, ...rest };
  const keeping = keepHouse(options, stop.signal);
  const end = () => {
    stop.abort("stop");
    return keeping;
  };
  return { world, rounds, work, modes, obeyed, stop: end };
}

test("a node that has just started takes nothing from anybody until its grace is over", async () => {
  const { world, rounds, stop } = house();
  await world.advance(8_000);
  expect(rounds.length).toBeGreaterThanOrEqual(6);
  for (const { at, reclaim } of rounds) expect(reclaim, `after ${at} ms`).toBe(at >= 5_000);
  await stop();
});

test("after a round that failed it waits its grace again, and the next round comes", async () => {
  const { world, rounds, stop } = house((at) => (at > 6_000 && at < 7_500 ? new Error("gone") : QUIET));
  await world.advance(15_000);
  const failed = rounds.filter(({ at }) => at > 6_000 && at < 7_500).at(-1)!;
  const after = rounds.filter(({ at }) => at > failed.at);
  expect(after.length).toBeGreaterThanOrEqual(5);
  for (const { at, reclaim } of after) expect(reclaim, `after ${at} ms`).toBe(at >= failed.at + 5_000);
  await stop();
});

test("the next known deadline is slept on, and what became claimable is told at once", async () => {
  const { world, rounds, work, stop } = house((at) => ({ ...QUIET, woken: at > 100 ? 1 : 0, nextWakeMs: 120 }));
  await world.advance(130);
  expect(rounds.map(({ at }) => at)).toEqual([0, 120]);
  expect(work).toEqual([120]);
  await stop();
});

test("an answer that is older than what the node was told meanwhile is not obeyed", async () => {
  const old: ModeState = { mode: "full", overrides: {}, drain: null };
  const { world, modes, obeyed, stop } = house(() => {
    if (obeyed.length === 1) modes.set({ ...old, mode: "trigger_only" });
    return { ...QUIET, mode: old };
  });
  await world.advance(4_000);
  expect(obeyed.slice(0, 3)).toEqual([old, null, old]);
  await stop();
});

test("a disabled node takes nothing from anybody", async () => {
  const { world, rounds, modes, stop } = house();
  modes.set({ mode: "disabled", overrides: {}, drain: null });
  await world.advance(8_000);
  expect(rounds.some(({ reclaim }) => reclaim)).toBe(false);
  await stop();
});
