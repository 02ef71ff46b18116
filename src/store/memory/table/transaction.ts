// Transactions of the memory store: what is inserted or sent in one is seen by others when it commits.

import { HoldfastError } from "../../../kernel/error.js";
import { TransactionEnded } from "../../check/transaction.js";
import type { Store } from "../../contract/store.js";
import type { Transaction } from "../../contract/transaction.js";
import { LayeredMap } from "./layered-map.js";
import { tablesOf } from "./open-stores.js";
import type { InstanceRow, KeyRow, MessageRow, ProbeRow, TimeoutRow } from "./rows.js";
import { indexRun, type Tables } from "./tables.js";

/** A transaction that this store did not open, or SQL asked of a store that has none. */
export class TransactionUnsupported extends HoldfastError {
  readonly code = "TRANSACTION_UNSUPPORTED";

  constructor(problem: string) {
    super(`${problem} Open one with memoryTransaction(store), or use the PostgreSQL store.`);
  }
}

/** PostgreSQL would have made the other caller wait; the memory store cannot wait, so the later commit gives way. */
export class TransactionConflict extends HoldfastError {
  readonly code = "TRANSACTION_CONFLICT";

  constructor(what: string) {
    super(`${what} was taken by somebody else while this transaction was open. Nothing of it was stored; do it again.`);
  }
}

class MemoryTransaction implements Transaction {
  readonly #base: Tables;
  readonly #keys: LayeredMap<string, KeyRow>;
  readonly #probes: LayeredMap<string, ProbeRow>;
  readonly #timeouts: LayeredMap<string, TimeoutRow>;
  readonly #instances: LayeredMap<string, InstanceRow>;
  readonly #layer: Tables;
  #open = true;

  constructor(base: Tables) {
    this.#base = base;
    this.#keys = new LayeredMap(base.keys);
    this.#probes = new LayeredMap(base.probes);
    this.#timeouts = new LayeredMap(base.timeouts);
    this.#instances = new LayeredMap(base.instances);
    this.#layer = {
      ...base,
      runs: new LayeredMap(base.runs),
      byState: new Map(),
      journal: new LayeredMap(base.journal),
      inbox: new LayeredMap(base.inbox),
      keys: this.#keys,
      limits: new LayeredMap(base.limits),
      probes: this.#probes,
      deferred: new LayeredMap(base.deferred),
      timeouts: this.#timeouts,
      instances: this.#instances,
      instanceEvents: new LayeredMap(base.instanceEvents),
      timers: new LayeredMap(base.timers),
    };
  }

  async query(): Promise<never> {
    throw new TransactionUnsupported("The memory store runs no SQL.");
  }

  layerOver(base: Tables): Tables {
    if (base !== this.#base) throw new TransactionUnsupported("The transaction belongs to another store.");
    if (!this.#open) throw new TransactionEnded();
    return this.#layer;
  }

  rollback(): void {
    if (!this.#open) throw new TransactionEnded();
    this.#open = false;
  }

  commit(): void {
    this.rollback(); // from here on nothing more can be added
    const messages = this.#newMessages();
    if (this.#keys.overtakenKey() !== undefined) throw new TransactionConflict("A key");
    if (this.#probes.overtakenKey() !== undefined) throw new TransactionConflict("A breaker's try");
    if (this.#timeouts.overtakenKey() !== undefined) throw new TransactionConflict("A timeout");
    if (this.#instances.overtakenKey() !== undefined) throw new TransactionConflict("An instance's id");
    for (const { runId, key } of messages) {
      if (this.#base.inbox.get(runId)?.some((other) => other.key === key))
        throw new TransactionConflict("A message's key");
    }
    this.#merge(messages);
  }

  #newMessages(): MessageRow[] {
    const added: MessageRow[] = [];
    for (const [runId, rows] of this.#layer.inbox) {
      const known = new Set(this.#base.inbox.get(runId));
      added.push(...rows.filter((row) => !known.has(row)));
    }
    return added;
  }

  #merge(messages: readonly MessageRow[]): void {
    for (const [at, key] of this.#keys) this.#base.keys.set(at, key);
    for (const [at, probe] of this.#probes) this.#base.probes.set(at, probe);
    for (const at of this.#timeouts.removedKeys) this.#base.timeouts.delete(at);
    for (const [at, timeout] of this.#timeouts) this.#base.timeouts.set(at, timeout);
    for (const [key, row] of this.#instances) this.#base.instances.set(key, row);
    for (const [key, log] of this.#layer.instanceEvents) this.#base.instanceEvents.set(key, log);
    for (const [id, row] of this.#layer.timers) if (!this.#base.timers.has(id)) this.#base.timers.set(id, row);
    for (const [id, row] of this.#layer.runs) {
      if (this.#base.runs.has(id)) continue; // the same id inserted elsewhere meanwhile: inserted once
      this.#base.runs.set(id, row);
      this.#base.journal.set(id, this.#layer.journal.get(id) ?? new Map());
      indexRun(this.#base, row);
      const deferral = this.#layer.deferred.get(id);
      if (deferral) this.#base.deferred.set(id, deferral);
      if (row.limited) this.#base.limits.set(id, this.#layer.limits.get(id) ?? []);
    }
    for (const row of messages) {
      if (!this.#base.runs.has(row.runId)) continue; // pruned meanwhile
      this.#base.inbox.set(row.runId, [...(this.#base.inbox.get(row.runId) ?? []), row]);
    }
  }
}

type OpenTransaction = Transaction & { commit(): void; rollback(): void };

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
