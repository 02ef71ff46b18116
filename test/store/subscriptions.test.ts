// Subscriptions on PostgreSQL: dead nodes are forgotten, and nodes that start together do not disturb each other.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Subscription } from "../../src/store/contract/event/events.js";
import type { Store } from "../../src/store/contract/store.js";
import { group, scene } from "./scene.js";

const s = scene();

const wish = (n: number, more: Partial<Subscription> = {}): Subscription => ({
  id: `work on ${n}`,
  scope: `work on ${n}`,
  env: "test",
  stack: null,
  event: "updated",
  program: "work",
  queue: "work",
  version: null,
  where: [{ n }],
  subject: null,
  debounceMs: null,
  lifetime: "archived",
  crashLimit: 5,
  breaker: null,
  ...more,
});

async function start(store: Store, subscriptions: readonly Subscription[]): Promise<string> {
  const incarnation = randomUUID();
  const serves = await store.runs.groupIds([group()]);
  await store.nodes.register({ incarnation, identity: "i", name: "n", env: "test", stack: null, build: null, serves });
  await store.events.subscribe({ incarnation, env: "test", subscriptions, starting: true });
  return incarnation;
}

const left = async () => (await s.store.events.subscriptions("test")).map(({ id }) => id);

test("a dead node is forgotten after a while; when it is back, it declares its triggers again", async () => {
  const dying = await start(s.store, [wish(1)]);
  await s.rows("update {s}.nodes set seen_at = seen_at - interval '59 seconds' where incarnation = $1", [dying]);
  const newer = await start(s.store, []);
  expect(await left()).toEqual(["work on 1"]);
  await s.rows("update {s}.nodes set seen_at = seen_at - interval '2 seconds' where incarnation = $1", [dying]);
  const look = { env: "test", subscriptions: [], starting: false };
  expect(await s.store.events.subscribe({ incarnation: newer, ...look })).toBe(1);
  expect(await left()).toEqual([]);
  await s.store.nodes.heartbeat(dying);
  await s.store.events.subscribe({ incarnation: dying, env: "test", subscriptions: [wish(1)], starting: false });
  expect(await s.store.events.subscribe({ incarnation: newer, ...look })).toBe(0);
  expect(await left()).toEqual(["work on 1"]);
});

test("eight nodes start and stop at once with the same and with other triggers, without a deadlock", async () => {
  const stores = Array.from({ length: 4 }, () => s.open());
  const many = Array.from({ length: 50 }, (_, n) => wish(n));
  for (let round = 0; round < 3; round++) {
    const changed = many.map((one) => ({ ...one, crashLimit: round + 1 }));
    const nodes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => start(stores[i % 4]!, i % 2 === 0 ? changed : changed.toReversed())),
    );
    expect((await left()).length).toBe(50);
    await Promise.all(nodes.slice(1).map((one) => s.store.nodes.stop(one)));
  }
  const rows = await s.rows<{ n: number }>("select count(*)::int as n from {s}.subscriptions where crash_limit = 3");
  expect(rows).toEqual([{ n: 50 }]);
});
