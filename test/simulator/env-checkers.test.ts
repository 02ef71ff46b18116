// The checkers of envs, authors and rates are able to fail: what must never happen is made to happen by hand.

import { expect, test } from "vitest";
import { checkApplied } from "../../src/simulator/check/applied.js";
import { checkTables } from "../../src/simulator/check/tables.js";
import { FlowWorkload } from "../../src/simulator/workload/flow-workload.js";
import { Scene } from "./checkers-scene.js";

test("S18 is broken by a grant to a node of another env, and by a reclaim from there", async () => {
  for (const by of ["sister.1", "foreign.2"]) {
    const s = new Scene();
    await s.insert();
    const request = await s.request();
    const granted = await s.store.runs.claim(request);
    checkApplied(s.history, { op: "runs.claim", args: [request], answer: granted }, by);
    expect(s.broken).toContain("S18");
  }
  const s = new Scene();
  await s.inserted();
  await s.world.advance(10_000);
  const round = { env: "default", limit: 10 };
  const reclaimed = await s.store.runs.reclaimExpired(round);
  checkApplied(s.history, { op: "runs.reclaimExpired", args: [round], answer: reclaimed }, "sister.1");
  expect(s.broken).toContain("S18");
});

test("the same key in another env is another run", async () => {
  const key = { scope: "script", key: "k", payloadHash: "h", lifetime: "archived", onMismatch: "conflict" } as const;
  const s = new Scene();
  const { group } = await s.insert({ key });
  await s.insert({ key, group: { ...group, env: "sister" } });
  expect(s.history.violations).toEqual([]);
});

test("S19 is broken by a decision without a name", async () => {
  const s = new Scene();
  const { id } = await s.insert();
  await s.send(id, "wait:permit:1");
  checkTables(s.history);
  expect(s.history.violations).toEqual([]);
  const [row] = s.tables.inbox.get(id)!;
  Object.assign(row!, { sender: null });
  checkTables(s.history);
  expect(s.broken).toEqual(["S19"]);
});

test("S15 is broken by starts that come faster than their rate", async () => {
  const s = new Scene();
  const group = { env: "default", stack: null, queue: "metered", program: "metered", version: null };
  const groupIds = await s.store.runs.groupIds([group]);
  for (let i = 0; i < 2; i++) await s.insert({ group });
  await s.claim({ groupIds });
  await s.claim({ groupIds });
  await new FlowWorkload().check(s.history);
  expect(s.broken).toEqual(["S15"]);
});
