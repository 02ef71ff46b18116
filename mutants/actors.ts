// Planted bugs in actors: budgets that forget, checkpoints that restart, limits that are not the actor's, overflow that counts wrong.

import type { Mutant } from "./mutant.js";

const LIMITS = "src/store/postgres/migrations/0001-limits.ts";
const EPISODES = { file: "test/actor/episodes.test.ts" };
const OVERFLOW = { file: "test/actor/overflow.test.ts" };
const DAGS = { file: "test/actor/dag-definitions.test.ts" };
const OUTPUTS = { file: "test/workflow/output.test.ts" };
const DEFINITIONS = { file: "test/actor/definitions.test.ts" };

export const actors: readonly Mutant[] = [
  {
    name: "overflow skips what was begun",
    breaks: "S15",
    edits: [
      {
        file: LIMITS,
        find: "(select from ${s}.runs r where r.id = l.run_id and r.state = 'held' and r.epoch = 0 and not r.counts limit 1) r\n      where",
        put: "(select from ${s}.runs r where r.id = l.run_id and r.state = 'held' limit 1) r\n      where",
      },
      {
        file: LIMITS,
        find: "where r.id = any(array(select b.run_id from beyond b)) and r.state = 'held' and r.epoch = 0 and not r.counts",
        put: "where r.id = any(array(select b.run_id from beyond b)) and r.state = 'held'",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "overflow skips while there is room",
    breaks: "S15",
    edits: [
      {
        file: LIMITS,
        find: "where c.taken >= x.max and (x.overflow = 'drop' or x.newest > x.max)",
        put: "where (x.overflow = 'drop' or x.newest > x.max)",
      },
      { file: LIMITS, find: "least(${MOST_OF_A_LINE}, greatest(0,", put: "least(1, greatest(0," },
    ],
    killedBy: [{ file: "test/store/races/races-overflow.test.ts" }],
  },
  {
    name: "each expectation has a limit of its own",
    breaks: "S15",
    edits: [{ file: "src/actor/actor.ts", find: "scope: `actor ${name}`, ", put: "" }],
    killedBy: [OVERFLOW],
  },
  {
    name: "overflow is counted in memory",
    breaks: "S15",
    edits: [
      {
        file: "src/actor/actor.ts",
        find: "scope: `actor ${name}`, ",
        put: "scope: `actor ${name} ${process.hrtime.bigint()}`, ",
      },
    ],
    killedBy: [OVERFLOW],
  },
  {
    name: "an episode whose checkpoint cannot be read restarts",
    breaks: "S9",
    edits: [
      {
        file: "src/actor/checkpoint.ts",
        find: 'if (version > current) throw new CheckpointUnreadable(version, current, "the checkpoint is newer");',
        put: "if (version > current) return state;",
      },
    ],
    killedBy: [EPISODES],
  },
  {
    name: "a checkpoint forgets what was spent",
    breaks: "S7",
    edits: [
      {
        file: "src/actor/execute-episode.ts",
        find: "new Purse(this.#parts.budget, split.checkpoint?.spent)",
        put: "new Purse(this.#parts.budget)",
      },
    ],
    killedBy: [EPISODES],
  },
  {
    name: "signals that came before a checkpoint are forgotten",
    breaks: "S12",
    edits: [{ file: "src/actor/checkpoint.ts", find: "    return left <= 0;", put: "    return false;" }],
    killedBy: [{ file: "test/actor/checkpoint.test.ts" }],
  },
  {
    name: "an episode uses the current configuration",
    breaks: "S9",
    edits: [
      {
        file: "src/actor/execute-episode.ts",
        find: "(its) => run(strategyOf(its, registry), its.config)",
        put: "() => run(strategyOf(used, registry), used.config)",
      },
    ],
    killedBy: [DEFINITIONS],
  },
  {
    name: "a dropped trigger stays declared",
    breaks: "S10",
    edits: [
      {
        file: "src/store/postgres/event/subscriptions.ts",
        find: "  if (starting) await db.run(dropSubscriptions, [env, incarnation, said]);\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "subscriptions follow the code" }],
  },
  {
    name: "definitions of all envs are one list",
    breaks: "S18",
    edits: [
      {
        file: "src/store/postgres/definition/definitions.ts",
        find: "select * from ${s}.definitions where env = $1\n",
        put: "select * from ${s}.definitions where $1::text is not null\n",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts" }],
  },
  {
    name: "a DAG that is data uses the current definition",
    breaks: "S9",
    edits: [
      {
        file: "src/actor/dag-body.ts",
        find: ", version: String(use.version) };",
        put: ' };\n  if (use.version < 0) throw new InvalidInput("version", "");',
      },
    ],
    killedBy: [DAGS],
  },
  {
    name: "a replaced definition is no longer served",
    breaks: "L6",
    edits: [
      {
        file: "src/actor/definition-loader.ts",
        find: "for (const record of [...this.#current, ...older]) {",
        put: "for (const record of older.slice(0, 0)) {",
      },
    ],
    killedBy: [DAGS],
  },
  {
    name: "the versions of a removed definition restart at one",
    breaks: "S9",
    edits: [
      {
        file: "src/store/postgres/definition/definitions.ts",
        find: "1 + coalesce((select max(version) from ${s}.definition_versions where ${NAMED}), 0)",
        put: "1 + 0 * coalesce((select max(version) from ${s}.definition_versions where ${NAMED}), 0)",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "removed it is gone" }],
  },
  {
    name: "an actor that is data runs in every stack",
    breaks: "S18",
    edits: [
      {
        file: "src/node/dynamic-programs.ts",
        find: "made.filter((one) => isServedIn(stack, one))",
        put: "made.filter((one) => isServedIn(stack, one) || true)",
      },
    ],
    killedBy: [DAGS],
  },
  {
    name: "simulated: one queue after the other, however long the next has waited",
    breaks: "L6",
    edits: [
      {
        file: "src/store/memory/claim/claim-runs.ts",
        find: "return a.priority - b.priority ||",
        put: "return a.groupId - b.groupId || a.priority - b.priority ||",
      },
    ],
    killedBy: [{ file: "test/simulator/actors.test.ts" }],
  },
  {
    name: "an output whose node died is delivered again",
    breaks: "S6",
    edits: [
      {
        file: "src/workflow/workflow-context.ts",
        find: "const rules = { atMostOnce: true, finishOnAbort: true",
        put: "const rules = { atMostOnce: false, finishOnAbort: true",
      },
    ],
    killedBy: [OUTPUTS],
  },
  {
    name: "the key of an output belongs to its run, not to its call",
    breaks: "S6",
    edits: [
      {
        file: "src/store/postgres/key/output-keys.ts",
        find: "returning run_id, payload_hash = $5 as taken",
        put: "returning run_id, payload_hash = $5 or run_id = $4 as taken",
      },
    ],
    killedBy: [OUTPUTS],
  },
  {
    name: "the key of an output is taken from its holder",
    breaks: "S6",
    edits: [
      {
        file: "src/store/postgres/key/output-keys.ts",
        find: 'case when k.expires_at <= excluded.expires_at - ${interval("$6::float8")} then',
        put: "case when k.expires_at <= excluded.expires_at then",
      },
    ],
    killedBy: [OUTPUTS],
  },
  {
    name: "a worker that lost its job before it had its epoch is given it",
    breaks: "S2",
    edits: [
      {
        file: "src/compat/dequeue-job.ts",
        find: "return (await renewClaim(parts, run, job.visibilityTimeoutMs)) ?",
        put: "return renewClaim !== null ?",
      },
    ],
    killedBy: [{ file: "test/compat/queue-expire.test.ts", test: "stalls between its claim and its epoch" }],
  },
  {
    name: "every worker reports a dead letter that a node has made",
    breaks: "S6",
    edits: [
      {
        file: "src/compat/reclaim-jobs.ts",
        find: 'if (outcome === "taken") onDeadLetter(',
        put: "if (outcome) onDeadLetter(",
      },
    ],
    killedBy: [{ file: "test/compat/queue-contract.test.ts" }],
  },
];
