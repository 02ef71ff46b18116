// What the store tests share: a migrated schema, stores that represent processes, and short ways to make runs.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect } from "vitest";
import type { Payload } from "../../src/kernel/codec/payload.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import type { NewRun, RunGroup } from "../../src/kernel/run/new-run.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { World } from "../../src/kernel/world.js";
import type { NewMessage } from "../../src/store/contract/inbox/inbox.js";
import type { ClaimedRun, Commit, CommitAnswer } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { type Dialect, dialect, type Statement } from "../../src/store/postgres/connection/dialect.js";
import type { PostgresOptions, PostgresStore } from "../../src/store/postgres/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { type TestSchema, testSchema } from "../harness/database.js";

export interface Scene extends TestSchema {
  /** The first store; migrated before the first test. */
  readonly store: PostgresStore;
  readonly dialect: Dialect;
  /** Another process: its own connections. Closed with the file. */
  open(options?: Partial<PostgresOptions> & { world?: World; url?: string }): PostgresStore;
  /** The text of one of the store's statements in this schema. */
  text(statement: Statement): string;
  rows<Row>(sql: string, values?: unknown[]): Promise<Row[]>;
}

const world = systemWorld();

/** Call it once at the top of a test file. In `rows`, the search path is the schema. */
export function scene(): Scene {
  const db = testSchema();
  const opened: PostgresStore[] = [];
  const d = dialect(db.schema);
  const open: Scene["open"] = ({ world, url = db.url, ...options } = {}) => {
    const store = openPostgres(url, { schema: db.schema, ...options }, world ? { world } : {});
    opened.push(store);
    return store;
  };
  const store = open();
  beforeAll(async () => {
    await store.migrate();
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
  });
  return {
    ...db,
    store,
    dialect: d,
    open,
    text: (statement) => statement.text(d),
    async rows(sql, values = []) {
      return (await db.pool.query(sql.replaceAll("{s}", d.schema), values)).rows;
    },
  };
}

/** Counts how often the store had to wait before it tried again. */
export function countingWorld(): World & { readonly retries: number } {
  let retries = 0;
  return {
    ...systemWorld(),
    after(ms, callback) {
      // A pause before another try is at most half a second; the limit of a connect is longer.
      if (ms <= 500) retries++;
      return world.after(ms, callback);
    },
    get retries() {
      return retries;
    },
  };
}

export const json = (value: unknown): Payload => ({ codec: "json", data: JSON.stringify(value) });

export function group(queue = "work", more: Partial<RunGroup> = {}): RunGroup {
  return { env: "test", stack: null, queue, program: queue, version: null, ...more };
}

export function newRun(more: Partial<NewRun> = {}): NewRun {
  return { id: world.id(), group: group(), priority: 0, delayMs: 0, crashLimit: 5, input: json({ n: 1 }), ...more };
}

export function newRuns(count: number, more: Partial<NewRun> = {}): NewRun[] {
  return Array.from({ length: count }, () => newRun(more));
}

export const append = (name: string, value: unknown = name): Effect => {
  return { kind: "append", entry: { kind: "step", name, payload: json(value) } };
};
export const complete: Effect = { kind: "complete", output: json("done") };
export const park = (more: Partial<Extract<Effect, { kind: "park" }>> = {}): Effect => {
  return { kind: "park", wakeInMs: null, wakeAfter: 1, seenInboxSeq: 0, ...more };
};

export function commitOf(claimed: ClaimedRun, ...effects: Effect[]): Commit {
  return { claim: claimed, expectedSeq: claimed.seq, effects };
}

export function signal(runId: string, key = "signal:1", more: Partial<NewMessage> = {}): NewMessage {
  return { runId, key, messageId: randomUUID(), kind: "signal", name: "go", payload: null, sender: null, ...more };
}

/** Inserts runs in a queue of their own and claims them all, in the order of insertion. */
export async function claimNew(
  store: Store,
  count: number,
  { leaseMs = 60_000, ...more }: Partial<NewRun> & { leaseMs?: number } = {},
): Promise<ClaimedRun[]> {
  const own = group(`q-${randomUUID()}`);
  await store.runs.insert(newRuns(count, { group: own, ...more }));
  return claimFrom(store, more.group ?? own, { limit: count, leaseMs });
}

export async function claimFrom(
  store: Store,
  from: RunGroup,
  { limit = 1, leaseMs = 60_000, owner = randomUUID() as string } = {},
): Promise<ClaimedRun[]> {
  const groupIds = await store.runs.groupIds([from]);
  // Runs of one batch are a microsecond apart: on a clock of milliseconds the last are due in the next one.
  await new Promise((resolve) => setTimeout(resolve, 2));
  return [...(await store.runs.claim({ owner, token: randomUUID(), groupIds, limit, leaseMs }))];
}

export async function commitOne(store: Store, commit: Commit): Promise<CommitAnswer> {
  for (;;) {
    const [answer] = await store.runs.commit([commit]);
    if (answer!.outcome !== "busy") return answer!;
  }
}

export async function stateOf(store: Store, runId: string): Promise<string | undefined> {
  return (await store.runs.get(runId))?.state;
}

/** Sends until no row was locked by another statement. */
export async function accept(store: Store, commit: Commit): Promise<void> {
  expect((await commitOne(store, commit)).outcome).toBe("accepted");
}

/** Both at the same time; which one is sent first is the caller's choice. */
export function together<A, B>(bFirst: boolean, a: () => Promise<A>, b: () => Promise<B>): Promise<[A, B]> {
  const early = bFirst ? b() : null;
  return Promise.all([a(), early ?? b()]);
}

/** In an order drawn from a small generator, so that a failure repeats. */
export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = mulberry(seed);
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

export function mulberry(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
