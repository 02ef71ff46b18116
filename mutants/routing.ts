// Planted bugs in routing, executors, nodes that are alone, and what a restart reclaims.

import type { Killer, Mutant } from "./mutant.js";

const PATTERN: readonly Killer[] = [{ file: "test/kernel/queue-pattern.test.ts" }];
const EXECUTORS: readonly Killer[] = [{ file: "test/engine/executors.test.ts" }];
const LONE: readonly Killer[] = [{ file: "test/conformance/postgres.test.ts", test: "lone nodes" }];

export const routing: readonly Mutant[] = [
  {
    name: "a star matches across segments",
    breaks: "`*` stays within a segment",
    edits: [
      {
        file: "src/kernel/queue-pattern.ts",
        find: "matches: (queue) => fits(segments, queue.split(SEPARATOR), ANY_SEGMENTS, segmentFits)",
        put: "matches: (queue) => segmentFits(segments.join(SEPARATOR), queue) || fits(segments, queue.split(SEPARATOR), ANY_SEGMENTS, segmentFits)",
      },
    ],
    killedBy: PATTERN,
  },
  {
    name: "a pattern without :: tests the whole name",
    breaks: "`heavy_*` finds tasks in every DAG",
    edits: [
      {
        file: "src/kernel/queue-pattern.ts",
        find: "written.length === 1 ? [ANY_SEGMENTS, ...written] : written",
        put: "written",
      },
    ],
    killedBy: PATTERN,
  },
  {
    name: "the last rule that fits decides",
    breaks: "the first rule decides",
    edits: [{ file: "src/engine/claiming/routing.ts", find: "rules.find((", put: "rules.findLast((" }],
    killedBy: EXECUTORS,
  },
  {
    name: "an executor's limit is ignored when it claims",
    breaks: "no executor works on more runs than it has slots, and holds no more",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: "return this.#options.size + this.#options.lent()",
        put: "return 2 * this.#options.size + this.#options.lent()",
      },
    ],
    killedBy: EXECUTORS,
  },
  {
    name: "all executors share the slots of the node",
    breaks: "each executor has slots of its own",
    edits: [
      {
        file: "src/engine/engine.ts",
        find: "this.#execute(program, session, executor);",
        put: "this.#execute(program, session, this.#executors[0]!);",
      },
    ],
    killedBy: EXECUTORS,
  },
  {
    name: "a node claims what no rule of its serves",
    breaks: "a node claims only what it can serve",
    edits: [
      {
        file: "src/engine/claiming/assignments.ts",
        find: "executor = this.#options.routing.executorOf(queue);",
        put: 'executor = this.#options.routing.executorOf(queue) ?? "default";',
      },
    ],
    killedBy: EXECUTORS,
  },
  {
    name: "a lone node is registered next to a live one",
    breaks: "no node starts next to one that is alone",
    edits: [
      {
        file: "src/store/postgres/migrations/0001-nodes.ts",
        find: "and (me.alone or n.alone) and ${isLive",
        put: "and false and ${isLive",
      },
    ],
    killedBy: LONE,
  },
  {
    name: "a node that asks to be alone checks before it has the lock",
    breaks: "of several that ask to be alone at once, one is",
    edits: [
      {
        file: "src/store/postgres/migrations/0001-nodes.ts",
        find: "if me.alone then perform pg_advisory_xact_lock(${REGISTRATION_CLASS}, scope);",
        put: "if me.alone then perform 1;",
      },
    ],
    killedBy: [{ file: "test/store/races/races-nodes.test.ts", test: "alone" }],
  },
  {
    name: "a restart takes the runs of a twin that lives",
    breaks: "S5: no claim is taken from a live holder",
    edits: [
      {
        file: "src/store/postgres/migrations/0001-nodes.ts",
        find: '        and not ${isLive("at")}\n    ), stopped',
        put: "    ), stopped",
      },
    ],
    killedBy: [{ file: "test/scenarios/crash.test.ts", test: "second live process" }],
  },
  {
    name: "a lone node's dropped claim keeps its endless lease",
    breaks: "an abandoned run is reclaimed when its lease expires",
    edits: [
      {
        file: "src/engine/claiming/lease-keeper.ts",
        find: "if (this.#forGood.has(session)) this.#dropped.add(session.run);",
        put: "",
      },
    ],
    killedBy: [{ file: "test/engine/alone.test.ts", test: "ignores the abort" }],
  },
  {
    name: "a node that the store has forgotten does not register again",
    breaks: "after a failover a node is known again",
    edits: [
      {
        file: "src/engine/upkeep/housekeeping.ts",
        find: 'if (!report.registered) chores.begin("register", options.onForgotten);\n  else if',
        put: "if",
      },
    ],
    killedBy: [{ file: "test/engine/alone.test.ts", test: "registers again|declared gone" }],
  },
  {
    name: "numbers of groups are counted up",
    breaks: "S5: no run is handed to another program's node after a failover",
    edits: [
      {
        file: "src/store/postgres/run/groups.ts",
        find: "groupNumber(text, nth) }",
        put: "(counted += 1) }",
      },
      {
        file: "src/store/postgres/run/groups.ts",
        find: "const insertGroups",
        put: "let counted = 0;\nconst insertGroups",
      },
    ],
    killedBy: [{ file: "test/store/groups.test.ts" }],
  },
  {
    name: "a group that was lost is remembered as if it were there",
    breaks: "a run is always found with its group",
    edits: [
      {
        file: "src/store/postgres/run/groups.ts",
        find: "for (const group of groups) this.#known.delete(textOf(group));",
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/groups.test.ts" }],
  },
  {
    name: "tokens do not identify the node that drew them",
    breaks: "the holder of a claim can be identified",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: "claimToken(world.token(), owner)",
        put: "claimToken(world.token(), world.token())",
      },
    ],
    killedBy: [{ file: "test/cli/live-node.test.ts", test: "tasks of a DAG" }],
  },
  {
    name: "a reclaim does not record its node",
    breaks: "the reclaim that took a claim can be identified",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim.ts",
        find: 'by: "$1::uuid",',
        put: 'by: "nullif($1::uuid, $1::uuid)",',
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "holders" }],
  },
  {
    name: "a reclaim does not check the lease again",
    breaks: "S5: a claim renewed or released in the meantime is not reclaimed",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-expired.ts",
        find: "  for no key update skip locked\n), ${reclaimParts",
        put: "), ${reclaimParts",
      },
      {
        file: "src/store/postgres/claim/reclaim-orphans-sql.ts",
        find: " and r.token is not null and ${still}\n",
        put: "\n",
      },
    ],
    killedBy: [{ file: "test/store/races/races-claims.test.ts" }],
  },
];
