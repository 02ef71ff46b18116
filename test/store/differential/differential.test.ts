// The same seeded operations on the memory store and on PostgreSQL: every answer is equal, and so is all that is stored.
//
// A failure names its seed: HOLDFAST_SEED=<seed> repeats that history alone. HOLDFAST_STEPS=1000000 runs as many steps.

import { afterAll, beforeAll, expect, test } from "vitest";
import { CLEAN_PARTS } from "../../../src/store/contract/cleanup.js";
import { testSchema } from "../../harness/database.js";
import { expectEveryOperation } from "../../harness/recorded-operations.js";
import { KeptSteps } from "./differential-kept.js";
import { GROUPS, type Step } from "./differential-step.js";
import { Steps } from "./differential-steps.js";
import { BothStores, type Call } from "./differential-stores.js";
import { viewCalls } from "./differential-views.js";

const STEPS_PER_SEED = 500;
const SNAPSHOT_EVERY = process.env["HOLDFAST_SEED"] ? 1 : 50;
const CLEAN_EVERY = 7;
const KEPT_EVERY = 8;
const CLEAN_KEPT_EVERY = 40;
const GLANCE_EVERY = 25;
const VIEW_EVERY = 125;
const given = process.env["HOLDFAST_SEED"];
const steps = Number(process.env["HOLDFAST_STEPS"] ?? 20_000);
const seeds = given ? [Number(given)] : Array.from({ length: Math.ceil(steps / STEPS_PER_SEED) }, (_, i) => i + 1);

const db = testSchema();
const both = new BothStores(db.url, db.schema, GROUPS);
/** "operation outcome" → how often. */
const seen = new Map<string, number>();

beforeAll(() => both.open());
afterAll(() => both.close());

const BLOCKS = 10;
for (let block = 0; block < Math.min(BLOCKS, seeds.length); block++) {
  const some = seeds.filter((_, i) => i % BLOCKS === block);
  test(`both stores answer and store the same, seeds ${some.join(" ")}`, async () => {
    for (const seed of some) await history(seed);
  }, 600_000);
}

async function history(seed: number): Promise<void> {
  await both.reset();
  const drawn = new Steps(seed, both);
  const kept = new KeptSteps(seed, both);
  for (let i = 1; i <= STEPS_PER_SEED; i++) {
    await both.advance(drawn.advanceMs());
    const step = drawn.next();
    const { memory, postgres, raw } = await both.call(step.call);
    const where = `HOLDFAST_SEED=${seed}, step ${i}, ${step.name}`;
    expectSame(postgres, memory, where);
    count(step.name, memory);
    if (!isThrown(raw)) step.learn?.(raw as never);
    if (i % KEPT_EVERY === 0) await compared(kept.next(), where);
    await between(i, where);
    if (i % SNAPSHOT_EVERY === 0) {
      const snapshots = await both.snapshots();
      expectSame(snapshots.postgres, snapshots.memory, `${where}, snapshot`);
    }
  }
}

async function compared({ name, call }: Step, where: string): Promise<void> {
  const { memory, postgres } = await both.call(call);
  expectSame(postgres, memory, `${where}, then ${name}`);
  count(name, memory);
}

/**
 * Polls and clean-ups next to the drawn steps, so that these do not change. Never at the same moment: on a stopped clock,
 * PostgreSQL's cursor in time would hide the rest of it.
 */
async function between(i: number, where: string): Promise<void> {
  const others = CLEAN_PARTS.filter((one) => one !== "kept");
  const part = others[(i / CLEAN_EVERY) % others.length];
  const calls: [name: string, call: Call][] = [];
  if (i % GLANCE_EVERY === 0) {
    const ids = both.snapshot().runs.map(({ id }) => id);
    calls.push(["glance", (store) => store.runs.glance([...ids, "no id", both.unknownId])]);
    calls.push(["countPrunable", (store) => store.runs.countPrunable({ env: "test", endedBeforeMs: i % 40 })]);
    for (const group of GROUPS) calls.push(["limitsOf", (store) => store.runs.limitsOf(group)]);
  }
  if (i % VIEW_EVERY === 0) calls.push(...viewCalls(both, i));
  if (part) {
    const round = { part, everyMs: i % 3 === 0 ? 5_000 : 0, keepMs: part === "generations" ? 1 : 200, limit: 1_000 };
    for (const env of ["test", "other"]) calls.push(["cleanUp", (store) => store.cleanUp({ ...round, env })]);
  }
  if (i % CLEAN_KEPT_EVERY === 0) {
    const round = { part: "kept", env: "test", everyMs: 0, keepMs: 10, limit: 1_000 } as const;
    calls.push(["cleanUp", (store) => store.cleanUp(round)]);
  }
  for (const [name, call] of calls) await compared({ name, call }, `${where}, ${part ?? ""}`);
}

/** Texts first: comparing objects deeply takes longer than the operations. */
function expectSame(postgres: unknown, memory: unknown, where: string): void {
  if (JSON.stringify(postgres) === JSON.stringify(memory)) return;
  console.error(`differ: ${where}`); // the difference below shows only what differs
  expect({ where, postgres }).toEqual({ where, postgres: memory });
}

function count(name: string, answer: unknown): void {
  for (const one of Array.isArray(answer) ? answer : [answer]) {
    const isNumber = typeof one !== "object" && typeof one !== "string";
    const plain = isNumber ? String((one as number) > 0) : one ? "some" : "none";
    const outcome = (one as { outcome?: string } | null)?.outcome ?? (isThrown(one) ? "threw" : plain);
    seen.set(`${name} ${outcome}`, (seen.get(`${name} ${outcome}`) ?? 0) + 1);
  }
  if ((answer as { removed?: number } | null)?.removed)
    seen.set(`${name} removed`, (seen.get(`${name} removed`) ?? 0) + 1);
  if (Array.isArray(answer) && answer.length === 0) seen.set(`${name} empty`, (seen.get(`${name} empty`) ?? 0) + 1);
}

function isThrown(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "threw" in answer;
}

/** `busy` needs a second session, so no sequence of single calls can bring it about. */
const EXPECTED = [
  ...["inserted", "existing", "conflict", "refused"].map((outcome) => `insert ${outcome}`),
  ...["some", "empty"].flatMap((outcome) => [`claim ${outcome}`, `inbox.unread ${outcome}`, `nodes.list ${outcome}`]),
  ...["held", "lost"].map((outcome) => `renew ${outcome}`),
  ...["accepted", "recorded", "moved", "lost", "refused"].map((outcome) => `commit ${outcome}`),
  ...["waiting", "restarted", "failed", "dead", "empty"].map((outcome) => `reclaimExpired ${outcome}`),
  ...["waiting", "restarted", "failed", "dead", "empty", "threw"].map((outcome) => `recover ${outcome}`),
  "declare empty",
  ...["some", "empty"].flatMap((outcome) => ["orphans", "unservedGroups"].map((name) => `${name} ${outcome}`)),
  ...["some", "none", "threw"].map((outcome) => `nodes.changeMode ${outcome}`),
  ...["lifted", "empty"].map((outcome) => `reviewMisfits ${outcome}`),
  ...["findKey some", "findKey none"],
  ...["keyOf some", "keyOf none", "expireDeferred empty", "expireDeferred some", "nodes.claimsFrom none"],
  ...["true", "false"].flatMap((outcome) => ["wakeParked", "archive", "prune"].map((name) => `${name} ${outcome}`)),
  ...["true", "false", "threw"].map((outcome) => `admit ${outcome}`),
  ...["started", "left", "refused"].map((outcome) => `events.start ${outcome}`),
  ...["gathered", "refused"].map((outcome) => `events.debounce ${outcome}`),
  "events.accept accepted",
  ...["begins", "waits", "lost"].map((outcome) => `events.settleDebounced ${outcome}`),
  ...["true", "false"].flatMap((outcome) => [`events.subscribe ${outcome}`, `breakers.takeProbe ${outcome}`]),
  ...["events.match some", "events.subscriptions some", "breakers.read some", "breakers.read threw"],
  ...["queues.pause none", "queues.resume none", "queues.list some", "queues.list empty"],
  ...["saved", "conflict", "threw"].map((outcome) => `definitions.save ${outcome}`),
  ...["definitions.enable true", "definitions.enable false", "definitions.remove none", "definitions.list some"],
  ...["fired", "moved", "threw", "empty"].map((outcome) => `schedules.fire ${outcome}`),
  ...["schedules.declare some", "schedules.declare threw", "schedules.due some", "schedules.list some"],
  ...["true", "false"].flatMap((outcome) => [`schedules.pause ${outcome}`, `schedules.resume ${outcome}`]),
  ...["created", "existing", "conflict", "refused"].map((outcome) => `machines.create ${outcome}`),
  ...["accepted", "recorded", "moved", "taken", "ended", "refused"].map((outcome) => `machines.append ${outcome}`),
  ...["accepted", "ended", "unknown", "refused"].map((outcome) => `machines.tell ${outcome}`),
  ...["machines.claimTimers some", "machines.claimTimers threw", "machines.load some", "machines.load none"],
  ...["machines.events some", "machines.timers some", "machines.list some"],
  ...["settleTimers", "note", "retryTimers", "prune"].flatMap((name) => [
    `machines.${name} true`,
    `machines.${name} false`,
  ]),
  ...["cancelled", "requested", "ended", "unknown"].map((outcome) => `cancel ${outcome}`),
  ...["paused", "requested", "ended", "unknown"].map((outcome) => `pause ${outcome}`),
  ...["resumed", "not paused", "unknown"].map((outcome) => `resume ${outcome}`),
  ...["stopping some", "stopping none"],
  ...["cancelTasks true", "cancelTasks false", "reconcile some", "journal.peek some", "journal.peek none"],
  "reclaimExpired paused",
  ...["set", "too many", "unknown"].map((outcome) => `setAttributes ${outcome}`),
  ...["kept.put kept", "kept.put lost", "kept.get some", "kept.get none", "kept.list some", "kept.list empty"],
  ...["taken", "held", "threw"].map((outcome) => `takeOutput ${outcome}`),
  ...["journal.lastSet some", "journal.lastSet none"],
  ...["cleanUp some", "cleanUp none", "cleanUp removed", "glance some", "glance none"],
  ...["accepted", "already", "ended", "unknown", "refused"].map((outcome) => `send ${outcome}`),
  ...["acquired", "stolen", "busy"].map((outcome) => `leases.acquire ${outcome}`),
  ...["renew", "complete", "fail", "release", "owns"].flatMap((name) => [
    `leases.${name} true`,
    `leases.${name} false`,
  ]),
  ...["claimed", "alreadyClaimed", "notFound", "stateChanged"].map((outcome) => `timeouts.claim ${outcome}`),
  ...["timeouts.schedule some", "timeouts.schedule threw", "timeouts.expired some", "timeouts.get some"],
  ...["cancel", "complete", "release", "retry"].flatMap((name) => [`timeouts.${name} true`, `timeouts.${name} false`]),
  "timeouts.dead some",
  ...["leases.reclaimExpired some", "leases.reclaimExpired empty", "leases.get some", "leases.get none"],
  ...["registered", "refused", "stopped"].map((outcome) => `nodes.register ${outcome}`),
  ...["nodes.programs some", "nodes.programs empty"],
  ...["nodes.heartbeat true", "nodes.heartbeat false", "nodes.stop none"],
  ...[
    "claims some",
    "claims empty",
    "get some",
    "get none",
    "list some",
    "count some",
    "journal.read some",
    "journal.read none",
  ],
];

/** Not called: they need a second process or session, or call back. */
const NOT_CALLED = {
  attend: "needs a connection of its own",
  housekeep: "judges processes by their connections",
  reclaim: "judges processes by their connections",
  close: "ends the store",
  "timeouts.onScheduled": "calls back",
} as const;

test("the histories called every operation of the contract", () => {
  if (!given) expectEveryOperation(both.called, NOT_CALLED);
});

test("the histories reached every operation and every outcome", () => {
  const rare = EXPECTED.filter((one) => (seen.get(one) ?? 0) < 5).map((one) => `${one}: ${seen.get(one) ?? 0}`);
  expect(given ? [] : rare).toEqual([]);
});
