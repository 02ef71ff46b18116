// Statistics: counted from stored rows in rounds that may be repeated, read by time and by program, joined as they age.

import { lowestId } from "../../../kernel/id.js";
import {
  DURATION_BOUNDS_MS,
  type FiguresRequest,
  STEP_KEPT_MS,
  STEPS_MS,
} from "../../../store/contract/statistic/statistics.js";
import { cases } from "../case.js";
import { matches, rejects, same } from "../expect.js";
import { complete, fail, park, type Scene } from "../scene.js";

const [STEP_MS] = STEPS_MS;

async function now(s: Scene): Promise<number> {
  return (await s.store.views.runs([])).now;
}

/** An id as a process with the store's clock draws it. */
async function idOfNow(s: Scene): Promise<string> {
  const id = lowestId(await now(s));
  return `${id.slice(0, 14)}7${s.id().slice(15)}`;
}

/** From a day before the store's time to a day after it. */
async function around(s: Scene, more: Partial<FiguresRequest> = {}): Promise<FiguresRequest> {
  const at = await now(s);
  return { env: s.env, from: at - 86_400_000, to: at + 86_400_000, stepMs: STEP_MS, ...more };
}

const sum = <Row>(rows: readonly Row[], of: (row: Row) => number) => rows.reduce((n, row) => n + of(row), 0);

async function totals(s: Scene, more: Partial<FiguresRequest> = {}) {
  const { runs } = await s.store.statistics.figures(await around(s, more));
  const took = DURATION_BOUNDS_MS.map((_, i) => sum(runs, ({ durations }) => durations[i]!));
  return {
    started: sum(runs, (one) => one.started),
    completed: sum(runs, (one) => one.completed),
    failed: sum(runs, (one) => one.failed),
    cancelled: sum(runs, (one) => one.cancelled),
    took: sum(took, (n) => n),
  };
}

/** One run of each kind of end, and one that lives. */
async function lives(s: Scene): Promise<void> {
  const done = await s.start({ id: await idOfNow(s) });
  await s.accept(done, [complete]);
  const other = await s.start({ id: await idOfNow(s), group: { program: "other" } }, { groupIds: await otherGroup(s) });
  await s.accept(other, [fail()]);
  const stopped = await s.insert({ id: await idOfNow(s) });
  await s.store.runs.cancel(stopped.id, { by: "ann" });
  await s.insert({ id: await idOfNow(s) });
}

const otherGroup = (s: Scene) => s.store.runs.groupIds([s.group({ program: "other" })]);

export const statisticCases = cases("statistics", {
  "starts and ends of closed steps are counted, once, however often a round is done": async (s) => {
    await lives(s);
    const collect = (everyMs = 0) => s.store.statistics.collect({ env: s.env, everyMs });
    await s.advance(STEP_MS);
    const ended = { started: 4, completed: 1, failed: 1, cancelled: 1, took: 3 };
    for (const round of ["first", "second"]) {
      same(await collect(), true, `the ${round} round`);
      same(await totals(s), ended, `totals after the ${round} round`);
    }
    same(await collect(STEP_MS), false, "a round within the time");
    same(await totals(s, { program: "other" }), { started: 1, completed: 0, failed: 1, cancelled: 0, took: 1 }, "one");
    same(await totals(s, { program: "none" }), { ...ended, ...NONE }, "another program");
    same(await totals(s, { env: `${s.env}-other` }), { ...ended, ...NONE }, "another env");
    const programs = await s.store.statistics.programs(await around(s));
    same(
      programs.map(({ program, completed, failed: n, cancelled }) => [program, completed, n, cancelled]),
      [
        ["other", 0, 1, 0],
        ["work", 1, 0, 1],
      ],
      "by program",
    );
  },

  "a retry takes nothing back": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [fail()]);
    await s.advance(STEP_MS);
    const collect = () => s.store.statistics.collect({ env: s.env, everyMs: 0 });
    await collect();
    await s.store.runs.retry([claim.runId], { by: "ann", callId: s.token(), fromStart: false });
    await collect();
    same((await totals(s)).failed, 1, "failed");
  },

  "depths are sampled by queue": async (s) => {
    const parked = await s.start();
    await s.accept(parked, [park()]);
    const [waiting, later] = [await s.insert(), await s.insert({ delayMs: 60_000 })];
    await s.insert({ group: { queue: "slow" }, priority: 3 });
    await s.advance(2_000);
    same(await s.store.statistics.collect({ env: s.env, everyMs: 0 }), true, "a round");
    const read = async (queue?: string) => {
      const more = queue === undefined ? {} : { queue };
      return (await s.store.statistics.figures(await around(s, more))).queues.map(({ at, ...figures }) => figures);
    };
    same([waiting.id === later.id], [false], "two runs");
    same(await read(), [{ waiting: 3, running: 0, parked: 1, held: 0, oldestMs: 2_000 }], "of the env");
    same(await read("slow"), [{ waiting: 1, running: 0, parked: 0, held: 0, oldestMs: 2_000 }], "of a queue");
    same(await read("none"), [], "of no queue");
  },

  "figures that age are joined, lose nothing and end": async (s) => {
    await lives(s);
    await s.advance(STEP_MS);
    const collect = () => s.store.statistics.collect({ env: s.env, everyMs: 0 });
    await collect();
    const before = await totals(s);
    for (const [i, keptMs] of STEP_KEPT_MS.entries()) {
      await s.advance(keptMs + STEPS_MS[i]!);
      await collect();
      await collect();
      const at = await now(s);
      const old = { from: 0, to: at - 60_000, stepMs: 3_600_000 } as const;
      const isLast = i === STEP_KEPT_MS.length - 1;
      same(await totals(s, old), isLast ? { ...before, ...NONE } : before, `after ${keptMs} ms`);
    }
  },

  "a request that makes no sense is refused": async (s) => {
    const request = await around(s);
    await rejects(s.store.statistics.figures({ ...request, stepMs: 7 as never }), "another step");
    await rejects(s.store.statistics.figures({ ...request, from: 0.5 }), "half a millisecond");
    await rejects(s.store.statistics.collect({ env: s.env, everyMs: -1 }), "a negative time");
    matches(await s.store.statistics.figures({ ...request, env: s.token() }), { at: null, runs: [] }, "of no env");
  },
});

const NONE = { started: 0, completed: 0, failed: 0, cancelled: 0, took: 0 };
