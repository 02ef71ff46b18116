// Runs in every interesting state, made through the store as an engine would.

import { codecs } from "../../src/kernel/codec/codecs.js";
import { storeError } from "../../src/kernel/codec/stored-error.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { ClaimedRun } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";

const world = systemWorld();
const coder = codecs();

export interface Seeded {
  readonly incarnation: string;
  readonly completed: string;
  readonly failed: string;
  readonly parked: string;
  readonly dead: string;
  readonly quarantined: string;
  readonly running: string;
  readonly waiting: string;
  readonly asking: string;
}

const step = (kind: string, name: string, value: unknown, key = "1"): Effect => {
  return { kind: "append", entry: { kind, name, key, payload: coder.encode(value) } };
};
const failing = (kind: string, name: string, error: unknown): Effect => {
  return { kind: "append", entry: { kind, name, key: "1", payload: storeError(coder, error) } };
};

export async function seed(store: Store, env: string): Promise<Seeded> {
  const incarnation = world.token();
  await store.nodes.register({ incarnation, identity: "node-a", name: "node-a", env, stack: null, build: "2.4.1" });
  const insert = async (program: string, input: unknown, more: { delayMs?: number; crashLimit?: number } = {}) => {
    const group = { env, stack: null, queue: program, program, version: null };
    const id = world.id();
    await store.runs.insert([
      { id, group, priority: 0, delayMs: 0, crashLimit: 5, input: coder.encode(input), ...more },
    ]);
    return { id, group };
  };
  const start = async (program: string, input: unknown, more: { leaseMs?: number; crashLimit?: number } = {}) => {
    const { leaseMs = 60_000, ...options } = more;
    const { group } = await insert(program, input, options);
    const groupIds = await store.runs.groupIds([group]);
    const [run] = await store.runs.claim({ owner: incarnation, token: world.token(), groupIds, limit: 1, leaseMs });
    return run!;
  };
  const commit = async (claim: ClaimedRun, effects: Effect[]) => {
    const [answer] = await store.runs.commit([{ claim, expectedSeq: claim.seq, effects }]);
    if (answer?.outcome !== "accepted") throw answer;
    return claim.runId;
  };

  const dead = await start("report::nightly", { day: "2026-01-31" }, { crashLimit: 1, leaseMs: 1 });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await store.runs.reclaimExpired({ env: "default", limit: 10 });
  const completed = await start("order", { id: 17, items: ["book", "pen"] });
  const order = await commit(completed, [
    step("value", "now", new Date(0)),
    failing("step.tried", "charge", new RangeError("card declined")),
    step("step", "charge", { paid: true, cents: 1200 }),
    { kind: "complete", output: coder.encode({ shipped: true }) },
  ]);
  const failed = await commit(await start("invoice", { id: 18 }), [
    failing("step.failed", "render", new Error("no such template", { cause: new TypeError("path is undefined") })),
    { kind: "fail", as: "failed", reason: storeError(coder, new Error("no such template")) },
  ]);
  const quarantined = await commit(await start("signup", null), [
    {
      kind: "fail",
      as: "quarantined",
      reason: coder.encode({ code: "JOURNAL_MISMATCH", message: "The code changed." }),
    },
  ]);
  const parked = await commit(await start("approval", { amount: 5000 }), [
    step("wait.begun", "decision", { ms: 7_200_000 }),
    { kind: "park", wakeInMs: 7_200_000, wakeAfter: 1, seenInboxSeq: 0 },
  ]);
  const running = await start("import", { file: "a.csv" });
  await commit(running, [step("step", "download", 48_213)]);
  await store.inbox.send([
    {
      runId: running.runId,
      key: "signal:1",
      messageId: world.token(),
      kind: "signal",
      name: "comment",
      payload: coder.encode({ text: "looks fine" }),
      sender: "cli:test",
    },
  ]);
  const waiting = await insert("reminder", { to: "ann@example.org" }, { delayMs: 3_600_000 });
  const question = { ask: "Ship o-1?", choices: ["ship", "hold"], to: "warehouse", timeoutMs: null, hash: "h" };
  const asking = await commit(await start("ship", null), [
    step("approval.begun", "release", question),
    { kind: "park", wakeInMs: null, wakeAfter: 1, seenInboxSeq: 0 },
  ]);
  return {
    incarnation,
    asking,
    completed: order,
    failed,
    parked,
    dead: dead.runId,
    quarantined,
    running: running.runId,
    waiting: waiting.id,
  };
}
