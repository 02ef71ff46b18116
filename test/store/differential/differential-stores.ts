// The memory store and the PostgreSQL store side by side, with one clock that the test moves.

import pg from "pg";
import { HoldfastError } from "../../../src/kernel/error.js";
import type { RunGroup } from "../../../src/kernel/run/new-run.js";
import { systemWorld } from "../../../src/kernel/system-world.js";
import type { Store } from "../../../src/store/contract/store.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import type { PostgresStore } from "../../../src/store/postgres/index.js";
import { openPostgres } from "../../../src/store/postgres/open.js";
import { recordOperations } from "../../harness/recorded-operations.js";
import { type Snapshot, snapshotMemory } from "./snapshot-memory.js";
import { snapshotPostgres } from "./snapshot-postgres.js";

const TABLES = [
  ...["runs", "journal", "inbox", "run_keys", "leases", "nodes", "programs"],
  ...["run_limits", "limit_rates", "paused_queues", "schedules"],
  ...["subscriptions", "subscribers", "debounces", "breaker_probes", "timeouts", "definitions", "run_needs"],
  ...["definition_versions", "deferred_runs", "kept_modes", "reclaimed_claims", "cleanups", "misfit_runs"],
  ...["instances", "instance_events", "timers", "audit", "tokens", "run_figures", "queue_figures", "kept_values"],
];
const START_MS = Date.UTC(2026, 0, 1);

/** One call, to be made on either store; group numbers differ between them. */
export type Call = (store: Store, groupIds: readonly number[]) => Promise<unknown>;

export class BothStores {
  readonly #schema: string;
  readonly #pool: pg.Pool;
  readonly #postgres: PostgresStore;
  readonly #groups: readonly RunGroup[];
  #nowMs = START_MS;
  #groupIds: [readonly number[], readonly number[]] = [[], []];
  memory: Store;
  /** The operations that were called, by name. */
  readonly called = new Set<string>();
  /** As of the last call: steps are drawn from it several times, and copying it took longer than most operations. */
  #drawnFrom: Snapshot | null = null;

  constructor(url: string, schema: string, groups: readonly RunGroup[]) {
    // Only what is stored is judged here, not whether it survives a crash.
    const quick = new URL(url);
    quick.searchParams.set("options", "-c synchronous_commit=off");
    this.#schema = schema;
    this.#groups = groups;
    this.#pool = new pg.Pool({ connectionString: quick.href, max: 6 });
    const now = `(select at from ${schema}.test_clock)`;
    this.#postgres = openPostgres(quick.href, { schema }, { now });
    this.memory = this.#newMemory();
  }

  async open(): Promise<void> {
    await this.#postgres.migrate();
    await this.#pool.query(`create table ${this.#schema}.test_clock (at timestamptz not null) with (fillfactor = 10)`);
    await this.#pool.query(`insert into ${this.#schema}.test_clock values (now())`);
  }

  /** Of nothing that exists. */
  readonly unknownId = "00000000-0000-7000-8000-000000000000";

  /** Both empty, at the same time. */
  async reset(): Promise<void> {
    const tables = TABLES.map((name) => `${this.#schema}.${name}`);
    await this.#pool.query(`truncate ${tables.join(", ")}`);
    await this.#pool.query(`select setval('${this.#schema}.lease_floor', 0)`);
    await this.#pool.query(`update ${this.#schema}.claim_groups set recovery = null, limits = '[]', cleans_up = false,
      declared_by = null, declared_start = null`);
    await this.#pool.query(`delete from ${this.#schema}.meta where key like '%_place'`);
    this.#nowMs = START_MS;
    await this.advance(0);
    this.memory = this.#newMemory();
    this.#drawnFrom = null;
    this.#groupIds = [await this.memory.runs.groupIds(this.#groups), await this.#postgres.runs.groupIds(this.#groups)];
  }

  async advance(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.#pool.query(`update ${this.#schema}.test_clock set at = to_timestamp($1::float8 / 1000)`, [this.#nowMs]);
  }

  /** The answers of both, made comparable. */
  async call(call: Call): Promise<{ memory: unknown; postgres: unknown; raw: unknown }> {
    this.#drawnFrom = null;
    const [memory, postgres] = await Promise.all([
      settled(call(this.memory, this.#groupIds[0])),
      settled(call(this.#postgres, this.#groupIds[1])),
    ]);
    return { memory: comparable(memory), postgres: comparable(postgres), raw: memory };
  }

  snapshot(): Snapshot {
    this.#drawnFrom ??= snapshotMemory(this.memory);
    return this.#drawnFrom;
  }

  async snapshots(): Promise<{ memory: unknown; postgres: unknown }> {
    const postgres = await snapshotPostgres(this.#pool, this.#schema);
    return { memory: comparable(this.snapshot()), postgres: comparable(postgres) };
  }

  async close(): Promise<void> {
    await this.#postgres.close();
    await this.#pool.end();
  }

  #newMemory(): Store {
    const world = { ...systemWorld(), wallNow: () => this.#nowMs };
    return recordOperations(memoryStore({ world }), this.called);
  }
}

async function settled(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return { threw: error };
  }
}

/** Errors by code and path; no group numbers; keys in one order; messages of one instant in the order of their keys. */
function comparable(value: unknown): unknown {
  if (value instanceof HoldfastError) return { code: value.code, path: (value as { path?: string }).path ?? null };
  if (value instanceof Error) return { error: value.message };
  if (Array.isArray(value)) return value.map(comparable).sort(byInstant);
  if (typeof value !== "object" || value === null) return value ?? null;
  const entries = Object.entries(value).filter(([name]) => name !== "groupId");
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, part]) => [name, comparable(part)]),
  );
}

function byInstant(a: unknown, b: unknown): number {
  const [x, y] = [a, b] as { messageId?: string; runId: string; at: number; key: string }[];
  if (x?.messageId === undefined || y?.messageId === undefined || x.runId !== y.runId || x.at !== y.at) return 0;
  return x.key < y.key ? -1 : 1;
}
