// Transactions of the memory store: inserts and messages become visible to others on commit.

import { HoldfastError } from "../../../kernel/error.js";
import { TransactionEnded } from "../../check/transaction.js";
import type { Store } from "../../contract/store.js";
import type { Transaction } from "../../contract/transaction.js";
import { tablesOf } from "./open-stores.js";
import type { MessageRow } from "./rows.js";
import { indexRun, type Tables } from "./tables.js";

/** A transaction that this store did not open, or SQL sent to a store without it. */
export class TransactionUnsupported extends HoldfastError {
  readonly code = "TRANSACTION_UNSUPPORTED";

  constructor(problem: string) {
    super(`${problem} Open one with memoryTransaction(store), or use the PostgreSQL store.`);
  }
}

/** PostgreSQL would have made the other caller wait; the memory store cannot wait, so the later commit fails. */
export class TransactionConflict extends HoldfastError {
  readonly code = "TRANSACTION_CONFLICT";

  constructor(what: string) {
    super(`${what} was taken by another caller while this transaction was open. Nothing of it was stored; repeat it.`);
  }
}

/** What a transaction may write. */
function layersOver(base: Tables) {
  return {
    runs: new LayeredMap(base.runs),
    journal: new LayeredMap(base.journal),
    inbox: new LayeredMap(base.inbox),
    keys: new LayeredMap(base.keys),
    limits: new LayeredMap(base.limits),
    probes: new LayeredMap(base.probes),
    deferred: new LayeredMap(base.deferred),
    attributes: new LayeredMap(base.attributes),
    kept: new LayeredMap(base.kept),
    timeouts: new LayeredMap(base.timeouts),
    instances: new LayeredMap(base.instances),
    instanceEvents: new LayeredMap(base.instanceEvents),
    timers: new LayeredMap(base.timers),
  };
}

class MemoryTransaction implements Transaction {
  readonly #base: Tables;
  readonly #layers: ReturnType<typeof layersOver>;
  readonly #seen: Tables;
  #open = true;

  constructor(base: Tables) {
    this.#base = base;
    this.#layers = layersOver(base);
    this.#seen = { ...base, ...this.#layers, byState: new Map() };
  }

  async query(): Promise<never> {
    throw new TransactionUnsupported("The memory store does not run SQL.");
  }

  layerOver(base: Tables): Tables {
    if (base !== this.#base) throw new TransactionUnsupported("The transaction belongs to another store.");
    if (!this.#open) throw new TransactionEnded();
    return this.#seen;
  }

  rollback(): void {
    if (!this.#open) throw new TransactionEnded();
    this.#open = false;
  }

  commit(): void {
    this.rollback(); // from here on nothing more can be added
    const messages = this.#newMessages();
    const { keys, probes, timeouts, instances } = this.#layers;
    if (keys.isOvertaken()) throw new TransactionConflict("A key");
    if (probes.isOvertaken()) throw new TransactionConflict("A breaker's try");
    if (timeouts.isOvertaken()) throw new TransactionConflict("A timeout");
    if (instances.isOvertaken()) throw new TransactionConflict("An instance's id");
    for (const { runId, key } of messages) {
      if (this.#base.inbox.get(runId)?.some((other) => other.key === key))
        throw new TransactionConflict("A message's key");
    }
    this.#merge(messages);
  }

  #newMessages(): MessageRow[] {
    const added: MessageRow[] = [];
    for (const [runId, rows] of this.#layers.inbox) {
      const known = new Set(this.#base.inbox.get(runId));
      added.push(...rows.filter((row) => !known.has(row)));
    }
    return added;
  }

  #merge(messages: readonly MessageRow[]): void {
    const base = this.#base;
    const { keys, probes, timeouts, instances, instanceEvents, timers, runs, journal, deferred, limits } = this.#layers;
    this.#layers.attributes.mergeInto(base.attributes);
    this.#layers.kept.mergeInto(base.kept);
    keys.mergeInto(base.keys);
    probes.mergeInto(base.probes);
    timeouts.mergeInto(base.timeouts);
    instances.mergeInto(base.instances);
    instanceEvents.mergeInto(base.instanceEvents);
    for (const [id, row] of timers) if (!base.timers.has(id)) base.timers.set(id, row);
    for (const [id, row] of runs) {
      if (base.runs.has(id)) continue; // the same id was inserted elsewhere meanwhile: inserted once
      base.runs.set(id, row);
      base.journal.set(id, journal.get(id) ?? new Map());
      indexRun(base, row);
      const deferral = deferred.get(id);
      if (deferral) base.deferred.set(id, deferral);
      if (row.limited) base.limits.set(id, limits.get(id) ?? []);
    }
    for (const row of messages) {
      if (!base.runs.has(row.runId)) continue; // pruned meanwhile
      base.inbox.set(row.runId, [...(base.inbox.get(row.runId) ?? []), row]);
    }
  }
}

type OpenTransaction = Transaction & { commit(): void; rollback(): void };

/** Opens a transaction on a memory store, to test code that starts runs in a transaction of its own. */
export function memoryTransaction(store: Store): OpenTransaction {
  return transactionOver(tablesOf(store));
}

export function transactionOver(tables: Tables): OpenTransaction {
  return new MemoryTransaction(tables);
}

/** The tables as this transaction sees them; without one, the tables themselves. */
export function tablesSeenBy(tables: Tables, tx: Transaction | undefined): Tables {
  if (tx === undefined) return tables;
  if (!(tx instanceof MemoryTransaction))
    throw new TransactionUnsupported("The memory store does not know this transaction.");
  return tx.layerOver(tables);
}

/** A map over another one: reads fall through, writes stay above. It is what an open transaction sees. */
class LayeredMap<K, V> extends Map<K, V> {
  readonly #under: ReadonlyMap<K, V>;
  /** The value below when a key was first written here: if it has changed, another writer was faster. */
  readonly #covered = new Map<K, V | undefined>();
  readonly #removed = new Set<K>();

  constructor(under: ReadonlyMap<K, V>) {
    super();
    this.#under = under;
  }

  override get(key: K): V | undefined {
    if (super.has(key)) return super.get(key);
    return this.#removed.has(key) ? undefined : this.#under.get(key);
  }

  override has(key: K): boolean {
    return super.has(key) || (!this.#removed.has(key) && this.#under.has(key));
  }

  override set(key: K, value: V): this {
    this.#cover(key);
    this.#removed.delete(key);
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    const there = this.has(key);
    this.#cover(key);
    this.#removed.add(key);
    super.delete(key);
    return there;
  }

  /** Whether the value below of a key written here has changed since. */
  isOvertaken(): boolean {
    return [...this.#covered].some(([key, value]) => this.#under.get(key) !== value);
  }

  mergeInto(under: Map<K, V>): void {
    for (const key of this.#removed) under.delete(key);
    for (const [key, value] of this) under.set(key, value);
  }

  #cover(key: K): void {
    if (!this.#covered.has(key)) this.#covered.set(key, this.#under.get(key));
  }
}
