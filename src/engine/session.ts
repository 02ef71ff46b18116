// One claimed run while this node holds it: its history, its writer, and what ends the work from outside.

import { buggify } from "../kernel/buggify.js";
import type { Payload } from "../kernel/codec/payload.js";
import { LazyAbort } from "../kernel/lazy-abort.js";
import { ClaimLost } from "../kernel/run/claim.js";
import type { DebounceTicket } from "../kernel/run/debounce-ticket.js";
import { type AppendEffect, type Effect, entryOf, settles } from "../kernel/run/effect.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Transaction } from "../store/contract/transaction.js";
import { Changes } from "./changes.js";
import { NodeStopping } from "./node-stopping.js";
import type { Committed, RunWriter } from "./run-writer.js";
import type { Seat } from "./seat.js";
import { StoreCalls, type StoreCallsOptions } from "./store-calls.js";
import type { OwnPresence } from "./upkeep/own-presence.js";

export interface SessionOptions extends StoreCallsOptions {
  readonly writer: RunWriter;
  /** Monotonic time before the claim was asked for: its lease runs from there. */
  readonly askedAt: number;
  readonly leaseMs: number;
  /** What this node knows of its own presence: other nodes may reclaim its claims while it is missing. */
  readonly presence: Pick<OwnPresence, "doubtBefore">;
  readonly onCommitted: (runId: string, isReleased: boolean) => void;
  /** The node's build. */
  readonly build?: string;
}

export class Session extends StoreCalls {
  readonly build: string;
  /** Its work has begun: it has a slot. */
  begun = false;
  /** Left before its outcome is written: another run begins meanwhile, so node and database work at the same time. */
  seat: Seat | null = null;
  readonly #writer: RunWriter;
  /** For the user's work: aborts when the claim is lost, or when the node stops and its grace has passed. */
  readonly over = new LazyAbort();
  readonly #receivedAt: number;
  #inboxSeq: number;
  #stopping = false;
  #lastClaim: Promise<unknown> = Promise.resolve();
  #settledAs: string | null = null;
  #failedWith: Payload | null = null;
  readonly #changes = new Changes();
  #writes = 0;
  readonly #written = new Changes();
  #newsCount = 0;
  /** Entries that were decided here and are not written yet, in the order of the journal. */
  #owed: { readonly effect: AppendEffect; readonly onWritten: () => void }[] = [];
  #leaseMs: number;
  readonly #presence: SessionOptions["presence"];
  readonly #onCommitted: (runId: string, isReleased: boolean) => void;
  /** Monotonic time when the last accepted renewal was sent. */
  #renewedAt: number;
  /** How many wait until the claim is confirmed. */
  #unsure = 0;

  constructor(options: SessionOptions) {
    const { run, writer, world, askedAt, leaseMs, presence, onCommitted, build = "unknown" } = options;
    super(options);
    this.build = build;
    this.#writer = writer;
    this.#inboxSeq = run.inboxSeq;
    this.#receivedAt = world.monotonicNow();
    this.#renewedAt = askedAt;
    this.#leaseMs = leaseMs;
    this.#presence = presence;
    this.#onCommitted = onCommitted;
  }

  /** The kind of the entry that released the claim; null while it is held. */
  get settledAs(): string | null {
    return this.#settledAs;
  }

  /** The failure that its claim was released with, if it was one. */
  get failedWith(): Payload | null {
    return this.#failedWith;
  }

  /** The node is stopping: start nothing new, hand the run back when the work under way has ended. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** Messages that this process sent to its own inbox, and calls by name: news that `inboxSeq` does not show. */
  get newsCount(): number {
    return this.#newsCount;
  }

  /** How far the inbox had grown at the last answer. */
  get inboxSeq(): number {
    return this.#inboxSeq;
  }

  /** The database's clock, as far as this process knows it: late by the time of the reply, never ahead. */
  databaseNow(): number {
    return this.run.claimedAt + (this.world.monotonicNow() - this.#receivedAt);
  }

  /** How many entries the current generation's log has, those included that are owed. */
  get length(): number {
    return this.#writer.seq + this.#owed.length - this.run.baseSeq;
  }

  /** The current generation's log up to the claim. `exact`: with the time of its start, which a fresh claim does not know. */
  history(exact: boolean): readonly JournalEntry[] | Promise<readonly JournalEntry[]> {
    const { seq, baseSeq, input, claimedAt, log: known } = this.run;
    if (known && this.#writer.seq === seq && !buggify(this.world, "claim.without-log")) return known;
    if (seq === baseSeq + 1 && !exact) {
      return [{ seq, epoch: 0, kind: "start", name: "", key: null, payload: input, at: claimedAt }];
    }
    return this.#wholeHistory();
  }

  async #wholeHistory(): Promise<readonly JournalEntry[]> {
    const log = await this.held("read", () => this.store.journal.read(this.run.runId));
    // A failover has lost the run itself, after it was granted.
    if (!log) throw new ClaimLost(this.run);
    return log.entries;
  }

  /** Writes to the run's own inbox that a wait has timed out. A decision that came first counts; either way there is news to read. */
  async sendTimeout(key: string, name: string): Promise<void> {
    const { runId } = this.run;
    const messageId = this.world.token();
    const message = { runId, key, messageId, kind: "timeout", name, payload: null, sender: null } as const;
    await this.held("send", () => this.store.inbox.send([message]));
    // Not counted as heard: whether the row's number rose with it is unknown, and parking compares that number.
    this.#newsCount++;
    this.#changes.happened();
  }

  /** The run was called by name: there is news in the inbox, whatever its number was at the last answer. */
  called(): void {
    this.#newsCount++;
    this.#changes.happened();
  }

  /**
   * Writes this entry with the next commit, whatever it is, before its effects. Returns the entry's sequence: true while nothing of this
   * run is on its way to the store.
   */
  owe(effect: AppendEffect, onWritten = () => {}): number {
    this.#owed.push({ effect, onWritten });
    return this.#writer.seq + this.#owed.length;
  }

  get owes(): boolean {
    return this.#owed.length > 0;
  }

  /** Writes what is owed. */
  async pay(): Promise<void> {
    await this.commit([]);
  }

  /** Writes under the fence. An unknown outcome is repeated until it is known or the claim is lost. */
  async commit(wanted: readonly Effect[]): Promise<Committed> {
    const last = wanted.at(-1);
    if (last?.kind === "handBack") await this.#lastClaim;
    this.lost.throwIfAborted();
    const owed = this.#owed;
    if (owed.length > 0) this.#owed = [];
    const effects = owed.length > 0 ? [...owed.map(({ effect }) => effect), ...wanted] : wanted;
    if (last && settles(last)) this.seat?.leave();
    const committed = await this.#write(effects);
    if (last && settles(last)) this.#settledAs = entryOf(last).kind;
    if (last?.kind === "fail" || last?.kind === "misfit") this.#failedWith = last.reason;
    if (last?.kind === "retry") this.#failedWith = last.error;
    for (const { onWritten } of owed) onWritten();
    return this.#wrote(committed);
  }

  async #write(effects: readonly Effect[]): Promise<Committed> {
    this.#writes++;
    try {
      return await this.#writer.commit(effects);
    } catch (error) {
      return await this.again("commit", error, () => this.#writer.commit(effects));
    } finally {
      if (--this.#writes === 0) this.#written.happened();
    }
  }

  /** A commit is on its way. */
  get isWriting(): boolean {
    return this.#writes > 0;
  }

  /** Resolves when no commit is on its way any more. */
  written(): Promise<void> {
    return this.#written.next();
  }

  /**
   * Runs the user's own statements and writes the effects that they return, in one transaction. The whole transaction is repeated
   * while the database is unavailable; a rolled-back one leaves nothing. Each time only while the lease runs, as any other attempt.
   */
  async transaction(work: (tx: Transaction) => Promise<readonly Effect[]>): Promise<Committed> {
    const committed = await this.held("transact", async () => {
      if (this.owes) await this.pay();
      await this.untilConfirmed();
      let release = () => {};
      try {
        const answer = await this.store.runs.transact(async (tx) => {
          const effects = await work(tx);
          // From here until the answer nothing else of this run is sent: the expected sequence stays true.
          release = await this.#writer.hold();
          return { claim: this.run, expectedSeq: this.#writer.seq, effects };
        });
        return this.#writer.wrote(answer);
      } finally {
        release();
      }
    });
    return this.#wrote(committed);
  }

  /** The first write of a run that gathers events: releases the claim, with the last event as its input or to wait longer. */
  async settleDebounced(ticket: DebounceTicket): Promise<void> {
    const { seq } = this.#writer;
    const settled = await this.held("settleDebounced", async () => {
      const { outcome } = await this.store.events.settleDebounced(this.run, seq, ticket);
      if (outcome === "lost") throw new ClaimLost(this.run);
      return outcome;
    });
    this.#settledAs = settled === "merged" ? "skipped" : settled === "waits" ? "parked" : "gathered";
    this.#onCommitted(this.run.runId, this.#settledAs !== null);
  }

  #wrote(committed: Committed): Committed {
    if (committed.inboxSeq !== null) this.heard(committed.inboxSeq);
    this.#onCommitted(this.run.runId, this.#settledAs !== null);
    return committed;
  }

  /**
   * The answer to a renewal or commit says how far the inbox has grown. A lower number is news, too: a failover has lost messages,
   * and the next ones get their numbers again.
   */
  heard(inboxSeq: number): void {
    if (inboxSeq === this.#inboxSeq) return;
    this.#inboxSeq = inboxSeq;
    this.#changes.happened();
  }

  /** The claim is held as far as this process knows. */
  get isConfirmed(): boolean {
    return !this.over.aborted && !this.inDoubt;
  }

  /** Resolves at once while the claim is held as far as this process knows; otherwise when it was renewed. Rejects when it is lost. */
  async untilConfirmed(): Promise<void> {
    this.#unsure++;
    while (!this.over.aborted && this.inDoubt) await this.changed();
    this.#unsure--;
    this.over.throwIfAborted();
  }

  /** Not renewed for a lease's time, or not since this node was missed: another node may hold the run by now. */
  get inDoubt(): boolean {
    const isOver = this.world.monotonicNow() - this.#renewedAt >= this.#leaseMs;
    return isOver || this.#renewedAt < this.#presence.doubtBefore;
  }

  /** `sentAt`: the lease runs from when its renewal was asked for, for as long as before or for `leaseMs`. */
  renewed(sentAt: number, leaseMs = this.#leaseMs): void {
    this.#renewedAt = sentAt;
    this.#leaseMs = leaseMs;
    // For others nothing has changed: a run that sleeps would need a slot at every renewal. The doubt may have ended before, with a
    // heartbeat of the node.
    if (this.#unsure > 0) this.#changes.happened();
  }

  override lose(): void {
    const reason = new ClaimLost(this.run);
    this.lost.abort(reason);
    this.over.abort(reason);
    this.#changes.happened();
  }

  /** The node's grace has passed: the work is aborted, and its run can still be handed back when it ends. */
  expire(reason = new NodeStopping()): void {
    this.over.abort(reason);
    this.#changes.happened();
  }

  /** Another node has the right to this work: it is aborted, and its run handed back when it ends. */
  giveUp(cause: unknown): void {
    this.stop(Promise.resolve());
    this.expire(new NodeStopping("Another node has the right to this work now; it continues there.", { cause }));
  }

  /** `lastClaim`: when the node has claimed for the last time; before that it could take again what it hands back. */
  stop(lastClaim: Promise<unknown>): void {
    this.#stopping = true;
    this.#lastClaim = lastClaim;
    this.#changes.happened();
  }

  /** Called when something changed from outside: the inbox grew, the node stops, the claim is lost. Returns a function that ends it. */
  onChange(wake: () => void): () => void {
    return this.#changes.on(wake);
  }

  /** Resolves with the next change. */
  changed(): Promise<void> {
    return this.#changes.next();
  }
}
