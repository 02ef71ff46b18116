// One active reclaimer: of several nodes one reclaims the runs of dead nodes; when it dies, another does.

import { expect, test } from "vitest";
import type { Node } from "../../src/node/create-node.js";
import { onBothStores } from "../workflow/node-suite.js";

const HOUSE_MS = 500;

onBothStores((bench) => {
  const group = { env: "default", stack: null, queue: "lost", program: "lost", version: null };

  /** Claimed by a node that is gone, with a lease that expires at once. */
  async function loseRun(): Promise<string> {
    const id = `00000000-0000-7000-8000-${crypto.randomUUID().slice(24)}`;
    const input = { codec: "json", data: "1" };
    await bench.store.runs.insert([{ id, group, priority: 0, delayMs: 0, crashLimit: 100, input }]);
    const groupIds = await bench.store.runs.groupIds([group]);
    const [owner, token] = [crypto.randomUUID(), crypto.randomUUID()];
    await bench.store.runs.claim({ owner, token, groupIds, limit: 1, leaseMs: 0 });
    return id;
  }

  test("of three nodes one reclaims; when it stops, another takes over", async () => {
    const reclaimed: { runId: string; by: string }[] = [];
    const open = async (name: string) => {
      const node = await bench.open({
        programs: [],
        identity: { name },
        recovery: { reclaim: "one" },
        timing: { housekeeping: HOUSE_MS },
      });
      node.on("run.reclaimed", ({ runId, node: { name: by } }) => reclaimed.push({ runId, by }));
      return node;
    };
    const nodes = new Map<string, Node>();
    for (const name of ["a", "b", "c"]) nodes.set(name, await open(name));
    const reclaimers = new Set<string>();
    for (let i = 0; i < 4; i++) {
      const lost = await loseRun();
      await expect.poll(() => reclaimed.some(({ runId }) => runId === lost), { timeout: 10_000 }).toBe(true);
      reclaimers.add(reclaimed.at(-1)!.by);
      await bench.store.runs.cancel(lost, { by: "test" });
    }
    expect([...reclaimers]).toHaveLength(1);
    const [first] = [...reclaimers] as [string];

    await nodes.get(first)!.stop();
    const next = await loseRun();
    await expect.poll(() => reclaimed.some(({ runId }) => runId === next), { timeout: 10_000 }).toBe(true);
    const second = reclaimed.at(-1)!.by;
    expect(second).not.toBe(first);
    await bench.store.runs.cancel(next, { by: "test" });

    for (const node of nodes.values()) await node.stop();
  });

  test("a reclaimer that dies is replaced by another when its lease expires, not before", async () => {
    const request = { env: "default", key: "holdfast.reclaimer", owner: "dead", token: crypto.randomUUID() };
    const answer = await bench.store.leases.acquire({ ...request, leaseMs: 1_200 });
    expect(answer.outcome).not.toBe("busy");
    const { leaseUntil } = (await bench.store.leases.get("default", "holdfast.reclaimer"))!;
    const node = await bench.open({ programs: [], recovery: { reclaim: "one" }, timing: { housekeeping: HOUSE_MS } });
    const took = new Promise((resolve) => node.on("reclaimer.changed", resolve));
    const lost = await loseRun();
    const reclaimed = new Promise((resolve) => node.on("run.reclaimed", resolve));
    expect(await took).toMatchObject({ active: true });
    expect(await reclaimed).toMatchObject({ runId: lost });
    const lease = (await bench.store.leases.get("default", "holdfast.reclaimer"))!;
    expect(lease).toMatchObject({ owner: node.incarnation, attempt: 2 });
    expect(lease.acquiredAt).toBeGreaterThanOrEqual(leaseUntil);
    await bench.store.runs.cancel(lost, { by: "test" });
    await node.stop();
    expect(await bench.store.leases.get("default", "holdfast.reclaimer")).toMatchObject({ state: "done" });
  });

  test("anything but every and one is refused", async () => {
    const reclaimer = "two" as unknown as "one";
    await expect(bench.open({ programs: [], recovery: { reclaim: reclaimer } })).rejects.toMatchObject({
      path: "recovery.reclaim",
    });
  });
});
