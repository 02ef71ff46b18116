// Planted bugs in modes, deferred runs, reclaiming and work claims.

import type { Killer, Mutant } from "./mutant.js";

const CONFORMANCE = "test/conformance/postgres.test.ts";
const RECOVER = "src/store/postgres/claim/recover-runs.ts";
const MODES: readonly Killer[] = [{ file: "test/modes/modes.test.ts" }];
const HOUSE: readonly Killer[] = [{ file: "test/engine/housekeeping.test.ts" }];

export const modes: readonly Mutant[] = [
  {
    name: "deferred runs of every env expire",
    breaks: "isolation",
    edits: [
      {
        file: "src/store/postgres/run/deferred-runs.ts",
        find: "r.id = f.run_id and g.env = $2)",
        put: "r.id = f.run_id and $2 <> '')",
      },
    ],
    killedBy: [{ file: "test/modes/scope.test.ts", test: "on PostgreSQL" }],
  },
  {
    name: "held runs of every env are admitted",
    breaks: "isolation",
    edits: [
      {
        file: "src/store/postgres/limit/admit-runs.ts",
        find: "where key = $2 || ' limit_place'), $2 || '/') as at",
        put: "where key = $2 || ' limit_place'), '') as at",
      },
    ],
    killedBy: [{ file: "test/modes/scope.test.ts", test: "on PostgreSQL" }],
  },
  {
    name: "retention removes ended runs of every env",
    breaks: "isolation",
    edits: [
      {
        file: "src/store/memory/run/retain-runs.ts",
        find: "row is EndedRow => row.group.env === env && isOld(row)",
        put: "row is EndedRow => row.group.env !== '' && isOld(row)",
      },
    ],
    killedBy: [{ file: "test/modes/scope.test.ts", test: "on the memory store" }],
  },
  {
    name: "a disabled node declares limits and recovery",
    breaks: "other nodes do not rewrite a policy",
    edits: [
      {
        file: "src/store/postgres/limit/program-limits.ts",
        find: " and d.id = any(n.claims) and d.id = any(n.serves)",
        put: "",
      },
    ],
    killedBy: [
      { file: "test/conformance/postgres.test.ts", test: "a node that takes no runs of a group changes nothing" },
    ],
  },
  {
    name: "the last declaration wins, however old the node",
    breaks: "other nodes do not rewrite a policy",
    edits: [
      {
        file: "src/store/postgres/limit/program-limits.ts",
        find: "(g.declared_start, g.declared_by) <= (d.started_at, d.incarnation)",
        put: "true",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "of two the one that started later decides" }],
  },
  {
    name: "a declaration outlives its node",
    breaks: "an older node's policy holds again",
    edits: [
      {
        file: "src/store/postgres/limit/program-limits.ts",
        find: "n.incarnation = g.declared_by and not ${stands(now)}",
        put: "n.incarnation = g.declared_by and false",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "when the newer one is gone" }],
  },
  {
    name: "a run is judged by the declared policy instead of its own",
    breaks: "a policy belongs to the run",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-expired.ts",
        find: "coalesce(r.recovery, (select g.recovery",
        put: "coalesce(null, (select g.recovery",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "a run with a recovery policy of its own" }],
  },
  {
    name: "a start does not store the policy of its run",
    breaks: "a policy belongs to the run",
    edits: [{ file: "src/client/runs.ts", find: "      ...(recovery && { recovery }),\n", put: "" }],
    killedBy: [{ file: "test/modes/policies.test.ts", test: "a run keeps the policy of the code that started it" }],
  },
  {
    name: "a decision on an orphan applies to its current holder",
    breaks: "a reclaim never acts on an old list",
    edits: [{ file: RECOVER, find: " and r.epoch = w.epoch and", put: " and" }],
    killedBy: [{ file: CONFORMANCE, test: "a decision counts for the claim that was seen" }],
  },
  {
    name: "two reclaims act on one orphan",
    breaks: "of two nodes that decide on one orphan, one acts",
    edits: [
      { file: RECOVER, find: "limit 1 for no key update skip locked", put: "limit 1" },
      {
        file: "src/store/postgres/claim/reclaim-orphans-sql.ts",
        find: " and r.token is not null and ${still}\n",
        put: "\n",
      },
    ],
    killedBy: [{ file: "test/store/races/races-claims.test.ts", test: "that another node is just reclaiming" }],
  },
  {
    name: "a reclaimed run restarts instead of resuming",
    breaks: "recorded steps are not executed again",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-orphans-sql.ts",
        find: "when x.policy = 'restart' and x.begun and x.pending = 0 then 'restarted'",
        put: "when x.policy is distinct from 'fail' and x.begun is not false and x.pending = 0 then 'restarted'",
      },
    ],
    killedBy: [{ file: "test/actor/recovery.test.ts", test: "resume, the default" }],
  },
  {
    name: "a run that kills its processes restarts for ever",
    breaks: "S17",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-orphans-sql.ts",
        find: "greatest(d.died, j.restarts + 1) as worst",
        put: "d.died as worst",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "also when it makes progress each time" }],
  },
  {
    name: "a restarted run continues with its old journal",
    breaks: "a restart begins a new generation",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-orphans-sql.ts",
        find: "base_seq = case e.verdict when 'restarted' then r.seq else r.base_seq end",
        put: "base_seq = r.base_seq",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "restart: an orphan starts over" }],
  },
  {
    name: "claims ignore overrides",
    breaks: "every path obeys an override",
    edits: [
      {
        file: "src/engine/claiming/assignments.ts",
        find: 'modes.of(program.name) === "full"',
        put: 'modes.state.mode === "full" && program.name !== ""',
      },
    ],
    killedBy: MODES,
  },
  {
    name: "a disabled node fires its schedules",
    breaks: "a disabled node starts nothing",
    edits: [
      {
        file: "src/trigger/scheduler.ts",
        find: 'return this.#options.modes.of(program) !== "disabled";',
        put: 'return this.#options.modes.of(program) !== ("" as never);',
      },
    ],
    killedBy: MODES,
  },
  {
    name: "an older answer overwrites a newer mode",
    breaks: "the last mode that was set wins",
    edits: [
      {
        file: "src/engine/upkeep/housekeeping.ts",
        find: "modes.told === told ? report.mode : null",
        put: "modes.told >= told ? report.mode : null",
      },
    ],
    killedBy: HOUSE,
  },
  {
    name: "a disabled node reclaims runs",
    breaks: "a disabled node starts nothing",
    edits: [{ file: "src/engine/upkeep/housekeeping.ts", find: ' && modes.state.mode !== "disabled"', put: "" }],
    killedBy: HOUSE,
  },
  {
    name: "limits are shared between envs",
    breaks: "nothing crosses the border of an env",
    edits: [
      {
        file: "src/store/postgres/limit/limit-columns.ts",
        find: "`${group.env}/${rule.key}`",
        put: "`${group.env.slice(0, 2)}/${rule.key}`",
      },
    ],
    killedBy: [{ file: "test/modes/isolation.test.ts" }],
  },
  {
    name: "an adapter that does not answer is asked every second",
    breaks: "waiting for a work claim costs a run nothing",
    edits: [
      { file: "src/node/work-guard.ts", find: "        silentSince ??= world", put: "        silentSince = world" },
    ],
    killedBy: [{ file: "test/modes/work-claims.test.ts", test: "ever less often" }],
  },
  {
    name: "work begins although another cluster holds its claim",
    breaks: "no node begins work without its claim",
    edits: [
      {
        file: "src/node/work-guard.ts",
        find: "else await session.commit([later(session, lease.leftMs ?? AGAIN_MS)]);",
        put: "else if (later(session, lease.leftMs ?? AGAIN_MS)) await work();",
      },
    ],
    killedBy: [{ file: "test/modes/work-claims.test.ts" }],
  },
  {
    name: "runs of a stack are taken although its own nodes work",
    breaks: "a run is deferred when no node of its stack works on it",
    edits: [
      {
        file: "src/store/postgres/run/deferred-runs.ts",
        find: "n.stopped_at is null and g.id = any(n.claims)",
        put: "n.stopped_at is not null and g.id = any(n.claims)",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "groups of other stacks are offered" }],
  },
  {
    name: "runs of another stack are taken before that is stored",
    breaks: "what a node stores that it claims from contains what it takes",
    edits: [
      {
        file: "src/engine/claiming/assignments.ts",
        find: "    this.#now = this.#now.filter((id) => this.#found.includes(id));",
        put: "    this.#now = this.#found;",
      },
    ],
    killedBy: [{ file: "test/modes/stacks.test.ts", test: "stored before a run of it is taken" }],
  },
  {
    name: "a run of a stack that was given up meanwhile is executed",
    breaks: "a stack with a node of its own again is left to it",
    edits: [
      {
        file: "src/engine/claiming/assignments.ts",
        find: "    return !this.#groupIds.includes(groupId) && (this.#others?.isGivenUp(groupId) ?? false);",
        put: "    return false;",
      },
    ],
    killedBy: [{ file: "test/modes/stacks.test.ts", test: "after its group was given up" }],
  },
];
