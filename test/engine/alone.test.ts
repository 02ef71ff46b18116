// A node that is alone (`flow.claiming: false`): hardly a renewal, no node next to it, and its next start reclaims its runs.

import { expect, test } from "vitest";
import { NotAlone } from "../../src/engine/upkeep/register-node.js";
import { createNode } from "../../src/node/create-node.js";
import type { Store } from "../../src/store/contract/store.js";
import { workflow } from "../../src/workflow/workflow.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";

const DAY_MS = 86_400_000;

onBothStores((bench) => {
  let envs = 0;
  const freshEnv = () => `alone-${++envs}`;

  test("its claims are renewed once, without an end, and never in doubt", async () => {
    const gate = deferred<string>();
    const begun = deferred<void>();
    const long = workflow("long", async (ctx) => {
      const first = await ctx.step("first", () => {
        begun.resolve();
        return gate.promise;
      });
      return ctx.step("second", () => `${first} done`);
    });
    let renewals = 0;
    const store: Store = {
      ...bench.store,
      runs: {
        ...bench.store.runs,
        renew: (claims, leaseMs) => {
          renewals += claims.length;
          return bench.store.runs.renew(claims, leaseMs);
        },
      },
    };
    const options = {
      programs: [long],
      env: freshEnv(),
      flow: { claiming: false },
      timing: { lease: 300, renewEvery: 50, housekeeping: 20 },
    };
    const node = await createNode({ store, ...options });
    const run = await node.start(long);
    await begun.promise;
    const leaseLeft = async () => ((await bench.store.runs.get(run.id))?.leaseUntil ?? 0) - Date.now();
    await expect.poll(leaseLeft, { timeout: 5_000 }).toBeGreaterThan(DAY_MS);
    // Other nodes do housekeeping long after an ordinary lease would have expired.
    await using other = await bench.open({ programs: [], env: freshEnv(), timing: { housekeeping: 20 } });
    const taken: unknown[] = [];
    for (const one of [node, other]) one.on("run.reclaimed", (reclaimed) => taken.push(reclaimed));
    await new Promise((resolve) => setTimeout(resolve, 600));
    gate.resolve("and");
    expect(await run.result({ timeout: "5s" })).toBe("and done");
    expect((await run.status()).epoch).toBe(1);
    expect(renewals).toBe(1);
    expect(taken).toEqual([]);
    await node.stop();
  });

  test("no node starts next to it, and it starts next to no node: both errors name the other node", async () => {
    const env = freshEnv();
    const lone = await bench.open({
      programs: [],
      env,
      flow: { claiming: false },
      identity: { name: "Lone", id: "one" },
    });
    const beside = bench.open({ programs: [], env, identity: { id: "two" } });
    await expect(beside).rejects.toBeInstanceOf(NotAlone);
    await expect(beside).rejects.toMatchObject({ code: "NOT_ALONE", by: { identity: "one", alone: true } });
    await expect(beside).rejects.toThrow(
      `node Lone (one) asked to be alone in env ${env} (flow.claiming: false); stop it`,
    );
    await expect(bench.open({ programs: [], env, flow: { claiming: false } })).rejects.toMatchObject({
      code: "NOT_ALONE",
    });
    const elsewhere = await bench.open({ programs: [], env, stack: "blue", flow: { claiming: false } });
    await lone.stop();
    const ordinary = await bench.open({ programs: [], env, identity: { id: "two" } });
    const late = bench.open({ programs: [], env, flow: { claiming: false } });
    await expect(late).rejects.toThrow(
      `this node asks to be alone (flow.claiming: false), but two is alive in env ${env}`,
    );
    await Promise.all([elsewhere.stop(), ordinary.stop()]);
  });

  test("of ten nodes that ask to be alone at the same moment one starts", async () => {
    const env = freshEnv();
    const opening = Array.from({ length: 10 }, () =>
      bench.open({ programs: [], env, flow: { claiming: false }, timing: { lease: "30s" } }),
    );
    const outcomes = await Promise.allSettled(opening);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const one of outcomes) if (one.status === "fulfilled") await one.value.stop();
  });

  test("a cancel reaches a running step, though nothing is renewed", async () => {
    const begun = deferred<void>();
    const stuck = workflow("stuck", async (ctx) =>
      ctx.step("wait", ({ signal }) => {
        begun.resolve();
        return new Promise<never>((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
      }),
    );
    const env = freshEnv();
    const node = await bench.open({
      programs: [stuck],
      env,
      flow: { claiming: false },
      timing: { lease: "10m", housekeeping: 50 },
    });
    const run = await node.start(stuck);
    await begun.promise;
    await bench.store.runs.cancel(run.id, { by: "test" });
    await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    await node.stop();
  });

  test("a run whose step ignores the abort of a stop is left with a finite lease, and the next start reclaims it", async () => {
    const begun = deferred<void>();
    let rounds = 0;
    const deaf = workflow("deaf", async (ctx) =>
      ctx.step("hang", () => {
        begun.resolve();
        return ++rounds === 1 ? new Promise<never>(() => {}) : "second";
      }),
    );
    const env = freshEnv();
    const options = {
      programs: [deaf],
      env,
      flow: { claiming: false },
      timing: { lease: "30s", renewEvery: 50, housekeeping: 50 },
    } as const;
    const node = await bench.open(options);
    const run = await node.start(deaf);
    await begun.promise;
    const leaseUntil = async () => (await bench.store.runs.get(run.id))?.leaseUntil ?? 0;
    await expect.poll(async () => (await leaseUntil()) - Date.now(), { timeout: 5_000 }).toBeGreaterThan(DAY_MS);
    await node.stop({ grace: 10 });
    expect((await leaseUntil()) - Date.now()).toBeLessThan(60_000);
    const next = await bench.open(options);
    expect(await next.run(run.id).result({ timeout: "5s" })).toBe("second");
    await next.stop();
  });

  test("a lone node that was declared gone stops when it learns of it", async () => {
    const env = freshEnv();
    const node = await bench.open({ programs: [], env, flow: { claiming: false }, timing: { housekeeping: 50 } });
    const replaced = new Promise<unknown>((resolve) => node.on("node.replaced", resolve));
    const stopped = new Promise<unknown>((resolve) => node.on("node.stopped", resolve));
    // As the registration of another node does when it finds this one silent.
    await bench.store.nodes.stop(node.incarnation);
    expect(await replaced).toMatchObject({ error: { code: "NODE_REPLACED" } });
    await stopped;
  });

  test("a node whose registration was lost registers again, with what it serves", async () => {
    const hello = workflow("hello", async () => "hello");
    const env = freshEnv();
    const node = await bench.open({ programs: [hello], env, timing: { housekeeping: 50 } });
    let lost = false;
    const housekeep = bench.store.housekeep.bind(bench.store);
    const store = bench.store as { housekeep: Store["housekeep"] };
    // As if a failover had lost it: the store reports it once.
    const registered: unknown[] = [];
    const register = bench.store.nodes.register.bind(bench.store.nodes);
    (bench.store.nodes as { register: Store["nodes"]["register"] }).register = (one) => {
      registered.push(one);
      return register(one);
    };
    store.housekeep = async (round) => {
      const report = await housekeep(round);
      if (lost || round.incarnation !== node.incarnation) return report;
      lost = true;
      return { ...report, registered: false };
    };
    await expect.poll(() => registered.length, { timeout: 5_000 }).toBe(1);
    expect(registered[0]).toMatchObject({ incarnation: node.incarnation, serves: [expect.any(Number)] });
    expect(await (await node.start(hello)).result({ timeout: "5s" })).toBe("hello");
    store.housekeep = housekeep;
    (bench.store.nodes as { register: Store["nodes"]["register"] }).register = register;
    await node.stop();
  });

  test("anything but true and false is refused", async () => {
    const claiming = "no" as unknown as boolean;
    await expect(bench.open({ programs: [], flow: { claiming } })).rejects.toMatchObject({ path: "flow.claiming" });
  });
});
