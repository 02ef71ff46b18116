// Which policy applies: a node that claims no runs declares no limits and recovery, and of two that do the newer one decides.

import { expect, test } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import type { LimitRule } from "../../src/kernel/limit-rule.js";
import type { NodeOptions } from "../../src/node/node-options.js";
import { workflow } from "../../src/workflow/workflow.js";
import { mergeOptions } from "../harness/merge-options.js";
import { onBothStores } from "../workflow/node-suite.js";

let n = 0;
const newEnv = () => `policies-${process.pid}-${++n}`;

const policies = { production: { concurrency: 50 }, ci: { concurrency: 1, recovery: "fail" } } as const;
const programOf = (of: keyof typeof policies) => workflow("job", policies[of], async () => "done");

onBothStores((bench) => {
  const open = (of: keyof typeof policies, options: Partial<NodeOptions>) =>
    bench.open({ programs: [programOf(of)], stack: of, ...mergeOptions({ identity: { id: of } }, options) });
  /** The policy of runs that were started without the code, in no stack. */
  const declaredFor = async (env: string, stack: string | null = null) => {
    const group = { env, stack, queue: "job", program: "job", version: null };
    const limits = (await bench.store.runs.limitsOf(group)).map(({ max }: LimitRule) => max);
    return limits;
  };
  /** The policy by which an orphan that was started like this is judged. */
  const judgedBy = async (env: string, start: (env: string) => Promise<{ readonly id: string }>) => {
    const { id } = await start(env);
    const { group } = (await bench.store.runs.get(id))!;
    const groupIds = await bench.store.runs.groupIds([group]);
    const [owner, token] = [crypto.randomUUID(), crypto.randomUUID()];
    const [claim] = await bench.store.runs.claim({ owner, token, groupIds, limit: 1, leaseMs: 0 });
    const orphans = await bench.store.runs.orphans({ env, staleMs: 0, limit: 10 });
    // Its place under the limit is free again.
    const effects = [{ kind: "complete", output: { codec: "json", data: "1" } } as const];
    await bench.store.runs.commit([{ claim: claim!, expectedSeq: claim!.seq, effects }]);
    return orphans.find(({ runId }) => runId === id)?.recovery;
  };

  for (const mode of ["disabled", "trigger_only"] as const) {
    test(`a ${mode} node of another stack changes neither limits nor recovery of what production serves`, async () => {
      const env = newEnv();
      await open("production", { env });
      await open("ci", { env, flow: { mode } });
      expect(await declaredFor(env)).toEqual([50]);
      await (await open("ci", { env, flow: { mode }, identity: { id: "again" } })).stop();
      expect(await declaredFor(env)).toEqual([50]);
    });
  }

  test("a node that claims one program by an override declares no policy for its other programs", async () => {
    const env = newEnv();
    await open("production", { env });
    const ci = await open("ci", { env, flow: { mode: "disabled" }, identity: { id: "kept" } });
    await ci.mode.override("job", "full");
    await expect.poll(() => declaredFor(env, "ci")).toEqual([1]);
  });

  test("a run keeps the policy of the code that started it, whatever is declared later", async () => {
    const env = newEnv();
    const production = await open("production", { env, flow: { mode: "trigger_only" }, recovery: { reclaim: "off" } });
    const client = createClient<readonly [ReturnType<typeof programOf>]>({ store: bench.store, env });
    expect(await judgedBy(env, () => production.start(programOf("production")))).toBe("resume");
    await (await open("ci", { env, stack: "production", recovery: { reclaim: "off" } })).stop();
    expect(await declaredFor(env)).toEqual([1]);
    expect(await judgedBy(env, () => client.start("job"))).toBe("fail");
    expect(await judgedBy(env, () => production.start(programOf("production")))).toBe("resume");
  });

  test("in a rolling deployment the policy of the newer node applies and is reported once, and older nodes change nothing", async () => {
    const env = newEnv();
    const stack = "one";
    const told: unknown[] = [];
    const listen = (node: Awaited<ReturnType<typeof open>>) => node.on("program.conflict", (facts) => told.push(facts));
    const older = await open("production", { env, stack });
    listen(older);
    const bus = await open("ci", { env, stack, flow: { mode: "disabled" } });
    listen(bus);
    expect(await declaredFor(env, stack)).toEqual([50]);
    // From now on the newer one takes runs.
    await bus.mode.set("full");
    await expect.poll(() => declaredFor(env, stack)).toEqual([1]);
    const what = { program: "job", queue: "job", version: null, of: ["limits", "recovery"] };
    const who = { holds: "ci", overruled: "production" };
    await expect.poll(() => told.length).toBe(2);
    expect(told).toMatchObject([stack, null].map((of) => ({ ...what, stack: of, ...who })));
    // The older one declares it again, as after a failover.
    await older.mode.set("disabled");
    await older.mode.set("full");
    await expect.poll(() => told.length).toBe(4);
    expect(await declaredFor(env, stack)).toEqual([1]);
    const overruled = async () =>
      Object.fromEntries((await older.nodes.list()).map(({ identity, overruled: of }) => [identity, of.length]));
    expect(await overruled()).toEqual({ production: 2, ci: 0 });
    // When the newer one is gone, the older one's applies again.
    await bus.stop();
    await older.mode.set("trigger_only");
    await older.mode.set("full");
    await expect.poll(() => declaredFor(env, stack)).toEqual([50]);
    expect(await overruled()).toEqual({ production: 0 });
    expect(told).toHaveLength(4);
  });
});
