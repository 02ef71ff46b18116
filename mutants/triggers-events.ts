// Planted bugs in events: each makes a run twice, loses one, or starts it with an event that is not the last.

import type { Mutant } from "./mutant.js";

const EMITTER = "src/trigger/emitter.ts";
const DEBOUNCE = "src/store/postgres/event/debounce-events.ts";
const START = "src/store/postgres/event/start-events.ts";
const SETTLE = "src/store/postgres/event/settle-debounced.ts";
const CONFORMANCE = { file: "test/conformance/postgres.test.ts" };

export const triggersEvents: readonly Mutant[] = [
  {
    name: "a node that leaves counts as one that has its programs",
    breaks: "S10",
    edits: [
      {
        file: "src/store/postgres/event/subscriptions.ts",
        find: "then not $3::bool else",
        put: "then $3::bool is not null else",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "the last node that leaves keeps" }],
  },
  {
    name: "an event's key names the stack",
    breaks: "S10",
    edits: [
      {
        file: "src/trigger/subscription.ts",
        find: 'scope: per === "stack" ? id : idOf(name, [name, event, where]),',
        put: "scope: per ? id : id,",
      },
    ],
    killedBy: [{ file: "test/trigger/emit.test.ts", test: "has one run, in the stack of the first that emitted it" }],
  },
  {
    name: "an event's key is kept apart by the subscription",
    breaks: "S10",
    edits: [{ file: START, find: 'keyHash("e.env", "u.scope", "e.key")', put: 'keyHash("e.env", "u.id", "e.key")' }],
    killedBy: [{ ...CONFORMANCE, test: "one scope in two stacks" }],
  },
  {
    name: "the events of a subject gather in each stack",
    breaks: "S10",
    edits: [
      {
        file: "src/trigger/planned-run.ts",
        find: "{ scope, subject: path }: Matched",
        put: "{ id: scope, subject: path }: Matched",
      },
    ],
    killedBy: [{ file: "test/trigger/emit.test.ts", test: "debounced per env" }],
  },
  {
    name: "a key ignores per: stack",
    breaks: 'per: "stack"',
    edits: [
      {
        file: "src/client/runs.ts",
        find: "programScope(program, perOf(per), stack)",
        put: "programScope(program, 'env', stack)",
      },
    ],
    killedBy: [{ file: "test/trigger/emit.test.ts", test: "is one run for the env" }],
  },
  {
    name: "a random id in the hash of an event",
    breaks: "S10",
    edits: [
      {
        file: "src/trigger/occurrence.ts",
        find: 'const hash = payloadHash(payload, "payload");',
        put: 'const hash = payloadHash({ payload, id: place.id }, "payload");',
      },
    ],
    killedBy: [{ file: "test/trigger/emit.test.ts", test: "the same event starts nothing again" }],
  },
  {
    name: "the runs of an event are inserted outside the caller's transaction",
    breaks: "S10",
    edits: [
      {
        file: EMITTER,
        find: "await this.#insert(accepted.planned, inTransaction)",
        put: "await this.#insert(accepted.planned, {})",
      },
    ],
    killedBy: [{ file: "test/trigger/emit.test.ts", test: "emitted in a transaction" }],
  },
  {
    name: "the run of an event inserted in a second transaction",
    breaks: "S10",
    edits: [
      {
        file: START,
        find: '  select * from asked where ${oneOf("id", "select run_id from k")}\n), r as',
        put: "  select * from asked where false\n), r as",
      },
      {
        file: START,
        find: "  const again = events.flatMap(",
        put: `  const late = events.flatMap((event, i) => {
    const { matched, made } = found[i]!;
    return matched.filter((_, k) => made[k]).map((one) => eventRun(event, one));
  });
  if (late.length > 0) await insert(db, groups, late.map(({ key: _key, ...run }) => run));
  const again = events.flatMap(`,
      },
    ],
    killedBy: [{ file: "test/store/races/races-keys.test.ts", test: "start the same events" }],
  },
  {
    name: "a keyed run inserted in a second transaction",
    breaks: "S10",
    edits: [
      {
        file: "src/store/postgres/run/insert-keyed-runs.ts",
        find: "      return await db.run(insertKeyedRuns, values);\n",
        put: `      const all = await values();
      const into = \`\${db.dialect.schema}.run_keys (hash, env, scope, key, payload_hash, lifetime, run_id)\`;
      const kept = "$1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[]";
      const text = \`insert into \${into} select * from unnest(\${kept}) order by 1 on conflict do nothing returning run_id\`;
      const taken = await db.runText<{ run_id: string }>("keys", text, [...all.slice(10, 16), all[0]]);
      const second = runs.filter(({ id }) => taken.some(({ run_id }) => run_id === id));
      if (second.length > 0) await db.run(insertRunsAgain, columnsOf(second, await places()));
      return taken;
`,
      },
    ],
    killedBy: [{ file: "test/store/races/races-keys.test.ts" }],
  },
  {
    name: "an event is started in part when one run needs another statement",
    breaks: "accepting an event is one write",
    edits: [
      {
        file: START,
        find: 'select * from m where not ${oneOf("position", "select position from m where not plain")}',
        put: "select * from m where plain",
      },
    ],
    killedBy: [{ ...CONFORMANCE, test: "left alone as a whole" }],
  },
  {
    name: "the statement draws new ids for an event's runs",
    breaks: "a repeated call finds its own effect",
    edits: [
      {
        file: START,
        find: "left(encode(sha256(convert_to(e.id::text || u.id, 'UTF8')), 'hex'), 12)",
        put: "left(md5(random()::text), 12)",
      },
    ],
    killedBy: [{ ...CONFORMANCE, test: "an event makes a run for each" }],
  },
  {
    name: "gathered and started runs of one event are in two transactions",
    breaks: "accepting an event is one write",
    edits: [
      {
        file: DEBOUNCE,
        find: "      inserted = await insert(db, groups, runs, { tx });\n",
        put: "      inserted = await insert(db, groups, runs);\n",
      },
    ],
    killedBy: [{ file: "test/store/races/races-debounce.test.ts", test: "neither is there" }],
  },
  {
    name: "an event whose run was skipped counts as started",
    breaks: "answers are true",
    edits: [{ file: EMITTER, find: 'if (record?.state === "skipped") answers', put: "if (record === null) answers" }],
    killedBy: [{ file: "test/trigger/emit.test.ts", test: "answered as skipped" }],
  },
  {
    name: "the run that gathers inserted in a second transaction",
    breaks: "no event is lost",
    edits: [
      {
        file: DEBOUNCE,
        find: '  select * from asked where ${oneOf("id", "select run_id from g")}\n',
        put: "  select * from asked where false\n",
      },
      {
        file: DEBOUNCE,
        find: "  // A node that sleeps until the next run is due has to know of it.\n",
        put: "  if (made.length > 0) await db.run(insertGathering, columnsFor(groups, made, (event) => event.ticket.windowMs));\n",
      },
    ],
    killedBy: [{ file: "test/store/races/races-debounce.test.ts", test: "leaves nothing of its subject" }],
  },
  {
    name: "a debounced run keeps the event it was made with",
    breaks: "the last event counts",
    edits: [
      {
        file: DEBOUNCE,
        find: "set last_at = excluded.last_at, codec = excluded.codec, data = excluded.data,",
        put: "set last_at = excluded.last_at,",
      },
    ],
    killedBy: [{ ...CONFORMANCE, test: "many events of a subject make one run" }],
  },
  {
    name: "a subject is forgotten in a second statement",
    breaks: "no event is lost",
    edits: [
      {
        file: SETTLE,
        find: "  delete from ${s}.debounces x where ${ROW} and (select outcome from ok) = 'begins'\n",
        put: "  delete from ${s}.debounces x where false\n",
      },
      {
        file: SETTLE,
        find: "    if (row) return { outcome: row.outcome };",
        put: `    if (row) {
      if (row.outcome === "begins") {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await db.runText("forget", \`delete from \${db.dialect.schema}.debounces where run_id = $1\`, [claim.runId]);
      }
      return { outcome: row.outcome };
    }`,
      },
    ],
    killedBy: [{ file: "test/store/races/races-debounce.test.ts" }],
  },
  {
    name: "a cancelled run keeps gathering",
    breaks: "no event is lost",
    edits: [
      {
        file: DEBOUNCE,
        find: "      run_id = case when coalesce((select r.state in ${ENDED} from ${d.schema}.runs r where r.id = d.run_id),",
        put: "      run_id = case when coalesce(false,",
      },
    ],
    killedBy: [{ ...CONFORMANCE, test: "a run that was cancelled gathers no more" }],
  },
  {
    name: "a subscription outlives its last declaration",
    breaks: "subscriptions follow the code",
    edits: [
      {
        file: "src/store/postgres/event/subscriptions.ts",
        find: "    and not exists (\n",
        put: "    and false and not exists (\n",
      },
    ],
    killedBy: [{ ...CONFORMANCE, test: "a trigger that was dropped" }],
  },
  {
    name: "a node that stops removes what another is about to declare",
    breaks: "no event is lost",
    edits: [
      { file: "src/store/postgres/event/subscriptions.ts", find: "where k.alive and k.declares", put: "where k.alive" },
    ],
    killedBy: [{ ...CONFORMANCE, test: "a node that is about to declare" }],
  },
  {
    name: "two runs probe at once",
    breaks: "the circuit breaker",
    edits: [
      {
        file: "src/store/postgres/limit/breakers.ts",
        find: "    else r.state in ${ENDED}\n",
        put: "    else true\n",
      },
    ],
    killedBy: [{ ...CONFORMANCE, test: "when its time has passed one may probe" }],
  },
];
