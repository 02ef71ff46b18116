// The reply to a COMMIT gets lost, or the request does: the store repeats the call, and the effect is there exactly once.
// Each operation is done on two databases with the same ids, one with the fault and one without.

import { afterAll, beforeAll, expect, test } from "vitest";
import { StoreUnavailable } from "../../../src/store/postgres/connection/errors.js";
import { openPostgres } from "../../../src/store/postgres/open.js";
import { startProxy } from "../../harness/proxy.js";
import { expectEveryOperation, recordOperations } from "../../harness/recorded-operations.js";
import { snapshotPostgres } from "../differential/snapshot-postgres.js";
import { append, claimFrom, commitOf, commitOne, complete, group, newRuns, scene } from "../scene.js";
import type { Operation } from "./unanswered-operation.js";
import { operations } from "./unanswered-operations.js";

const s = scene();
const target = new URL(s.url);
const proxy = await startProxy({ host: target.hostname, port: Number(target.port) });
const faulty = s.open({ url: proxy.url(s.url) });
const twinSchema = `${s.schema}_twin`;
const twin = openPostgres(s.url, { schema: twinSchema });
/** The operations that were disturbed, by name; and those of the call under way. */
const disturbed = new Set<string>();
const called = new Set<string>();
recordOperations(twin, called);

beforeAll(async () => {
  await twin.migrate();
});
afterAll(async () => {
  await twin.close();
  await s.pool.query(`drop schema if exists ${twinSchema} cascade`);
  await proxy.stop();
});

for (const lost of ["reply", "request"] as const) {
  for (const operation of operations()) {
    test(`${operation.name}: a lost ${lost} leaves the same effect as none`, async () => {
      await empty();
      const [fault, plain] = [await operation.prepare(faulty), await operation.prepare(twin)];
      const match = (request: Buffer) => request.includes(`_${operation.statement}\0`);
      const sprung = lost === "reply" ? proxy.loseNextReply(match) : proxy.loseNextRequest(match);
      const withFaultAnswer = await answer(operation, fault);
      called.clear();
      const answers = [withFaultAnswer, await plain()];
      for (const name of called) disturbed.add(name);
      await sprung;
      if (lost === "request" || !operation.answersWhatItDid) {
        const [withFault, without] = answers.map(sameAnswer);
        expect(withFault).toEqual(without);
      }
      // A wake whose reply was lost may be sent twice or, if the message was already there, at the next housekeeping.
      // A run that the lost call admitted to one limit waits for the next one until the next admission.
      for (const store of [faulty, twin]) {
        await store.runs.wakeParked({ limit: 100 });
        for (let looks = 0; looks < 2; looks++) await store.runs.admit({ env: "test", keys: 100 });
      }
      const [withFault, without] = await Promise.all([s.schema, twinSchema].map(timeless));
      expect(withFault).toEqual(without);
    });
  }
}

test("every operation that changes something was disturbed", () => {
  const without = {
    attend: "opens a connection, which is opened again",
    housekeep: "not repeated: the next round is a second later",
    reclaim: "not repeated: the next round is a second later",
    cleanUp: "not repeated: the next round comes",
    "statistics.collect": "not repeated: the next round comes",
    "runs.transact": "has a test below",
  } as const;
  expectEveryOperation(disturbed, without, { changing: true });
});

async function answer({ repeatedByCaller }: Operation, act: () => Promise<unknown>): Promise<unknown> {
  if (!repeatedByCaller) return act();
  await expect(act()).rejects.toBeInstanceOf(StoreUnavailable);
  return act();
}

/** "It is written", now or by the call whose reply was lost; "it is ours", whatever node had it before. */
function sameAnswer(value: unknown): unknown {
  const { outcome, seq, lease } = (value ?? {}) as { outcome?: string; seq?: number; lease?: unknown };
  if (outcome === "accepted" || outcome === "recorded") return { written: true, seq };
  return lease ? { lease } : withoutTimes(value ?? null);
}

async function empty(): Promise<void> {
  for (const schema of [s.schema, twinSchema]) {
    const tables = [
      ...["runs", "journal", "inbox", "run_keys", "leases", "nodes", "programs"],
      ...["run_limits", "limit_rates", "paused_queues", "schedules"],
      ...["subscriptions", "subscribers", "debounces", "breaker_probes", "timeouts", "definitions", "run_needs"],
      ...["definition_versions"],
      ...["deferred_runs", "kept_modes", "kept_values"],
      ...["instances", "instance_events", "timers"],
    ];
    // A few rows each: truncating makes new files, ten times slower.
    const deletes = tables.map((table) => `delete from ${schema}.${table};`);
    await s.pool.query(`${deletes.join(" ")} delete from ${schema}.meta where key like '%limit_place'`);
  }
}

/** What a lost reply may leave different: how often a wake was sent, and the id that a cancel drew. */
async function timeless(schema: string): Promise<unknown> {
  const snapshot = await snapshotPostgres(s.pool, schema);
  return withoutTimes(snapshot, new Set(["inboxSeq", "messageId"]));
}

/** Two servers' clocks differ by nature. */
function withoutTimes(value: unknown, left = new Set<string>()): unknown {
  const isTime = /(At|Until|^until|^at|^anchor|^last|^next|^deadline|ForMs)$/;
  return JSON.parse(
    JSON.stringify(value, (name, part) => {
      if (left.has(name)) return undefined;
      return isTime.test(name) && typeof part === "number" ? "a time" : part;
    }),
  );
}

test("all connections reset again and again under load: every run is done once, nothing acknowledged is lost", async () => {
  await empty();
  const from = group("load");
  const runs = newRuns(200, { group: from });
  /** While the calls are in flight, and again when some of them are answered. */
  const cut = async <T>(calls: readonly Promise<T>[]) => {
    await new Promise((resolve) => setImmediate(resolve));
    proxy.resetAll();
    await Promise.race(calls);
    proxy.resetAll();
    return Promise.all(calls);
  };
  const inserted = (await cut(runs.map((run) => faulty.runs.insert([run])))).flat();
  expect(inserted.every((one) => one.outcome === "inserted")).toBe(true);
  for (let done = 0; done < 200; ) {
    const [claimed] = await cut([claimFrom(faulty, from, { limit: 10 })]);
    const commits = claimed!.map((claim) => commitOf(claim, append("step"), complete));
    for (const one of await cut(commits.map((commit) => commitOne(faulty, commit)))) {
      expect(["accepted", "recorded"]).toContain(one.outcome);
    }
    done += claimed!.length;
  }
  const rows = await s.rows("select state, seq::int, epoch::int, count(*)::int as n from {s}.runs group by 1, 2, 3");
  expect(rows).toEqual([{ state: "completed", seq: 3, epoch: 1, n: 200 }]);
  expect(await s.rows("select count(*)::int as n from {s}.journal")).toEqual([{ n: 600 }]);
});
