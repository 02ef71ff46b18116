// Planted bugs in DAGs: each leaves a task behind, starts one too early, or takes one from its holder.

import type { Mutant } from "./mutant.js";

const COUNT = "src/store/postgres/task/count-down.ts";
const COMMIT = "src/store/postgres/claim/commit.ts";
const OTHERS = "src/store/postgres/claim/commit-others-sql.ts";
const RACES = { file: "test/store/races/races-tasks.test.ts" };
const CONFORMANCE = { file: "test/conformance/postgres.test.ts", test: "tasks" };

export const dags: readonly Mutant[] = [
  {
    name: "a task times out because its process died or it was paused",
    breaks: "L9",
    edits: [
      {
        file: "src/dag/run-task.ts",
        find: 'if (entry.epoch !== epoch && entry.kind !== "parked") break;',
        put: "if (entry.epoch < 0) break;",
      },
    ],
    killedBy: [{ file: "test/dag/flow.test.ts", test: "not the time in which it was paused" }],
  },
  {
    name: "a task that sleeps never times out",
    breaks: "L3",
    edits: [
      {
        file: "src/dag/run-task.ts",
        find: 'if (entry.epoch !== epoch && entry.kind !== "parked") break;',
        put: "if (entry.epoch !== epoch) break;",
      },
    ],
    killedBy: [{ file: "test/dag/flow.test.ts", test: "the timeout of a task counts its waits" }],
  },
  {
    name: "a task that timed out waits for an ending that is never delivered",
    breaks: "L3",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: "this.open.isBusy(({ id }) => !this.#undelivered.has(id))",
        put: "this.open.isBusy()",
      },
    ],
    killedBy: [{ file: "test/dag/flow.test.ts", test: "is tried again" }],
  },
  {
    name: "tasks that become ready wake no node",
    breaks: "L1",
    edits: [
      {
        file: COMMIT,
        find: "  if (counting) parts.push(\"select claim_group from up where state = 'waiting'\");\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/engine/attend.test.ts", test: "what an event has started" }],
  },
  {
    name: "a claim passes a task needs that have not ended",
    breaks: "S13",
    edits: [
      {
        file: "src/store/postgres/journal/peek-journals.ts",
        find: "j.seq = case when e.starts then r.base_seq + 1 when r.state in ${ENDED} then r.seq end limit 1\n  ) j`",
        put: "j.seq = case when e.starts then r.base_seq + 1 else 1 end limit 1\n  ) j`",
      },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "readiness in a second transaction",
    breaks: "S13",
    edits: [
      { file: COUNT, find: "  where e.counted and ${only}\n", put: "  where e.counted and false and ${only}\n" },
      {
        file: "src/store/postgres/claim/commit.ts",
        find: "  await admitAfter(\n    db,\n    rows.flatMap(({ held }) => held ?? []),\n  );\n",
        put: '  if (counting) db.inBackground(async () => void (await (await import("./reconcile-tasks.js")).reconcile(db)));\n',
      },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a join counted without a sum",
    breaks: "S13",
    edits: [
      { file: COUNT, find: "select x.id, count(*)::int as n from ended e", put: "select x.id, 1 as n from ended e" },
      { file: COUNT, find: "  where e.counted and ${only}\n  group by x.id\n", put: "  where e.counted and ${only}\n" },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "readiness judged by looking at the needs",
    breaks: "S13",
    edits: [
      {
        file: COUNT,
        find: "const ready = \"r.pending <= u.n and r.state in ('blocked', 'parked')\";",
        put: `const ready = \`(r.state = 'parked' and r.pending <= u.n or r.state = 'blocked' and not exists (
      select from \${s}.run_needs q join \${s}.runs z on z.id = q.need_id
      where q.run_id = r.id and z.ended_at is null and z.id not in (select run_id from ended)))\`;`,
      },
    ],
    killedBy: [RACES],
  },
  {
    name: "waiting tasks are locked in any order",
    breaks: "L9",
    edits: [
      {
        file: COUNT,
        find: " and ${before} order by r.id for no key update",
        put: " and ${before} order by md5(r.id::text || pg_backend_pid()) for no key update",
      },
    ],
    killedBy: [RACES],
  },
  {
    name: "a run that is counted down in the same statement is written twice",
    breaks: "S13",
    edits: [{ file: COMMIT, find: 'where ${TURN} and not ${isWaiter("f.run_id")}', put: "where ${TURN}" }],
    killedBy: [RACES],
  },
  {
    name: "a refused commit leaves its needs on a task of another run",
    breaks: "S13: nothing of a refused commit is stored",
    edits: [
      {
        file: OTHERS,
        find: '${taskNeeds.as("n")}\n  where ${oneOf("n.ord", "select ord from ok")}',
        put: '${taskNeeds.as("n")}\n  where ${oneOf("n.run_id", "select id from c")}',
      },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a pause misses the tasks that its run starts while it waits for the lock",
    breaks: "S7: nothing of a paused run begins",
    edits: [
      {
        file: "src/store/postgres/run/pause-run.ts",
        find: "rows.at(-1)!.moved && rows",
        put: "rows.length < 1 && rows",
      },
    ],
    killedBy: [{ ...RACES, test: "also pauses the tasks" }],
  },
  {
    name: "a resume takes a run that has just started tasks for one that needs others",
    breaks: "L1",
    edits: [{ file: "src/store/postgres/run/pause-run.ts", find: " and l.id not in (select id from moved)", put: "" }],
    killedBy: [{ ...RACES, test: "also resumes the tasks" }],
  },
  {
    name: "the tasks of a run are searched in all journals",
    breaks: "the cost of a pause depends on its run, not on the table",
    edits: [{ file: "src/store/postgres/task/task-tree.ts", find: "j.kind = 'task' offset 0", put: "j.kind = 'task'" }],
    killedBy: [{ file: "test/store/planner/planner.test.ts", test: "nothing was ever analyzed" }],
  },
  {
    name: "tasks of an earlier generation are counted in the next one",
    breaks: "S13: a run waits for the tasks it has started, and for no others",
    edits: [
      { file: "src/store/postgres/task/leave-tasks.ts", find: "set counts = false\n", put: "set counts = r.counts\n" },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a reclaim settles a task and one of its own tasks at once",
    breaks: "both stores answer the same",
    edits: [
      {
        file: "src/store/memory/claim/reclaim-expired.ts",
        find: "row.counts && ENDS.includes(verdict.outcome);",
        put: "row.counts && ENDS.includes(verdict.outcome) && false;",
      },
    ],
    killedBy: [{ file: "test/conformance/memory.test.ts", test: "tasks" }],
  },
  {
    name: "a task that ends in a batch is not counted",
    breaks: "S13",
    edits: [{ file: COMMIT, find: '"and not (f.ends and r.counts)"', put: '""' }],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a dead task is taken from its current holder",
    breaks: "S5",
    edits: [
      {
        file: "src/store/postgres/claim/reclaimed.ts",
        find: "  where r.id = l.id and r.epoch = $2 and r.token is not null",
        put: "  where r.id = l.id and r.token is not null",
      },
      {
        file: "src/store/postgres/claim/reclaimed.ts",
        find: "  where id = $1 and epoch = $2 and token is not null",
        put: "  where id = $1 and token is not null",
      },
    ],
    killedBy: [RACES],
  },
  {
    name: "a reclaim ends a task without checking its lease again",
    breaks: "S5",
    edits: [
      {
        file: "src/store/postgres/claim/reclaimed.ts",
        find: "    and (r.lease_until <= t.now or $3::bool)\n",
        put: "    and ($3::bool is not null)\n",
      },
      {
        file: "src/store/postgres/claim/reclaimed.ts",
        find: "    and (lease_until <= (select now from t) or $3::bool) and ${TURN}\n",
        put: "    and ${TURN}\n",
      },
    ],
    killedBy: [RACES],
  },
  {
    name: "a run paused while it runs can be claimed once it is released",
    breaks: "pause",
    edits: [{ file: "src/store/postgres/migrations/0001-tasks.ts", find: "    new.state := 'paused';\n", put: "" }],
    killedBy: [CONFORMANCE],
  },
  {
    name: "ready tasks of a paused DAG can be claimed",
    breaks: "pause",
    edits: [
      {
        file: "src/store/postgres/run/pause-run.ts",
        find: "set state = case when l.state = 'running' then r.state else 'paused' end",
        put: "set state = case when l.state in ('running', 'waiting') then r.state else 'paused' end",
      },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "tasks that start while their DAG is being paused can be claimed",
    breaks: "pause",
    edits: [{ file: "src/store/memory/claim/commit.ts", find: "paused: row.pausing", put: "paused: false" }],
    killedBy: [{ file: "test/conformance/memory.test.ts", test: "tasks" }],
  },
  {
    name: "tasks that start while their DAG is being paused can be claimed, on PostgreSQL",
    breaks: "pause",
    edits: [
      {
        file: OTHERS,
        find: 'case when counts and ${oneOf("c.ord", "select ord from f where pausing")} then \'paused\' when',
        put: "case when",
      },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a task is released while it works outside of steps",
    breaks: "S7",
    edits: [
      {
        file: "src/replay/replay.ts",
        find: "if (this.session.stopping && !(this.#limits.retried && this.#awaitsOutside()))",
        put: "if (this.session.stopping)",
      },
    ],
    killedBy: [{ file: "test/dag/claims.test.ts" }],
  },
  {
    name: "the abort of a task counts as its failure",
    breaks: "a rolling deploy costs no attempt",
    edits: [
      {
        file: "src/dag/run-task.ts",
        find: 'const dropped = outcome.kind === "threw" || ',
        put: "const dropped = ",
      },
    ],
    killedBy: [{ file: "test/dag/claims.test.ts" }],
  },
  {
    name: "a retry opens tasks that chose not to run",
    breaks: "only what failed is tried again",
    edits: [
      {
        file: "src/store/memory/task/retry-tasks.ts",
        find: 'const TRIED_AGAIN: readonly RunState[] = ["failed",',
        put: 'const TRIED_AGAIN: readonly RunState[] = ["skipped", "failed",',
      },
    ],
    killedBy: [{ file: "test/dag/operate.test.ts", test: "a retry repeats only failed tasks" }],
  },
  {
    name: "a DAG ends while its tasks run",
    breaks: "S13",
    edits: [
      {
        file: "src/dag/run-dag.ts",
        find: 'if (decision.kind === "cancelTasks") return void (await commit(parkForTasks(mail)));',
        put: "",
      },
    ],
    killedBy: [{ file: "test/dag/operate.test.ts" }],
  },
  {
    name: "a task behind a failure counts as skipped by its own rule",
    breaks: "noneFailed() is false behind a failure",
    edits: [
      {
        file: "src/dag/run-task.ts",
        find: "causes.length > 0 ? {",
        put: "causes.length < 0 ? {",
      },
    ],
    killedBy: [{ file: "test/dag/retry-tasks.test.ts", test: "down the line" }],
  },
  {
    name: "a retry leaves what succeeded behind a failure",
    breaks: "a retried DAG has no result that was made from a failure",
    edits: [
      {
        file: "src/store/postgres/task/retry-tasks.ts",
        find: "($5::bool or l.state = 'skipped')",
        put: "l.state = 'skipped'",
      },
    ],
    killedBy: [CONFORMANCE, { file: "test/dag/retry-tasks.test.ts", test: "saw the failure" }],
  },
  {
    name: "a task behind a retried one continues with the steps it recorded for the old results",
    breaks: "S6: a step has one result per generation",
    edits: [
      {
        file: "src/store/postgres/task/retry-tasks.ts",
        find: "base_seq = case when u.fresh then r.seq else r.base_seq end",
        put: "base_seq = r.base_seq",
      },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a retry opens a need of a task that works",
    breaks: "S13",
    edits: [
      { file: "src/store/postgres/task/retry-tasks.ts", find: " and l.id not in (select id from above)", put: "" },
    ],
    killedBy: [CONFORMANCE],
  },
  {
    name: "a run that a retry names twice waits for each of its tasks twice",
    breaks: "L1",
    edits: [{ file: "src/store/postgres/task/retry-tasks.ts", find: "select distinct r.id", put: "select r.id" }],
    killedBy: [{ ...CONFORMANCE, test: "named twice" }],
  },
  {
    name: "an attempt begins while the one before ignores its abort",
    breaks: "S2: one attempt of a task at a time",
    edits: [{ file: "src/dag/run-task.ts", find: "&& !task.overlap) await", put: "&& !task.overlap && false) await" }],
    killedBy: [{ file: "test/dag/flow.test.ts", test: "ignores its timeout" }],
  },
  {
    name: "results that are too large together fail the run",
    breaks: "S1: what was acknowledged stays",
    edits: [
      {
        file: "src/dag/run-each.ts",
        find: "    return referenceTo(runs());\n",
        put: '    throw new PermanentError("too large");\n',
      },
    ],
    killedBy: [{ file: "test/dag/retry-tasks.test.ts", test: "too large together" }],
  },
  {
    name: "a backfill is not bounded",
    breaks: "the limits of a start hold in the whole cluster",
    edits: [{ file: "src/client/backfill.ts", find: "undefined, [slot])", put: "undefined, [])" }],
    killedBy: [{ file: "test/dag/flow.test.ts", test: "a backfill" }],
  },
  {
    name: "jobs of one run are active together",
    breaks: "start and resume of a run are never active together",
    edits: [{ file: "src/compat/enqueue-job.ts", find: "    limits: [oneActive(parts, input.runId)],\n", put: "" }],
    killedBy: [{ file: "test/compat/queue-contract.test.ts" }],
  },
];
