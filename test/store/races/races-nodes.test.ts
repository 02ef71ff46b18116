// Nodes that run housekeeping at the same moment, each missing the others, as after a restart of the database.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { registerNode, registerValues } from "../../../src/store/postgres/node/nodes.js";
import { scene } from "../scene.js";

const s = scene();
const NODES = 12;
const ROUNDS = 25;
const WITNESS = { env: "default", watchedMs: 60_000, troubled: false };

test("nodes that miss each other at the same moment never wait for each other", async () => {
  const nodes = Array.from({ length: NODES }, () => ({ store: s.open({ connections: 1 }), incarnation: randomUUID() }));
  for (const [i, { store, incarnation }] of nodes.entries()) {
    const identity = `node-${i}`;
    await store.nodes.register({ incarnation, identity, name: identity, env: "default", stack: null, build: null });
  }
  const failures: unknown[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // Numbers of locks that no session holds: every node marks every other as absent, in any order.
    await s.rows("update {s}.nodes set absent_since = null, presence = 2000000000 + (random() * 1e6)::int");
    const answers = await Promise.all(
      nodes.map(({ store, incarnation }) =>
        store.housekeep({ incarnation, ...WITNESS }).catch((error) => void failures.push(error)),
      ),
    );
    for (const answer of answers) if (answer) expect(answer.registered).toBe(true);
  }
  expect(failures).toEqual([]);
  // A locked row is found in the next round.
  for (const { store, incarnation } of nodes.slice(0, 2)) {
    await store.housekeep({ incarnation, ...WITNESS });
  }
  const missed = await s.rows("select count(*)::int as n from {s}.nodes where absent_since is not null");
  expect(missed).toEqual([{ n: NODES }]);
});

test.each([
  { first: true, second: true },
  { first: true, second: false },
  { first: false, second: true },
])(
  "a registration waits for one in progress that it must not run next to (alone: $first, then $second)",
  async ({ first, second }) => {
    const env = `race-${first}-${second}`;
    const node = (alone: boolean) => ({
      ...{ incarnation: randomUUID(), identity: "i", name: "n", env, stack: null, build: null },
      alone,
    });
    const earlier = node(first);
    const client = await s.pool.connect();
    await client.query("begin");
    const { rows } = await client.query(s.text(registerNode), [...registerValues(earlier)]);
    expect(rows).toMatchObject([{ outcome: "registered" }]);

    let answered = false;
    const later = s.store.nodes.register(node(second)).finally(() => {
      answered = true;
    });
    const waits = () =>
      s.rows("select from pg_stat_activity where wait_event = 'advisory' and query like '%register_node%'");
    await expect.poll(async () => answered || (await waits()).length > 0, { timeout: 10_000 }).toBe(true);
    expect(answered, "before the first has committed").toBe(false);
    await client.query("commit");
    client.release();
    expect(await later).toMatchObject({ outcome: "refused", by: { incarnation: earlier.incarnation, alone: first } });
  },
);
