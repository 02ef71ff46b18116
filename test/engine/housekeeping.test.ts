// Housekeeping in virtual time: how long a node has watched, what it does when a round fails, and that no part
// waits for another.

import { expect, test } from "vitest";
import type { EngineEvents } from "../../src/engine/events.js";
import { Modes } from "../../src/engine/modes.js";
import { Housekeeping } from "../../src/engine/upkeep/housekeeping.js";
import { OwnPresence } from "../../src/engine/upkeep/own-presence.js";
import { Vitals } from "../../src/engine/upkeep/vitals.js";
import type { ModeState } from "../../src/kernel/node-mode.js";
import { resolveSettings } from "../../src/kernel/setting/settings.js";
import type { HouseReport, HouseRound, ReclaimRound } from "../../src/store/contract/node/house.js";
import type { Store } from "../../src/store/contract/store.js";
import { createBus } from "../../src/telemetry/bus.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

const QUIET: HouseReport = {
  registered: true,
  present: true,
  orphans: false,
  due: false,
  called: [],
  peers: 1,
  first: [],
  gone: [],
  held: false,
  mode: null,
  overdue: false,
  misfits: false,
  nextWakeMs: null,
};

interface Round {
  readonly at: number;
  readonly watchedMs: number;
  readonly troubled: boolean;
}

type Parts = Partial<Record<"reclaim" | "wakeParked" | "admit" | "expireDeferred", (at: number) => Promise<unknown>>>;

function house(answer: (at: number) => HouseReport | Error | Promise<HouseReport> = () => QUIET, parts: Parts = {}) {
  const world = new VirtualWorld();
  const rounds: Round[] = [];
  const reclaims: Round[] = [];
  const begun: string[] = [];
  const at = () => world.monotonicNow();
  const part = (name: keyof Parts, nothing: unknown) => () => {
    begun.push(`${name} ${at()}`);
    return parts[name]?.(at()) ?? Promise.resolve(nothing);
  };
  const store = {
    async housekeep({ watchedMs, troubled }: HouseRound) {
      rounds.push({ at: at(), watchedMs, troubled });
      const report = await answer(at());
      if (report instanceof Error) throw report;
      return report;
    },
    reclaim: ({ watchedMs, troubled }: ReclaimRound) => {
      reclaims.push({ at: at(), watchedMs, troubled });
      return part("reclaim", [])();
    },
    runs: {
      wakeParked: part("wakeParked", 0),
      admit: part("admit", 0),
      expireDeferred: part("expireDeferred", []),
    },
  } as unknown as Store;
  const { settings } = resolveSettings({ timing: { lease: 10_000, housekeeping: 1_000 } });
  const work: number[] = [];
  const absent: number[] = [];
  const onWork = () => work.push(at());
  const onAbsent = async () => void absent.push(at());
  const told = {
    onWork,
    onCalled: () => {},
    onPeers: () => {},
    onForgotten: async () => {},
    onAbsent,
    onMissed: () => {},
  };
  const presence = new OwnPresence(world, settings);
  presence.attend();
  const who = { incarnation: world.token(), env: "test", alone: false, presence };
  const modes = new Modes();
  const obeyed: (ModeState | null)[] = [];
  const onRound = async (mode: ModeState | null) => void obeyed.push(mode);
  const rest = { vitals: new Vitals(world, () => []), modes, reclaims: true, onRound, reclaimer: null, ...told };
  const bus = createBus<EngineEvents>();
  const failed: unknown[] = [];
  bus.on("housekeeping.failed", ({ error }) => failed.push(error));
  const options = { store, settings, world, bus, ...who, ...rest };
  const keeping = new Housekeeping(options);
  keeping.start(0);
  const stop = () => keeping.stop();
  return { world, rounds, reclaims, begun, work, absent, modes, obeyed, presence, keeping, failed, stop };
}

test("each round states for how long the node has watched, from its start", async () => {
  const { world, rounds, stop } = house();
  await world.advance(8_000);
  expect(rounds.length).toBeGreaterThanOrEqual(6);
  for (const { at, watchedMs, troubled } of rounds)
    expect({ watchedMs, troubled }).toEqual({ watchedMs: at, troubled: false });
  await stop();
});

test("after a failed round the next one comes soon, and the node has watched since the first answer", async () => {
  const { world, rounds, failed, stop } = house((at) => (at > 2_000 && at < 4_000 ? new Error("gone") : QUIET));
  await world.advance(9_000);
  const during = rounds.filter(({ at }) => at > 2_000 && at < 4_000);
  expect(during.length).toBe(failed.length);
  for (const [i, { at }] of during.entries()) if (i > 0) expect(at - during[i - 1]!.at).toBeLessThanOrEqual(500);
  const [first, ...later] = rounds.filter(({ at }) => at > during.at(-1)!.at);
  expect(first).toMatchObject({ watchedMs: 0, troubled: true });
  expect(later.length).toBeGreaterThanOrEqual(3);
  for (const { at, watchedMs, troubled } of later) {
    expect({ watchedMs, troubled }).toEqual({ watchedMs: at - first!.at, troubled: true });
  }
  await stop();
});

test("a late answer to a round is a gap, too: reclaims are then judged as after a failure", async () => {
  const late = (at: number) => at > 1_500 && at < 2_600;
  const { world, rounds, reclaims, stop } = house(
    (at) => new Promise((resolve) => world.after(late(at) ? 5_000 : 0, () => resolve({ ...QUIET, orphans: late(at) }))),
  );
  await world.advance(12_000);
  const slow = rounds.find(({ at }) => late(at))!;
  expect(reclaims[0]).toMatchObject({ at: slow.at + 5_000, watchedMs: 0, troubled: true });
  await stop();
});

test("a slow answer delays no heartbeat, and a node that is present doubts none of its claims", async () => {
  const { world, rounds, presence, stop } = house(
    () => new Promise((resolve) => world.after(1_000, () => resolve(QUIET))),
  );
  for (let i = 0; i < 600; i++) {
    await world.advance(50);
    expect(presence.doubtBefore).toBe(Number.NEGATIVE_INFINITY);
  }
  for (const [i, { at }] of rounds.entries()) if (i > 0) expect(at - rounds[i - 1]!.at).toBeLessThanOrEqual(1_200);
  expect(rounds.length).toBeLessThanOrEqual(31);
  await Promise.all([stop(), world.advance(1_000)]);
});

test("the loop sleeps until the next known deadline, and wakes claim loops at once when runs become claimable", async () => {
  const due = { wakeParked: async (at: number) => (at > 100 ? 1 : 0) };
  const { world, rounds, work, stop } = house(() => ({ ...QUIET, due: true, nextWakeMs: 120 }), due);
  await world.advance(130);
  expect(rounds.map(({ at }) => at)).toEqual([0, 120]);
  expect(work).toEqual([120]);
  await stop();
});

test("an answer older than the mode that the node received since is ignored", async () => {
  const old: ModeState = { mode: "full", overrides: {}, drain: null };
  const { world, modes, obeyed, stop } = house(() => {
    if (obeyed.length === 1) modes.set({ ...old, mode: "trigger_only" });
    return { ...QUIET, mode: old };
  });
  await world.advance(4_000);
  expect(obeyed.slice(0, 3)).toEqual([old, null, old]);
  await stop();
});

test("a disabled node reclaims nothing", async () => {
  const { world, reclaims, modes, stop } = house(() => ({ ...QUIET, orphans: true }));
  modes.set({ mode: "disabled", overrides: {}, drain: null });
  await world.advance(8_000);
  expect(reclaims).toEqual([]);
  await stop();
});

test("a node reclaims only when the round has found orphans", async () => {
  const { world, reclaims, stop } = house((at) => ({ ...QUIET, orphans: at > 3_000 && at < 5_000 }));
  await world.advance(8_000);
  expect(reclaims.length).toBeGreaterThanOrEqual(1);
  for (const { at } of reclaims) expect(at > 3_000 && at < 5_000).toBe(true);
  await stop();
});

test.each(["reclaim", "wakeParked", "admit", "expireDeferred"] as const)(
  "while %s hangs, rounds continue, the other parts are done, and it is not begun again",
  async (hung) => {
    const all = { orphans: true, due: true, held: true, overdue: true };
    const { world, rounds, begun, stop } = house(() => ({ ...QUIET, ...all }), {
      [hung]: () => new Promise((resolve) => world.after(10_000, () => resolve(hung === "reclaim" ? [] : 0))),
    });
    await world.advance(5_000);
    expect(rounds.length).toBeGreaterThanOrEqual(4);
    for (const name of ["reclaim", "wakeParked", "admit", "expireDeferred"]) {
      const times = begun.filter((one) => one.startsWith(name)).length;
      if (name === hung) expect(times, name).toBe(1);
      else expect(times, name).toBeGreaterThanOrEqual(4);
    }
    const stopping = stop();
    await world.advance(20_000);
    await stopping;
  },
);

test("a part that fails is reported, and begun again with the next round", async () => {
  const wrong = new Error("no");
  const { world, begun, failed, stop } = house(() => ({ ...QUIET, due: true, orphans: true }), {
    wakeParked: () => Promise.reject(wrong),
  });
  await world.advance(3_500);
  const times = begun.filter((one) => one.startsWith("wakeParked")).length;
  expect(times).toBeGreaterThanOrEqual(3);
  expect(failed).toEqual(Array.from({ length: times }, () => wrong));
  expect(begun.filter((one) => one.startsWith("reclaim")).length).toBeGreaterThanOrEqual(3);
  await stop();
});

test("a node that has lost its presence sends a heartbeat at once and then often, until it is back", async () => {
  const { world, rounds, presence, keeping, stop } = house();
  await world.advance(300);
  presence.change(false);
  keeping.wake();
  await world.advance(2_000);
  const during = rounds.filter(({ at }) => at >= 300);
  expect(during[0]!.at).toBe(300);
  for (const [i, { at }] of during.entries()) if (i > 0) expect(at - during[i - 1]!.at).toBeLessThanOrEqual(500);
  presence.change(true);
  await world.advance(400);
  const before = rounds.length;
  await world.advance(2_400);
  expect(rounds.length - before).toBeLessThanOrEqual(3);
  await stop();
});

test("a node whose presence the store does not know reports it again; one that has lost it does not", async () => {
  const { world, absent, presence, stop } = house(() => ({ ...QUIET, present: false }));
  await world.advance(1_500);
  const said = absent.length;
  expect(said).toBeGreaterThanOrEqual(1);
  presence.change(false);
  await world.advance(3_000);
  expect(absent.length).toBe(said);
  await stop();
});
