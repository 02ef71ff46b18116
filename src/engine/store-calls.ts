// What a session asks the store, repeated until the answer is known or the claim is lost.

import type { Payload } from "../kernel/codec/payload.js";
import { tamed } from "../kernel/codec/stored-error.js";
import { LazyAbort } from "../kernel/lazy-abort.js";
import { ClaimLost } from "../kernel/run/claim.js";
import { isEnded } from "../kernel/run/run-state.js";
import { sleep } from "../kernel/world.js";
import { isStopRequest, type Message } from "../store/contract/inbox/inbox.js";
import type { JournalEntry, JournalPage, Peek, Peeked } from "../store/contract/journal/journal.js";
import type { KeepValue, KeptQuery, KeptValue } from "../store/contract/kept/kept.js";
import type { ClaimedRun } from "../store/contract/run/runs.js";
import type { Transaction } from "../store/contract/transaction.js";
import { isStoreTrouble, troubleCode } from "../store/contract/trouble.js";
import type { NodeParts } from "./node-parts.js";

/** How long to wait before a commit whose outcome is unknown is sent again. */
const UNKNOWN_DELAY_MS = 200;
/** A call that the store refuses is repeated less and less often: an operator has to fix the cause. */
const LONGEST_HOLD_MS = 2_000;

export interface StoreCallsOptions extends Pick<NodeParts, "store" | "world" | "bus"> {
  readonly run: ClaimedRun;
  /** The node's env. */
  readonly env?: string;
}

/** How a run ended. */
export interface RunEnd {
  readonly state: string;
  readonly payload: Payload | null;
}

export abstract class StoreCalls {
  readonly run: ClaimedRun;
  readonly world: NodeParts["world"];
  readonly bus: NodeParts["bus"];
  protected readonly store: NodeParts["store"];
  protected readonly env: string;
  /** The claim is lost: nothing more can be written. */
  readonly lost = new LazyAbort();

  constructor({ run, store, world, bus, env = "default" }: StoreCallsOptions) {
    this.env = env;
    this.run = run;
    this.store = store;
    this.world = world;
    this.bus = bus;
  }

  /** The claim is lost: nothing more is asked. */
  abstract lose(): void;

  /** A part of the current generation's log: `limit` entries behind `after`. */
  async entries(after: number, limit: number): Promise<readonly JournalEntry[]> {
    const page = await this.held("read", () => this.store.journal.read(this.run.runId, { after, limit }));
    // A failover has lost the run itself, after it was granted.
    if (!page) throw new ClaimLost(this.run);
    return page.entries;
  }

  /** The log of another run, in its current generation; null when there is none. */
  journalOf(runId: string): Promise<JournalPage | null> {
    return this.held("read", () => this.store.journal.read(runId));
  }

  unread(): Promise<readonly Message[]> {
    return this.held("unread", () => this.store.inbox.unread(this.run.runId));
  }

  /**
   * How a run has ended, with its result or error: the payload of its last entry. Null: it has not ended, or was retried since.
   * `reported`: the state it was reported to have ended in, for a run that is not there any more.
   */
  endOf(runId: string, reported?: string): Promise<RunEnd | null> {
    return this.held("read", () => this.#endOf(runId, reported));
  }

  async #endOf(runId: string, reported: string | undefined): Promise<RunEnd | null> {
    const record = await this.store.runs.get(runId);
    if (!record) return reported === undefined ? null : { state: reported, payload: null };
    if (!isEnded(record.state)) return null;
    const last = await this.store.journal.read(runId, { after: record.seq - 1 });
    const ending = last?.entries.at(-1);
    return ending?.kind === record.state ? { state: record.state, payload: ending.payload } : null;
  }

  /** Cancels a child that is no longer wanted. One that has ended stays as it is. */
  async cancelChild(childId: string, reason: string): Promise<void> {
    const by = `run ${this.run.runId}`;
    await this.held("cancel", () => this.store.runs.cancel(childId, { by, reason }));
  }

  /** Single entries of other runs: what they were started with, or ended with. What came with the claim is not asked for. */
  async peek(wanted: readonly Peek[]): Promise<readonly (Peeked | null)[]> {
    const known = wanted.flatMap(({ runId, what }) =>
      this.run.given.filter((given) => given.runId === runId && given.what === what),
    );
    return known.length === wanted.length ? known : this.held("peek", () => this.store.journal.peek(wanted));
  }

  /** Cancels tasks of this run. Returns how many are still running and were asked to stop. */
  cancelTasks(reason: string): Promise<number> {
    return this.held("cancelTasks", () => this.store.runs.cancelTasks(this.run.runId, { by: "its DAG", reason }));
  }

  /** A kept value of the run's env; null: there is none. */
  keptValue(space: string, key: string): Promise<KeptValue | null> {
    return this.held("kept.get", () => this.store.kept.get(this.env, space, key));
  }

  keptValues(space: string, page: Pick<KeptQuery, "after" | "limit">): Promise<readonly KeptValue[]> {
    return this.held("kept.list", () => this.store.kept.list({ env: this.env, space, ...page }));
  }

  /** With the transaction of a commit: its fence covers them. */
  async keep(values: readonly Omit<KeepValue, "env">[], tx: Transaction): Promise<void> {
    const { env } = this;
    await this.store.kept.put(
      values.map((value) => ({ env, ...value })),
      { tx },
    );
  }

  /** At once, while the claim is held. Not repeated. */
  async keepUnderClaim(values: readonly Omit<KeepValue, "env">[]): Promise<void> {
    const { env, run } = this;
    const under = { runId: run.runId, epoch: run.epoch, token: run.token };
    await this.store.kept.put(
      values.map((value) => ({ env, ...value })),
      { under },
    );
  }

  /** Whether a cancel or a pause is in the inbox. */
  async isAskedToStop(): Promise<boolean> {
    return (await this.unread()).some(isStopRequest);
  }

  /** Repeats a call while the store is unavailable or refuses it: whether a write was done is unknown, and it may be repeated. */
  protected async held<T>(during: string, ask: () => Promise<T>): Promise<T> {
    this.lost.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      return this.again(during, error, ask);
    }
  }

  /** The same for a call that has failed once. */
  protected async again<T>(during: string, firstError: unknown, ask: () => Promise<T>): Promise<T> {
    let error = firstError;
    for (let tries = 1; ; tries++) {
      const { code } = tamed(error) as { code?: unknown };
      // Proven: what still runs in parallel must stop, too.
      if (code === "CLAIM_LOST") this.lose();
      if (!isStoreTrouble(error)) throw error;
      await this.holdOut(during, error, tries);
      this.lost.throwIfAborted();
      try {
        return await ask();
      } catch (next) {
        error = next;
      }
    }
  }

  /** Reports that the store is in trouble, and waits a while. Rejects when the claim is lost, or `signal` aborts. */
  async holdOut(during: string, error: unknown, tries: number, signal = this.lost.signal): Promise<void> {
    const { code } = error as { code?: unknown };
    // The call to an absent store was already repeated with pauses; one that refuses at once must not be called in a loop.
    const growth = code === "STORE_UNAVAILABLE" ? 1 : 2 ** (tries - 1);
    const delayMs = Math.min(UNKNOWN_DELAY_MS * growth, LONGEST_HOLD_MS);
    this.bus.emit("store.trouble", { runId: this.run.runId, during, code: troubleCode(error), tries, delayMs, error });
    await sleep(this.world, delayMs, signal);
  }
}
