// Changes of a transaction step to its session are undone when it ends, and nothing it sends ends its transaction early.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type Node } from "../../src/node/create-node.js";
import type { Transaction } from "../../src/store/contract/transaction.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { type PgBouncer, startPgBouncer } from "../harness/pgbouncer.js";
import { needs } from "../harness/require.js";
import { QUICK } from "./node-suite.js";

type Work = (tx: Transaction) => Promise<unknown>;
type Query = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

const { url, schema, pool } = testSchema();
const table = `${schema}_rows`;
const other = `${schema}_role`;
const program = needs("pgbouncer");
let bouncer: PgBouncer | null = null;

beforeAll(async () => {
  const store = openPostgres(url, { schema });
  await store.migrate();
  await store.close();
  await pool.query(`create table ${table} (what text)`);
  await pool.query(`create role ${other}`);
  await pool.query(`create procedure ${schema}.commits() language plpgsql as $$ begin commit; end $$`);
  // One connection to the server: the next transaction certainly has the one of the last.
  if (program) bouncer = await startPgBouncer(program, url, { poolSize: 1 });
});
afterAll(async () => {
  await bouncer?.stop();
  await pool.query(`drop table ${table}`);
  await pool.query(`drop role ${other}`);
});

const count = async (what: string): Promise<number> =>
  (await pool.query(`select count(*)::int as n from ${table} where what = $1`, [what])).rows[0].n;

/** Each leaves something in the session that the look of the next transaction would find. */
const LEAKS: Readonly<Record<string, { readonly leave: readonly string[]; readonly look: string }>> = {
  search_path: { leave: ["set search_path = pg_temp"], look: "select current_setting('search_path')" },
  statement_timeout: {
    leave: ["select set_config('statement_timeout', '77', false)"],
    look: "select current_setting('statement_timeout')",
  },
  role: { leave: [`set role ${other}`], look: "select current_user || session_user" },
  "local role": { leave: [`set local role ${other}`], look: "select current_user || session_user" },
  "session authorization": {
    leave: [`set session authorization ${other}`],
    look: "select current_user || session_user",
  },
  "advisory locks": {
    leave: ["select pg_advisory_lock(4711)", "select pg_advisory_lock_shared(4712)"],
    look: "select count(*) from pg_locks where locktype = 'advisory' and objid in (4711, 4712)",
  },
  "temporary tables": {
    leave: ["create temporary table leaked (n int)"],
    look: "select count(*) from pg_class where relname = 'leaked'",
  },
  LISTEN: { leave: ["listen leaked"], look: "select count(*) from pg_listening_channels()" },
  "prepared statements": {
    leave: ["prepare leaked as select 1"],
    look: "select count(*) from pg_prepared_statements where name = 'leaked'",
  },
  "held cursors": {
    leave: ["declare leaked cursor with hold for select 1"],
    look: "select count(*) from pg_cursors where name = 'leaked'",
  },
  "a read-only session": {
    leave: ["set session characteristics as transaction read only"],
    look: "select current_setting('transaction_read_only')",
  },
  "the default isolation": {
    leave: ["set default_transaction_isolation = 'serializable'"],
    look: "select current_setting('transaction_isolation') || current_setting('default_transaction_isolation')",
  },
  "settings of one's own": {
    leave: ["set app.tenant = 'leaked'"],
    look: "select coalesce(current_setting('app.tenant', true), '')",
  },
};

const ways: [string, () => { store: PostgresStore; end: () => Promise<void> }][] = [
  [
    "direct connections",
    () => {
      const store = openPostgres(url, { schema, transactions: 1 });
      return { store, end: () => store.close() };
    },
  ],
  [
    "a pool of the application's",
    () => {
      const own = new pg.Pool({ connectionString: url, max: 2 });
      const store = openPostgres(own, { schema, transactions: 1 });
      return { store, end: () => store.close().then(() => own.end()) };
    },
  ],
  [
    "PgBouncer",
    () => {
      const store = openPostgres(bouncer!.url, { schema, transactions: 1, connections: 1 });
      return { store, end: () => store.close() };
    },
  ],
];

describe.for(ways.filter(([name]) => program || name !== "PgBouncer"))("through %s", ([, open]) => {
  let node: Node;
  let close: () => Promise<void>;
  let work: Work = async () => {};
  const transacts = workflow("transacts", async (ctx) => ctx.transaction("x", { retry: 1 }, (tx) => work(tx)));
  const next = workflow("next", async (ctx) => ctx.transaction("x", { retry: 1 }, (tx) => work(tx)));

  beforeAll(async () => {
    const { store, end } = open();
    node = await createNode({ store, timing: { ...QUICK.timing, lease: "20s" }, programs: [transacts, next] });
    close = end;
  });
  afterAll(async () => {
    await node.stop({ grace: "1s" });
    await close();
  });

  const run = async (of: typeof transacts | typeof next, what: Work): Promise<unknown> => {
    work = what;
    return (await node.start(of as typeof next)).result({ timeout: "10s" });
  };
  const look = (text: string) => run(next, async (tx) => Object.values((await (tx.query as Query)(text)).rows[0]!)[0]);

  test.for(Object.keys(LEAKS))("%s of one transaction do not reach the next", async (name) => {
    const { leave, look: text } = LEAKS[name]!;
    const before = await look(text);
    await run(transacts, async (tx) => {
      for (const one of leave) await (tx.query as Query)(one);
    });
    expect(await look(text)).toEqual(before);
    // The next transaction can write.
    await run(next, async (tx) => void (await tx.query(`insert into ${table} values ($1)`, [`after ${name}`])));
    expect(await count(`after ${name}`)).toBeGreaterThan(0);
  });

  test("what a failed transaction left in its session does not reach the next", async () => {
    const text = "select current_setting('search_path') || current_user";
    const before = await look(text);
    const failing = run(transacts, async (tx) => {
      await (tx.query as Query)("set search_path = pg_temp");
      await (tx.query as Query)(`set session authorization ${other}`);
      await (tx.query as Query)("select pg_advisory_lock(4713)");
      throw new Error("business");
    });
    await expect(failing).rejects.toMatchObject({ cause: { message: "business" } });
    const locks = "select 1 from pg_locks where locktype = 'advisory' and objid = 4713";
    await expect.poll(async () => (await pool.query(locks)).rowCount).toBe(0);
    expect(await look(text)).toEqual(before);
  });

  test("the settings of the step's sessions are there again after a reset", async () => {
    const text = "select current_setting('statement_timeout') || current_setting('jit')";
    const before = await look(text);
    await run(transacts, async (tx) => void (await (tx.query as Query)("reset all")));
    expect(await look(text)).toEqual(before);
  });

  const insert = (what: string) => `insert into ${table} values ('${what}')`;
  /** Each is sent after a row was written, and the step fails afterwards. */
  const ESCAPES: Readonly<Record<string, readonly string[]>> = {
    "a COMMIT behind a statement": ["select 1; commit"],
    "a COMMIT behind a comment": ["/* one /* two */ */ commit"],
    "a COMMIT behind a line comment": ["-- note\n commit"],
    "a COMMIT behind an empty statement": [" ; ; commit"],
    "a COMMIT AND CHAIN": ["commit and chain"],
    "a ROLLBACK AND CHAIN that mentions to": ["rollback and chain -- to"],
    "END, ABORT and START": ["end", "abort work", "start transaction"],
    "ROLLBACK and BEGIN, each caught": ["rollback", "begin", insert("escaped")],
    "COMMIT and BEGIN, each caught": ["commit /* */", "begin isolation level serializable"],
    "PREPARE TRANSACTION": ["prepare /* x */ transaction 'escaped'"],
    "a COMMIT in a DO block": ["do $$ begin commit; end $$"],
    "a procedure that commits": [`call ${schema}.commits()`],
    "a multi-statement that commits its own row": [`begin; ${insert("escaped")}; commit`],
  };

  test.for(Object.keys(ESCAPES))("%s commits no row of a step that fails", async (name) => {
    const what = `${name} ${Math.random()}`;
    const failing = run(transacts, async (tx) => {
      await tx.query(`insert into ${table} values ($1)`, [what]);
      for (const text of ESCAPES[name]!) await (tx.query as Query)(text).catch(() => {});
      throw new Error("the step fails");
    });
    await expect(failing).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect([await count(what), await count("escaped")]).toEqual([0, 0]);
    expect(await look("select 7")).toBe(7);
  });

  test("savepoints and a custom isolation level are allowed", async () => {
    const answer = await run(transacts, async (tx) => {
      const query = tx.query as Query;
      await query("set transaction isolation level repeatable read");
      await query("savepoint a");
      await query(insert("undone"));
      await expect(query("select 1 / 0")).rejects.toMatchObject({ code: "22012" });
      await query("rollback /* to be sure */ work to savepoint a");
      await query("release a");
      return (await query("select current_setting('transaction_isolation') as level")).rows[0]!["level"];
    });
    expect(answer).toBe("repeatable read");
    expect(await count("undone")).toBe(0);
  });

  test("a transaction that was made read-only fails with an explanatory error, and only it", async () => {
    const failing = run(transacts, async (tx) => void (await (tx.query as Query)("set transaction read only")));
    const cause = { code: "INVALID_INPUT", message: expect.stringContaining("read only") };
    await expect(failing).rejects.toMatchObject({ cause });
    expect(await look("select 8")).toBe(8);
  });

  test("several statements in one text are rejected with an explanatory error", async () => {
    const failing = run(transacts, (tx) => (tx.query as Query)("select 1; select 2"));
    const cause = { code: "INVALID_INPUT", message: expect.stringContaining("one statement") };
    await expect(failing).rejects.toMatchObject({ cause });
  });

  test.for([
    ["a query config", { text: "commit" }],
    ["a submittable", { submit: () => {}, text: "commit" }],
    ["no text", undefined],
  ] as const)("%s is rejected with an explanatory error", async ([, query]) => {
    const failing = run(transacts, (tx) => tx.query(query as never, []));
    await expect(failing).rejects.toMatchObject({ cause: { code: "INVALID_INPUT" } });
  });

  test.for([`copy ${table} from stdin`, `copy ${table} to stdout`])("%s ends, and the next one works", async (text) => {
    await run(transacts, (tx) => (tx.query as Query)(text)).catch(() => {});
    expect(await look("select 9")).toBe(9);
  });

  test("statements that are not awaited are part of the transaction, and their failure fails the step", async () => {
    const what = `unawaited ${Math.random()}`;
    await run(transacts, async (tx) => {
      void tx.query(`insert into ${table} values ($1)`, [what]);
      void tx.query("select pg_sleep(0.05)", []);
      void tx.query(`insert into ${table} values ($1)`, [what]);
    });
    expect(await count(what)).toBe(2);
    const failing = run(transacts, async (tx) => {
      void tx.query(`insert into ${table} values ($1)`, [what]);
      void tx.query("select 1 / 0", []);
    });
    await expect(failing).rejects.toMatchObject({ cause: { code: "22012" } });
    expect(await count(what)).toBe(2);
  });
});
