// Faults of one process: it hangs, ends itself, is ended in the middle of its stop, runs out of memory or files.

import { setTimeout as pass } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgres, type PostgresStore } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { startProxy } from "../harness/proxy.js";
import { type Harm, hostile, neighbour } from "./hostile.js";
import { Stage } from "./stage.js";

const { url, schema, pool } = testSchema();
let store: PostgresStore;

beforeAll(async () => {
  store = openPostgres(url, { schema });
  await store.migrate();
});
afterAll(() => store.close());

type Finished = (end: () => Promise<void>) => void;
/** Tests that run at the same time each have an `onTestFinished` of their own. */
async function stageOf(env: string, onTestFinished: Finished): Promise<Stage> {
  const stage = await Stage.open(env, { url, schema });
  onTestFinished(() => stage.close());
  return stage;
}
const addressOf = (of: string) => ({ host: new URL(of).hostname, port: Number(new URL(of).port) });
const DONE = ["before", "harm", "after"];

describe.concurrent("a process that", () => {
  test("hangs in an endless loop keeps its connections and loses its runs when the lease has expired (F06)", {
    timeout: 60_000,
  }, async ({ onTestFinished }) => {
    const stage = await stageOf("spin", onTestFinished);
    const lease = { timing: { lease: "1500ms" } } as const;
    const victim = await stage.victim("victim", lease);
    const run = await stage.client.start(hostile, "spin for ever");
    await stage.until(() => stage.counts(run.id)["harm"] === 1);
    await stage.heir(lease);
    expect(await run.result({ timeout: "20s" })).toEqual(DONE);
    expect(victim.end(), "it still hangs").toBeNull();
    expect(stage.counts(run.id)).toEqual({ before: 1, harm: 2, after: 1 });
    // Nothing renews for a main thread that hangs: its presence is there, and its lease was not kept alive.
    const { rows } = await pool.query(
      `select count(*)::int as n from ${schema}.nodes where identity = 'victim' and env = 'spin' and presence is not null`,
    );
    expect(rows).toEqual([{ n: 1 }]);
  });

  test("blocks its event loop for longer than its lease is replaced, and its late result is refused (F05)", {
    timeout: 60_000,
  }, async ({ onTestFinished }) => {
    const stage = await stageOf("block", onTestFinished);
    const lease = { timing: { lease: "1500ms" } } as const;
    const victim = await stage.victim("victim", lease);
    const run = await stage.client.start(hostile, "spin until released");
    await stage.until(() => stage.counts(run.id)["harm"] === 1);
    const heir = await stage.heir(lease);
    expect(await run.result({ timeout: "20s" })).toEqual(DONE);
    stage.release();
    await stage.until(() => victim.told.some(({ event }) => event === "claim.lost"));
    // It works again, and began nothing of the run that it had lost.
    const next = await stage.client.start(neighbour, 1);
    await heir.stop({ grace: 0 });
    await next.result({ timeout: "20s" });
    expect(stage.counts(run.id)).toEqual({ before: 1, harm: 2, after: 1 });
    const status = await run.status();
    expect([status.state, status.epoch]).toEqual(["completed", 2]);
  });

  const ENDS: readonly [Harm, string, number | string][] = [
    ["exit", "calls process.exit in a step (F14)", 0],
    ["abort", "calls process.abort in a step (F14)", "SIGABRT"],
    ["throw later", "throws after a step has returned (F08)", 1],
    ["reject later", "has an unhandled rejection after a step has returned (F08)", 1],
  ];
  for (const [harm, what, end] of ENDS) {
    test(`${what} ends, and another process finishes what it had`, { timeout: 60_000 }, async ({ onTestFinished }) => {
      const stage = await stageOf(harm.replace(" ", "-"), onTestFinished);
      const victim = await stage.victim("victim");
      const beside = await Promise.all([1, 2, 3].map(() => stage.client.start(neighbour, 60_000)));
      await stage.until(() => beside.every(({ id }) => stage.counts(id)["second"] === 1));
      const run = await stage.client.start(hostile, harm);
      await stage.until(() => victim.end() !== null);
      expect(victim.end()).toBe(end);
      await stage.heir();
      expect(await run.result({ timeout: "20s" })).toEqual(DONE);
      for (const other of beside) await other.result({ timeout: "20s" });
      // A step that was recorded before the process died of what it left behind is not repeated; the one behind it may be.
      const recorded = end === 1;
      const { after, ...others } = stage.counts(run.id);
      expect(others).toEqual({ before: 1, harm: recorded ? 1 : 2 });
      expect(after).toBeLessThanOrEqual(recorded ? 2 : 1);
      for (const { id } of beside) expect(stage.counts(id)).toEqual({ first: 1, second: 2 });
    });
  }

  test("is killed in the middle of its orderly stop loses nothing (F11)", { timeout: 60_000 }, async ({
    onTestFinished,
  }) => {
    const stage = await stageOf("killed-stop", onTestFinished);
    const victim = await stage.victim("victim", { signals: true, timing: { shutdownGrace: "20s" } });
    const runs = await Promise.all([1, 2, 3, 4, 5].map(() => stage.client.start(neighbour, 60_000)));
    await stage.until(() => runs.every(({ id }) => stage.counts(id)["second"] === 1));
    victim.process.kill("SIGTERM");
    await pass(50);
    expect(victim.end(), "it waits for its steps").toBeNull();
    victim.process.kill("SIGKILL");
    await stage.until(() => victim.end() === "SIGKILL");
    await stage.heir();
    for (const run of runs) await run.result({ timeout: "20s" });
    for (const { id } of runs) expect(stage.counts(id)).toEqual({ first: 1, second: 2 });
  });

  test("returns alone after all have died together works off everything, with no more at once than its slots (F13)", {
    timeout: 60_000,
  }, async ({ onTestFinished }) => {
    const stage = await stageOf("all-die", onTestFinished);
    const victims = await Promise.all(["a", "b", "c"].map((id) => stage.victim(id, { concurrency: 10 })));
    const runs = await Promise.all(Array.from({ length: 120 }, () => stage.client.start(neighbour, 400)));
    await stage.until(() => stage.begun().filter(({ step }) => step === "second").length >= 30);
    for (const { process: child } of victims) child.kill("SIGKILL");
    await stage.until(() => victims.every(({ end }) => end() !== null));
    const before = new Map(runs.map(({ id }) => [id, stage.counts(id)]));
    const heir = await stage.heir({ concurrency: 10 });
    let [active, most] = [0, 0];
    heir.on("run.claimed", () => {
      most = Math.max(most, ++active);
    });
    heir.on("run.settled", () => active--);
    for (const run of runs) await run.result({ timeout: "30s" });
    expect(most).toBeLessThanOrEqual(20);
    for (const { id } of runs) {
      const { first = 0, second = 0 } = stage.counts(id);
      const known = before.get(id)!;
      // A step without a record is repeated once, by the node that returned; nothing else is.
      expect(first).toBeLessThanOrEqual((known["first"] ?? 0) + 1);
      expect(second).toBeLessThanOrEqual((known["second"] ?? 0) + 1);
      expect(second).toBeGreaterThan(0);
    }
    const { rows } = await pool.query(
      `select count(*)::int as n from ${schema}.runs where state <> 'completed' and id = any($1)`,
      [runs.map(({ id }) => id)],
    );
    expect(rows).toEqual([{ n: 0 }]);
  });

  test("has no file descriptors left while its connections break keeps its claim and says so (F15)", {
    timeout: 60_000,
  }, async ({ onTestFinished }) => {
    const stage = await stageOf("files", onTestFinished);
    await using proxy = await startProxy(addressOf(url));
    const patient = { timing: { presenceGrace: "60s", renewEvery: "200ms" } } as const;
    const victim = await stage.victim("victim", patient, { files: 400, url: proxy.url(url) });
    const beside = await stage.client.start(neighbour, 300);
    const run = await stage.client.start(hostile, "no files until released");
    await stage.until(() => victim.told.some(({ event }) => event === "no files"));
    await stage.heir(patient);
    const failures = () =>
      victim.told.flatMap(({ event, detail }) => {
        return event === "renew failed" ? (detail as { readonly code: string; readonly cause?: string }) : [];
      });
    const withoutFile = () => failures().filter(({ cause }) => cause === "EMFILE").length;
    // Until the step has used up what the broken connections freed.
    proxy.refusing = true;
    proxy.resetAll();
    await stage.until(() => withoutFile() >= 1);
    proxy.refusing = false;
    const before = withoutFile();
    await stage.until(() => withoutFile() >= before + 2);
    expect(new Set(failures().map(({ code }) => code))).toEqual(new Set(["STORE_UNAVAILABLE"]));
    stage.release();
    expect(await run.result({ timeout: "20s" })).toEqual(DONE);
    await beside.result({ timeout: "20s" });
    expect((await run.status()).epoch).toBe(1);
    expect(stage.counts(run.id)).toEqual({ before: 1, harm: 1, after: 1 });
    expect(victim.end()).toBeNull();
  });
});
