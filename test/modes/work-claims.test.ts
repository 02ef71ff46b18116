// Work claims in front of runs: no node begins without the claim, a node that loses it stops, and without an adapter nothing is called.

import { describe, expect, test } from "vitest";
import type { NodeOptions } from "../../src/node/node-options.js";
import { keyText, type WorkGuardOptions, workGuard } from "../../src/node/work-guard.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { mergeOptions } from "../harness/merge-options.js";
import { group, newRun } from "../store/scene.js";
import { onBothStores } from "../workflow/node-suite.js";

let n = 0;
const place = () => ({ env: `claims-${process.pid}-${++n}`, identity: { id: `claimer-${n}` } });

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

onBothStores((bench) => {
  const job = workflow("job", async (ctx) => {
    await ctx.step("only", () => {});
    return "done";
  });
  const failing = workflow("failing", async () => {
    throw new Error("no");
  });

  async function open(claims: FakeClaims, options: Partial<NodeOptions> = {}) {
    const node = await bench.open({
      programs: [job, failing],
      ...mergeOptions({ ...place(), flow: { claims } }, options),
    });
    const told: string[] = [];
    for (const name of ["acquired", "busy", "completed", "failed", "steal", "lost"] as const) {
      node.on(`work_claim.${name}`, ({ key }) => told.push(`${name} ${key}`));
    }
    return { node, told };
  }

  test("a run's own key is claimed before its work begins, and completed when it ends", async () => {
    const claims = new FakeClaims();
    const { node, told } = await open(claims);
    const run = await node.start(job, undefined, { key: "order:1" });
    expect(await run.result({ timeout: "10s" })).toBe("done");
    const key = keyText(node.env, run.id, { scope: "job", key: "order:1" });
    await until(() => told.length === 2);
    expect(told).toEqual([`acquired ${key}`, `completed ${key}`]);
    expect(await claims.claims()).toMatchObject([{ key, owner: node.identity, state: "done", attempt: 1 }]);
  });

  test("a run without a key is claimed by its id, and a failed run fails its claim", async () => {
    const claims = new FakeClaims();
    const { node } = await open(claims);
    const run = await node.start(failing);
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_FAILED" });
    await until(async () => (await claims.claims())[0]?.state === "failed");
    expect(await claims.claims()).toMatchObject([{ key: `run:${run.id}`, detail: expect.stringContaining("failed") }]);
  });

  test("busy: nothing begins, the run waits at no cost, and continues when the key is free", async () => {
    const claims = new FakeClaims();
    const { node, told } = await open(claims);
    const key = keyText(node.env, "", { scope: "job", key: "order:2" });
    claims.setBusy(key);
    const run = await node.start(job, undefined, { key: "order:2" });
    await until(() => told.includes(`busy ${key}`));
    await until(async () => (await run.status()).state === "parked");
    const status = await run.status();
    expect(status).toMatchObject({ crashes: 0, failures: 0 });
    const log = await bench.store.journal.read(run.id);
    expect(log!.entries.map(({ kind }) => kind)).toEqual(["start", "parked"]);
    claims.clearBusy(key);
    expect(await run.result({ timeout: "10s" })).toBe("done");
  });

  test("with an adapter that does not answer nothing begins, and it is called again", async () => {
    let away = true;
    class Away extends FakeClaims {
      override acquire(...asked: Parameters<FakeClaims["acquire"]>) {
        return away ? Promise.reject(new Error("its database is away")) : super.acquire(...asked);
      }
    }
    const claims = new Away();
    const { node } = await open(claims);
    const failed = new Promise<unknown>((resolve) =>
      node.on("work_claim.acquire_failed", ({ error }) => resolve((error as Error).message)),
    );
    const run = await node.start(job);
    expect(await failed).toBe("its database is away");
    away = false;
    expect(await run.result({ timeout: "10s" })).toBe("done");
  });

  test("lost: the work is aborted, nothing of it is recorded as its failure, and the run waits for the new owner", async () => {
    const claims = new FakeClaims();
    const began = deferred<void>();
    const aborted = deferred<unknown>();
    let attempts = 0;
    const long = workflow("long", async (ctx) =>
      ctx.step("slow", ({ signal }) => {
        if (++attempts > 1) return "second";
        began.resolve();
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            aborted.resolve(signal.reason);
            reject(signal.reason);
          }),
        );
      }),
    );
    const { node, told } = await open(claims, { programs: [long], flow: { claims: { adapter: claims, lease: 300 } } });
    const run = await node.start(long, undefined, { key: "k" });
    await began.promise;
    const key = keyText(node.env, run.id, { scope: "long", key: "k" });
    // Its claim has expired for the adapter, and another cluster takes the work.
    claims.advance(1_000);
    const stolen = await claims.acquire(key, "another cluster", { leaseMs: 600 });
    expect(stolen.ok).toBe(true);
    expect(await aborted.promise).toMatchObject({ code: "NODE_STOPPING", cause: { code: "LEASE_LOST" } });
    await until(() => told.some((line) => line.startsWith("busy")));
    if (stolen.ok) await claims.complete(key, "another cluster", stolen);
    expect(await run.result({ timeout: "10s" })).toBe("second");
    expect(await run.status()).toMatchObject({ failures: 0, crashes: 0 });
  });

  test("reclaiming with claims on: another node continues when the dead one's claim expires, and no sooner", async () => {
    const claims = new FakeClaims();
    const { env } = place();
    const run = newRun({ group: { ...group("job"), env } });
    const { node, told } = await open(claims, { env });
    const held = await claims.acquire(`run:${run.id}`, "the dead one", { leaseMs: 1_500 });
    expect(held.ok).toBe(true);
    await bench.store.runs.insert([run]);
    await until(() => told.includes(`busy run:${run.id}`));
    expect(await node.run(run.id).result({ timeout: "10s" })).toBe("done");
    await until(() => told.includes(`steal run:${run.id}`));
    expect(await claims.claims()).toMatchObject([{ owner: node.identity, attempt: 2, state: "done" }]);
  });

  describe("without an adapter", () => {
    test("nothing is called and nothing is reported", async () => {
      const node = await bench.open({ programs: [job], ...place() });
      const told: unknown[] = [];
      node.on("work_claim.acquired", (event) => told.push(event));
      expect(await (await node.start(job)).result({ timeout: "10s" })).toBe("done");
      expect(told).toEqual([]);
    });
  });
});

test("a key that is too long for an adapter is hashed, and keys of two envs never collide", () => {
  const long = { scope: "s", key: "x".repeat(512) };
  expect(keyText("a", "r", long)).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(keyText("a", "r", long)).not.toBe(keyText("b", "r", long));
  expect(keyText("a", "r", null)).toBe("run:r");
});

test("an adapter that does not answer is asked ever less often: each time is an entry of the run's journal", async () => {
  let now = 0;
  const delays: number[] = [];
  const acquire = () => Promise.reject(new Error("its database is away"));
  const parts = {
    claims: { acquire },
    store: { runs: { keyOf: async () => null } },
    world: { monotonicNow: () => now },
    bus: { emit: () => {} },
  };
  const guard = workGuard({
    ...parts,
    identity: "o",
    env: "e",
    settings: { leaseMs: 1_000 },
  } as unknown as WorkGuardOptions);
  const commit = async ([effect]: { wakeInMs: number }[]) => void delays.push(effect!.wakeInMs);
  const session = { run: { runId: "r" }, inboxSeq: 0, commit };
  for (let asked = 0; asked < 10; asked++) {
    await guard(null as never, session as never, () => Promise.reject(new Error("begun")));
    now += delays.at(-1)!;
  }
  expect(delays).toEqual([1, 1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1_000));
});
