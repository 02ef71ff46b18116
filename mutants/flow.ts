// Planted bugs in flow control: each lets a run past a limit, or keeps one behind it.

import type { Mutant } from "./mutant.js";

const LIMITS = "src/store/postgres/migrations/0001-limits.ts";

export const flow: readonly Mutant[] = [
  {
    name: "lock and count in one statement",
    breaks: "S15",
    edits: [
      { file: LIMITS, find: "perform pg_advisory_xact_lock(${ADMISSION_CLASS}, lock_number);", put: "null;" },
      {
        file: LIMITS,
        find: "    from unnest(keys) as k(key)\n    cross join lateral (\n",
        put: `    from (
      select k.key from unnest(keys) as k(key), lateral (select pg_advisory_xact_lock(\${ADMISSION_CLASS}, hashtext(k.key))) l
      offset 0
    ) as k
    cross join lateral (\n`,
      },
    ],
    killedBy: [{ file: "test/store/races/races-limits.test.ts" }],
  },
  {
    name: "a parked run keeps its slot",
    breaks: "S15",
    edits: [{ file: LIMITS, find: " or new.state = 'parked' and new.pending = 0 then", put: " then" }],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a run that backs off keeps its slot",
    breaks: "S15",
    edits: [{ file: LIMITS, find: "if ends or backs_off or", put: "if ends or" }],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a serial run gives up its place while it sleeps",
    breaks: "S14",
    edits: [{ file: LIMITS, find: "(ends or l.kind = 'slots')", put: "l.kind <> 'rate'" }],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a run that waits for a narrower limit is overtaken",
    breaks: "S14",
    edits: [
      {
        file: LIMITS,
        find: "bool_and(case kind when 'rate' then start <= at + ahead else taken + n <= max end)\n      over (partition by key order by n)",
        put: "(case kind when 'rate' then start <= at + ahead else taken + n <= max end)",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a run that already exists is queued for a limit again",
    breaks: "S15",
    edits: [
      {
        file: "src/store/postgres/run/limited-runs.ts",
        find: '\n  where ${oneOf(runs.at("id", "l.run"), "select id from r")}`;',
        put: "\n  on conflict do nothing`;",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a paused queue hands out work",
    breaks: "the pause",
    edits: [
      {
        file: "src/store/postgres/claim/claim-runs.ts",
        find: " and g.id <> all(array(select id from paused))",
        put: "",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
];
