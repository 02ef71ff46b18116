// Planted bugs in schedules: each fires a window twice, never, or at the wrong time.

import type { Mutant } from "./mutant.js";

const FIRE = "src/store/postgres/schedule/fire-schedules.ts";
const SCHEDULER = "src/trigger/scheduler.ts";

export const schedules: readonly Mutant[] = [
  {
    name: "each stack has a schedule of its own",
    breaks: "S10",
    edits: [{ file: SCHEDULER, find: 'stack: spec.per === "env" ? null : stack,', put: "stack," }],
    killedBy: [{ file: "test/trigger/scheduler.test.ts", test: "each window has one run for the env" }],
  },
  {
    name: "a schedule of the env is removed with the stack that drops it",
    breaks: "catch-up after everything was down",
    edits: [
      {
        file: "src/store/postgres/schedule/schedules.ts",
        find: 'and seen_at <= ${now} - ${interval("$4::float8")}\n',
        put: "and $4::float8 is not null\n",
      },
    ],
    killedBy: [{ file: "test/trigger/scheduler.test.ts", test: "when one of them drops the schedule" }],
  },
  {
    name: "a window by the node's own clock",
    breaks: "S10",
    edits: [
      {
        file: SCHEDULER,
        find: "const { now, schedules, nextMs } = await store.due(ids);",
        put: "const { schedules, nextMs } = await store.due(ids);\n    const now = this.#options.world.wallNow();",
      },
    ],
    killedBy: [{ file: "test/trigger/scheduler.test.ts", test: "a node's own clock decides nothing" }],
  },
  {
    name: "a schedule's run inserted in a second transaction",
    breaks: "S10",
    edits: [
      {
        file: FIRE,
        find: 'const OF_MOVED = oneOf(schedulesOfRuns.at("schedule_id", "asked.position + 1"), "select id from moved")',
        put: 'const OF_MOVED = `${schedulesOfRuns.at("schedule_id", "asked.position + 1")} is null`',
      },
      {
        file: FIRE,
        find: "  const there = new Set(",
        put: `  const scheduleOf = new Map(fires.flatMap((one) => one.runs.map(({ id }) => [id, one.scheduleId])));
  const second = runs.filter(({ id }) => moved.has(scheduleOf.get(id)!));
  for (const answer of await insert(db, groups, second)) {
    if (answer.outcome === "refused") throw answer.error;
    if (answer.outcome === "inserted") rows.push({ what: "run", id: answer.runId });
  }
  const there = new Set(`,
      },
      {
        file: FIRE,
        find: "import { AFTER_LIMITED_KEYED_RUNS,",
        put: 'import { insert } from "../run/insert-batch.js";\nimport { AFTER_LIMITED_KEYED_RUNS,',
      },
    ],
    killedBy: [{ file: "test/store/races/races-schedules.test.ts", test: "stays where it was" }],
  },
  {
    name: "a schedule ignores the circuit breaker",
    breaks: "the circuit breaker",
    edits: [
      {
        file: SCHEDULER,
        find: "await this.#guard(schedules.map((row) => this.#decide(row, now)))",
        put: "schedules.map((row) => this.#decide(row, now))",
      },
    ],
    killedBy: [{ file: "test/trigger/scheduler.test.ts", test: "while the breaker is open windows start nothing" }],
  },
  {
    name: "two schedules probe at once",
    breaks: "the circuit breaker",
    edits: [{ file: FIRE, find: "`${OF_MOVED} and ${MAY_START}`", put: "OF_MOVED" }],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "a run that is to try goes in with its probe" }],
  },
  {
    name: "a schedule advances from any window",
    breaks: "S10",
    edits: [
      { file: FIRE, find: '`s.last_at = ${instant("f.seen")} and s.paused_at is null`', put: '"s.paused_at is null"' },
    ],
    killedBy: [{ file: "test/store/races/races-schedules.test.ts", test: "each window has one run" }],
  },
  {
    name: "a paused schedule fires",
    breaks: "the pause",
    edits: [
      {
        file: FIRE,
        find: '`s.last_at = ${instant("f.seen")} and s.paused_at is null`',
        put: '`s.last_at = ${instant("f.seen")}`',
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "a paused schedule is not due" }],
  },
  {
    name: "a declaration sets the schedule back to now",
    breaks: "catch-up after everything was down",
    edits: [
      {
        file: "src/store/postgres/schedule/schedules.ts",
        find: "spec = excluded.spec, seen_at = excluded.seen_at`",
        put: "spec = excluded.spec, seen_at = excluded.seen_at, anchor = excluded.anchor, last_at = excluded.last_at`",
      },
    ],
    killedBy: [{ file: "test/trigger/scheduler.test.ts", test: "everything down for ten minutes" }],
  },
  {
    name: "catch-up is as fast as nodes poll",
    breaks: "the bound on catching up",
    edits: [
      { file: SCHEDULER, find: "isBehind(fires, now) ? now + CATCH_UP_PAUSE_MS : fires.next", put: "fires.next" },
    ],
    killedBy: [{ file: "test/trigger/scheduler.test.ts", test: "a hundred windows a second" }],
  },
];
