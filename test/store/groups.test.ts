// The numbers of claim groups: made from their names, so that a failover that loses a group cannot give its number to another.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { createNode } from "../../src/node/create-node.js";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { groupNumber, textOf } from "../../src/store/postgres/run/groups.js";
import { workflow } from "../../src/workflow/workflow.js";
import { testSchema } from "../harness/database.js";
import { group, newRun } from "./scene.js";

const [here, there] = [testSchema(), testSchema()];
const stores: PostgresStore[] = [];
const open = async ({ url, schema }: typeof here) => {
  const store = openPostgres(url, { schema });
  stores.push(store);
  await store.migrate();
  return store;
};
let store: PostgresStore;

beforeAll(async () => {
  store = await open(here);
});
afterAll(() => Promise.all(stores.map((one) => one.close())));

test("a group has the same number in every database, whichever comes first", async () => {
  const other = await open(there);
  const groups = ["a", "b", "c"].map((queue) => group(queue));
  const ids = await store.runs.groupIds(groups);
  expect(new Set(ids).size).toBe(3);
  expect(await other.runs.groupIds([...groups].reverse())).toEqual([...ids].reverse());
});

test("a group whose number is taken gets the next one, and each group claims its own runs", async () => {
  const [taken, late] = [group("taken"), group("late")];
  const number = groupNumber(textOf(late), 0);
  await here.pool.query(
    `insert into ${here.schema}.claim_groups (id, env, stack, queue, program, version) values ($1, $2, '', 'taken', $3, '')`,
    [number, taken.env, taken.program],
  );
  const runs = [newRun({ group: taken }), newRun({ group: late })];
  await store.runs.insert(runs);
  const ids = await store.runs.groupIds([taken, late]);
  expect(ids).toEqual([number, groupNumber(textOf(late), 1)]);
  for (const [i, id] of ids.entries()) {
    const [owner, token] = [crypto.randomUUID(), crypto.randomUUID()];
    const claims = await store.runs.claim({ owner, token, groupIds: [id], limit: 10, leaseMs: 1000 });
    expect(claims.map(({ runId }) => runId)).toEqual([runs[i]!.id]);
  }
});

test("a lost group comes back under its number, and a node that claims by it works before it is declared again", async () => {
  const kept = workflow("kept", async () => "kept");
  const slow = { timing: { housekeeping: "1h", pollInterval: 20, pollMax: 50 } } as const;
  await using node = await createNode({ store, programs: [kept], env: "lost", ...slow });
  const lose = () => here.pool.query(`delete from ${here.schema}.claim_groups where env = 'lost'`);
  await lose();
  // The first group declared after the failover must not get the number.
  const away = workflow("away", async () => "away");
  const client = createClient({ store: await open(here), env: "lost" });
  const stray = await client.start(away);
  const run = await client.start(kept);
  expect(await run.result({ timeout: "10s" })).toBe("kept");
  expect((await stray.status()).state).toBe("waiting");
  // Behind a pooler a change of the server is invisible: declared again, the group exists.
  const group = { env: "lost", stack: null, queue: "kept", program: "kept", version: null };
  await store.runs.groupIds([group]);
  await lose();
  const [id] = await store.runs.groupIds([group]);
  const { rows } = await here.pool.query(`select program from ${here.schema}.claim_groups where id = $1`, [id]);
  expect(rows).toEqual([{ program: "kept" }]);
  expect(node.active).toBe(0);
});
