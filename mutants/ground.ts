// Planted bugs in the store: each removes one protection.

import type { Mutant } from "./mutant.js";

const CONFORMANCE = "test/conformance/postgres.test.ts";
const COMMIT = "src/store/postgres/claim/commit.ts";
const COMMIT_ENTRY = "src/store/postgres/claim/commit-entry.ts";

export const ground: readonly Mutant[] = [
  {
    name: "epoch taken out of the fence",
    breaks: "S4",
    edits: [{ file: COMMIT, find: " and r.epoch = f.epoch and r.token", put: " and r.token" }],
    killedBy: [{ file: CONFORMANCE, test: "another token, epoch or run is lost" }],
  },
  {
    name: "token taken out of the fence",
    breaks: "S4",
    edits: [{ file: COMMIT, find: " and r.token = f.token and r.seq", put: " and r.seq" }],
    killedBy: [{ file: CONFORMANCE, test: "another token, epoch or run is lost" }],
  },
  {
    name: "expected sequence taken out of the fence",
    breaks: "S8",
    edits: [{ file: COMMIT, find: " and r.token = f.token and r.seq = f.seq\n", put: " and r.token = f.token\n" }],
    killedBy: [{ file: CONFORMANCE, test: "a commit at another sequence learns" }],
  },
  {
    name: "token taken out of the fence of a single entry",
    breaks: "S4",
    edits: [{ file: COMMIT_ENTRY, find: " and r.token = $3::uuid and r.seq", put: " and r.seq" }],
    killedBy: [{ file: CONFORMANCE, test: "another token, epoch or run is lost" }],
  },
  {
    name: "epoch taken out of the fence of a single entry",
    breaks: "S4",
    edits: [{ file: COMMIT_ENTRY, find: " and r.epoch = $2::bigint and r.token", put: " and r.token" }],
    killedBy: [{ file: CONFORMANCE, test: "another token, epoch or run is lost" }],
  },
  {
    name: "expected sequence taken out of the fence of a single entry",
    breaks: "S8",
    edits: [{ file: COMMIT_ENTRY, find: " and r.seq = $4::bigint and exists", put: " and exists" }],
    killedBy: [{ file: CONFORMANCE, test: "a commit at another sequence learns" }],
  },
  {
    name: "a single entry waits for a locked row",
    breaks: "lock rules",
    edits: [{ file: COMMIT_ENTRY, find: " and exists (select from free)", put: "" }],
    killedBy: [{ file: "test/store/races/races-commits.test.ts", test: "meets a locked row" }],
  },
  {
    name: "a column of a batch folded by its first and last value",
    breaks: "S8",
    edits: [
      {
        file: "src/store/postgres/connection/rowset.ts",
        find: "values.every((value) => value === values[0])",
        put: "values.at(-1) === values[0]",
      },
    ],
    killedBy: [{ file: "test/store/rowset.test.ts", test: "arrives as it was sent" }],
  },
  {
    name: "token not cleared when the claim is released",
    breaks: "S3",
    edits: [{ file: COMMIT, find: "token = case when f.to_state is null then r.token end", put: "token = r.token" }],
    killedBy: [{ file: CONFORMANCE, test: "complete ends the run" }],
  },
  {
    name: "journal entries joined on the run's id only",
    breaks: "S4",
    edits: [
      {
        file: COMMIT,
        find: 'where ${oneOf("e.ord", "select ord from ok")}\n), ended',
        put: 'where ${oneOf(runId("e.ord"), "select run_id from ok")}\n), ended',
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "judged apart|ahead of the journal" }],
  },
  {
    name: "park does not look at inbox_seq",
    breaks: "L3",
    edits: [
      {
        file: COMMIT,
        find: "(r.inbox_seq > f.seen_inbox_seq${noneLeft})",
        put: "(false${noneLeft})",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "park over a message" }],
  },
  {
    name: "dedupe keys not sorted before they are inserted",
    breaks: "lock rules",
    edits: [{ file: "src/store/postgres/run/insert-keyed-runs.ts", find: "  order by key_hash, position\n", put: "" }],
    killedBy: [{ file: "test/store/races/races-keys.test.ts" }],
  },
  {
    name: "the node's clock decides about leases",
    breaks: "S5",
    edits: [
      {
        file: "src/store/postgres/connection/dialect.ts",
        find: "now = NOW",
        put: "now = `(timestamptz 'epoch' + ${Date.now()} * interval '1 ms')`",
      },
    ],
    killedBy: [{ file: "test/store/clock.test.ts" }],
  },
  {
    name: "crashes not counted when a run is claimed",
    breaks: "S17",
    edits: [
      { file: "src/store/postgres/claim/claim-runs.ts", find: "crashes = r.crashes + 1,", put: "crashes = r.crashes," },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a granted run is running" }],
  },
  {
    name: "runs picked by a sub-select that is not materialized",
    breaks: "S15",
    edits: [
      {
        file: "src/store/postgres/claim/claim-runs.ts",
        find: `where r.id = any(array(select id from picked where suspect is not true)
    || array(select id from picked where suspect order by priority, available_at, id limit 1))`,
        put: `where r.id in (
    select q.id from \${s}.runs q where q.state = 'waiting' and q.claim_group = any($3) and q.available_at <= (select \${now})
    order by q.priority, q.available_at limit $4 for no key update skip locked) and not exists (select from held)`,
      },
    ],
    killedBy: [{ file: "test/store/planner/planner.test.ts", test: "a claim takes no more than its limit" }],
  },
  {
    name: "a reclaim acts on a list that it read before",
    breaks: "S5, S16",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-expired.ts",
        find: "  limit ${limit}\n  for no key update skip locked\n",
        put: "  limit ${limit}\n",
      },
      {
        file: "src/store/postgres/claim/reclaim-orphans-sql.ts",
        find: " and r.token is not null and ${still}\n",
        put: "\n",
      },
    ],
    killedBy: [{ file: "test/store/races/races-claims.test.ts" }],
  },
  {
    name: "a renewal that asks for the owner's epoch only",
    breaks: "S4",
    edits: [{ file: "src/store/postgres/claim/renew-claims.ts", find: " and r.token = l.token\n", put: "\n" }],
    killedBy: [{ file: CONFORMANCE, test: "lost: other epoch, other token" }],
  },
  {
    name: "a commit counted as written before by its sequence alone",
    breaks: "S1",
    edits: [
      {
        file: "src/store/postgres/claim/refused-commits.ts",
        find: '      and j.epoch = ${fence.at("epoch", "e.ord")} and j.token = ${fence.at("token", "e.ord")}\n',
        put: "",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "recorded|judged apart|ahead of the journal" }],
  },
  {
    name: "a lease is taken before it has expired",
    breaks: "S5",
    edits: [
      {
        file: "src/store/postgres/lease/leases.ts",
        find: "or l.lease_until <= excluded.acquired_at",
        put: "or l.token is distinct from excluded.token",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a held key is busy" }],
  },
  {
    name: "our statements may read whole tables",
    breaks: "plans do not depend on when they were made",
    edits: [
      {
        file: "src/store/postgres/connection/connections.ts",
        find: '"set enable_seqscan = off; set plan',
        put: '"set plan',
      },
    ],
    killedBy: [{ file: "test/store/planner/planner.test.ts", test: "planned while the tables were empty" }],
  },
  {
    name: "the planner settings of a connection are the server's",
    breaks: "plans do not depend on when they were made",
    edits: [
      {
        file: "src/store/postgres/connection/connections.ts",
        find: "this.#config(options.connections, OUR_STATEMENTS)",
        put: "this.#config(options.connections)",
      },
    ],
    killedBy: [{ file: "test/store/connections.test.ts", test: "plan our statements once" }],
  },
  {
    name: "a count is planned as if no table could be read in whole",
    breaks: "a statement that must read a whole table scans it sequentially",
    edits: [
      { file: "src/store/postgres/connection/connections.ts", find: "; set local enable_seqscan = on`", put: "`" },
    ],
    killedBy: [{ file: "test/store/connections.test.ts", test: "plan a count as the server likes" }],
  },
  {
    name: "a connection that broke is handed out again",
    breaks: "L1",
    edits: [
      {
        file: "src/store/postgres/connection/spare-connections.ts",
        find: "this.#spares = this.#spares.filter((spare) => spare.client !== client);",
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/spare-connections.test.ts" }],
  },
  {
    name: "an idle connection is kept from callers that wait for one",
    breaks: "L1",
    edits: [
      { file: "src/store/postgres/connection/spare-connections.ts", find: " || this.#pool.waitingCount > 0", put: "" },
    ],
    killedBy: [{ file: "test/store/spare-connections.test.ts" }],
  },
  {
    name: "a statement whose columns a migration has changed fails for good",
    breaks: "nodes of two versions work on one schema",
    edits: [
      {
        file: "src/store/postgres/connection/sqlstate.ts",
        find: '    if (isOutdated(error)) return "transient";\n',
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/connections.test.ts", test: "prepare a statement again" }],
  },
  {
    name: "a temporary server leaves data that had to go elsewhere",
    breaks: "nothing is left behind",
    edits: [{ file: "src/embedded/start.ts", find: "    left.push(place.folder);\n", put: "" }],
    killedBy: [{ file: "test/embedded/temporary.test.ts" }],
  },
  {
    name: "a page of all states is left to the planner",
    breaks: "plans do not depend on statistics",
    edits: [
      {
        file: "src/store/postgres/run/run-ranges.ts",
        find: `[of("r.claim_group = g.id and r.state = 'waiting'")]`,
        put: `[inIndex("r.state = 'waiting'")]`,
      },
    ],
    killedBy: [{ file: "test/store/planner/lists-large.test.ts" }],
  },
  {
    name: "a list by several conditions walks the runs of the first",
    breaks: "plans do not depend on statistics",
    edits: [
      {
        file: "src/store/postgres/run/run-ranges.ts",
        find: "sizes.lastIndexOf(Math.min(...sizes))",
        put: "sizes.indexOf(sizes[0]!)",
      },
    ],
    killedBy: [{ file: "test/store/planner/views.test.ts", test: "nothing was ever analyzed" }],
  },
  {
    name: "a list by the beginning of a key reads all keys",
    breaks: "plans do not depend on statistics",
    edits: [
      {
        file: "src/store/postgres/migrations/0001-ground.ts",
        find: 'create index run_keys_key on ${s}.run_keys (env, key collate "C");',
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/planner/views.test.ts", test: "nothing was ever analyzed" }],
  },
  {
    name: "a repair is planned once for all its parameters",
    breaks: "plans do not depend on statistics",
    edits: [
      { file: "src/store/postgres/migrations/0001-tasks.ts", find: " set plan_cache_mode = auto as $$", put: " as $$" },
    ],
    killedBy: [{ file: "test/store/planner/lists-large.test.ts" }],
  },
  {
    name: "calls that wait when the store is closed hang",
    breaks: "L7",
    edits: [
      {
        file: "src/store/postgres/connection/connections.ts",
        find: "    for (const reject of this.#waiting) reject(new StoreClosed());\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/connections.test.ts", test: "reject at once" }],
  },
];
