// A step: user code that is tried until its result, or its last failure, is in the journal.

import type { StepFacts } from "../engine/events.js";
import { NodeStopping } from "../engine/node-stopping.js";
import { JournalMoved } from "../engine/run-writer.js";
import { buggify } from "../kernel/buggify.js";
import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type StoredError } from "../kernel/codec/recorded-error.js";
import { storeError, tamed } from "../kernel/codec/stored-error.js";
import { ClaimLost } from "../kernel/run/claim.js";
import type { Effect } from "../kernel/run/effect.js";
import { attemptsLeft, type RetryPolicy, retryDelayMs, spread } from "../kernel/run/retry.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Transaction } from "../store/contract/transaction.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import { Attempt } from "./attempt.js";
import { Interrupted } from "./interrupted.js";
import { type CallOptions, RecordedCall } from "./recorded-call.js";
import { RunOver } from "./run-over.js";
import { PermanentError, StepInterrupted, StepTimeout } from "./step-error.js";

/** What the function of a step gets. */
export interface StepInfo {
  /** The same for every attempt of this step, on every node: pass it to outside systems. */
  readonly idempotencyKey: string;
  /** Rises with every takeover: an outside system can reject calls with an older one. */
  readonly fence: bigint;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** Aborts when the claim is lost or the node's grace period ends. */
  readonly signal: AbortSignal;
}

/** A longer back-off releases the claim; a shorter one is waited out in place. */
const LONGEST_LINGER_MS = 5_000;

export interface StepCallOptions extends CallOptions {
  readonly kind: "step" | "transaction" | "value" | "progress" | "patched" | "set" | "checkpoint" | "node" | "item";
  readonly timeoutMs?: number | null | undefined;
  /** Recorded before it runs, and never run again once begun. */
  readonly atMostOnce?: boolean | undefined;
  /** A result that arrives after the abort counts. */
  readonly finishOnAbort?: boolean | undefined;
  readonly policy: RetryPolicy;
  /** Failed attempts before the function was interrupted; then its back-off has passed. */
  readonly failures?: number | undefined;
  /** Which errors are worth another attempt. */
  readonly retryIf?: ((error: unknown) => boolean) | undefined;
  /** Turns the last failure into a result; undefined keeps the failure. */
  readonly rescue?: (error: StoredError) => unknown;
  /** Effects written in the same commit, before the step's entry. */
  readonly ahead?: () => readonly Effect[];
  /** Effects written in the same commit, after the entry of this kind with this payload. */
  readonly along?: (kind: string, payload: Payload) => readonly Effect[];
  /** What is written elsewhere together with the entry of this kind; null: nothing. */
  readonly together?: (kind: string) => ((tx: Transaction) => Promise<void>) | null;
  /** Called with a transaction if the kind is one: its statements and the result are committed together. */
  readonly work: (info: StepInfo, tx: Transaction | null) => unknown;
  readonly resolve: (value: never) => void;
}

interface Failure {
  readonly error: unknown;
  /** The work succeeded but its result cannot be recorded: another attempt would not change that. */
  readonly unstorable: boolean;
}

/** Already written, to be written, or failed. */
type Attempted = { readonly entry: JournalEntry } | { readonly payload: Payload } | Failure;

/** Its deadline: when the next attempt is due. */
export class StepCall extends RecordedCall<StepCallOptions> {
  lingers = false;
  #failures = 0;
  #attempting: Attempt | null = null;
  /** Why the run does not want it any more: it was cancelled, or the step lost a race. */
  #unwanted: unknown = null;

  get title(): string {
    return `${this.options.kind} ${JSON.stringify(this.options.name)}`;
  }

  /** For `patched`: its value depends on whether the journal continues beyond this call. */
  get first(): boolean {
    return this.options.kind === "patched";
  }

  start(): void {
    this.started = true;
    const { replay, failures } = this.options;
    const tries = replay.recorded.tries.get(this.id);
    this.#failures = failures ?? tries?.count ?? 0;
    if (tries && failures === undefined) this.#backOff(tries.last);
    else this.#go();
  }

  /** The back-off has passed. */
  expire(): void {
    this.deadline = null;
    this.lingers = false;
    this.#go();
  }

  abort(reason: unknown): void {
    this.#unwanted = reason;
    this.#attempting?.abort(reason);
  }

  protected override stopOutside(error: Error): null {
    this.abort(error);
    return null;
  }

  /** Always decodes the stored form, the first time too, so that user code sees the same values after a crash. */
  deliver({ kind, payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve, reject } = this.options;
    const value = payload ? codecs.decode(payload) : undefined;
    if (kind.endsWith(".failed")) reject(decodeError(value as StoredError));
    else resolve(value as never);
  }

  #go(): void {
    this.running = true;
    const { replay } = this.options;
    this.#work().catch((error) => {
      this.running = false;
      if (!(error instanceof NodeStopping)) return replay.fail(error);
      // The step ended without a result, and nothing is recorded: the next holder starts it again.
      replay.wake();
    });
  }

  /** Makes one attempt and handles its outcome. */
  async #work(): Promise<void> {
    const { replay, codecs, kind, atMostOnce = false } = this.options;
    replay.gate.expectOpen(this);
    if (atMostOnce) {
      if (replay.recorded.begun.has(this.id))
        return this.end(await this.#write(`${kind}.failed`, storeError(codecs, new StepInterrupted(this.title))));
      await this.#write(`${kind}.begun`, codecs.encode(null));
    }
    // A node that could not renew its lease starts nothing new: another node may already have done it.
    if (!replay.session.isConfirmed) await replay.session.untilConfirmed();
    replay.throwIfOver();
    replay.gate.expectOpen(this);
    this.#expectAwaited();
    const { bus, world } = replay.session;
    const facts = this.#facts();
    const startedAt = world.monotonicNow();
    if (facts) bus.emit("step.started", facts);
    let result = await this.#attempt(this.#failures + 1);
    if ("error" in result && !atMostOnce && isStoreTrouble(result.error))
      result = await this.#attemptAgain(result.error);
    if ("error" in result && result.error instanceof Interrupted) return this.#interrupted(result.error);
    if ("error" in result) return this.#failed(result, facts);
    this.end("entry" in result ? result.entry : await this.#write(kind, result.payload));
    if (!facts) return;
    // Written out: a copy by `...` with one more field is slow (docs/internals/speed.md).
    const { runId, step, key, attempt } = facts;
    bus.emit("step.completed", { runId, step, key, attempt, ms: world.monotonicNow() - startedAt });
  }

  /** A store failure inside the step's function is not the step's failure: the attempt is repeated and counts once. */
  async #attemptAgain(trouble: unknown): Promise<Attempted> {
    const { replay } = this.options;
    const { session } = replay;
    for (let error = trouble, tries = 1; ; tries++) {
      if (session.stopping) throw new NodeStopping();
      await session.holdOut(this.title, error, tries, session.over.signal);
      await session.untilConfirmed();
      replay.throwIfOver();
      const result = await this.#attempt(this.#failures + 1);
      if (!("error" in result) || !isStoreTrouble(result.error)) return result;
      error = result.error;
    }
  }

  /** Nothing is recorded: the function is called again with the answer. */
  #interrupted(error: Interrupted): void {
    error.failures = this.#failures;
    this.running = false;
    this.options.replay.withdraw(this, error);
  }

  async #failed({ error, unstorable }: Failure, facts: StepFacts | null): Promise<void> {
    const { replay, codecs, kind, atMostOnce = false } = this.options;
    const { bus, over } = replay.session;
    if (isEngineError(error)) throw error;
    this.#expectAwaited();
    if (error instanceof NodeStopping) replay.gate.expectOpen(this);
    // An error caused by the abort of a stopping node is not a failure of the step.
    if (!atMostOnce) over.throwIfAborted();
    if (kind === "transaction") replay.gate.expectOpen(this);
    this.#failures++;
    const payload = storeError(codecs, error);
    if (unstorable || this.#isLast(error)) {
      const rescued = this.options.rescue?.(codecs.decode(payload) as StoredError);
      const isRescued = rescued !== undefined;
      this.end(await this.#write(isRescued ? kind : `${kind}.failed`, isRescued ? codecs.encode(rescued) : payload));
      if (facts) bus.emit("step.failed", { ...facts, error });
    } else {
      const delayMs = this.#backOff(await this.#write(`${kind}.tried`, payload));
      if (facts) bus.emit("step.retried", { ...facts, error, delayMs });
    }
  }

  /** The facts reported to listeners about an attempt; null for values the library generates itself. */
  #facts(): StepFacts | null {
    const { replay, kind, name, key } = this.options;
    if (kind === "value" || kind === "progress" || kind === "patched" || kind === "set") return null;
    return { runId: replay.session.run.runId, step: name, key, attempt: this.#failures + 1 };
  }

  #isLast(error: unknown): boolean {
    const { policy, atMostOnce = false, retryIf } = this.options;
    if (atMostOnce || error instanceof PermanentError || attemptsLeft(policy, this.#failures) <= 0) return true;
    if (retryIf === undefined) return false;
    try {
      return !retryIf(error);
    } catch {
      return true; // A throwing retryIf gives no answer; the step's own error decides.
    }
  }

  /** The delay is deterministic, so after a crash another node waits only for the rest of it. */
  #backOff({ at, seq }: JournalEntry): number {
    const { policy, replay } = this.options;
    const delayMs = retryDelayMs(policy, this.#failures, () => spread(`${replay.session.run.runId}:${seq}`));
    this.running = false;
    this.deadline = at + delayMs;
    const isShort = this.deadline - replay.session.databaseNow() <= LONGEST_LINGER_MS;
    this.lingers = isShort && !buggify(replay.session.world, "retry.parked");
    replay.wake();
    return delayMs;
  }

  async #attempt(attempt: number): Promise<Attempted> {
    const { replay, work, codecs, name, key, kind, timeoutMs = null, finishOnAbort = false } = this.options;
    const info = new Attempt(this.options, attempt);
    this.#attempting = info;
    const late = timeoutMs === null ? null : this.#late(info, timeoutMs);
    let unstorable = false;
    const encoded = async (tx: Transaction | null) => {
      replay.gate.expectOpen(this);
      this.#expectAwaited();
      const watched = replay.session.world.perform && ((of: StepInfo) => this.#perform(of, () => work(of, tx)));
      const working = replay.stepWork.call<StepInfo, Transaction | null, unknown>(watched ?? work, info, tx);
      const value = await (late ? Promise.race([working, late.over]) : working);
      // Aborted work may return a partial result: the next holder repeats it in full.
      if (!finishOnAbort) this.#expectWanted();
      unstorable = true;
      const payload = codecs.encode(value, `result of ${this.title}`);
      unstorable = false;
      return payload;
    };
    try {
      if (kind !== "transaction") return { payload: await encoded(null) };
      let payload: Payload | null = null;
      const { seq } = await replay.session.transaction(async (tx) => {
        replay.throwIfOver(); // The work may have been repeated after the run had ended.
        if (late) await Promise.race([late.over, null]); // The timeout may have passed before a connection was free.
        payload = await encoded(tx);
        return [{ kind: "append", entry: { kind, name, key, payload } }];
      });
      return { entry: this.entry(seq, kind, payload!) };
    } catch (error) {
      return { error: tamed(error), unstorable };
    } finally {
      late?.cancel();
    }
  }

  /** Calls the work through the world: a test replaces or watches it. */
  #perform(info: StepInfo, work: () => unknown): unknown {
    const { replay, kind, name } = this.options;
    const { world, run } = replay.session;
    return world.perform!({ runId: run.runId, kind, name, info }, work);
  }

  /** Nothing of a step that the run does not want is recorded: the cancel or the race has ended its call. */
  #expectAwaited(): void {
    if (this.#unwanted !== null) throw new NodeStopping("The run does not wait for this step any more.");
  }

  #expectWanted(): void {
    const { replay, atMostOnce = false } = this.options;
    replay.throwIfOver();
    this.#expectAwaited();
    const { over } = replay.session;
    if (atMostOnce && over.aborted) throw new StepInterrupted(this.title);
    over.throwIfAborted();
  }

  /** A promise that rejects when the attempt times out. */
  #late(info: Attempt, timeoutMs: number): { readonly over: Promise<never>; readonly cancel: () => void } {
    const { world } = this.options.replay.session;
    let cancel = () => {};
    const over = new Promise<never>((_, reject) => {
      cancel = world.after(timeoutMs, () => {
        const error = new StepTimeout(this.title, timeoutMs);
        info.abort(error);
        reject(error);
      });
    });
    // The transaction may still wait for its connection while nothing awaits this promise; it must not end the process.
    over.catch(() => {});
    return { over, cancel };
  }

  #write(kind: string, payload: Payload): Promise<JournalEntry> {
    const { ahead, along, together } = this.options;
    const after = along?.(kind, payload);
    const others = { ahead: ahead?.(), along: after, inTransaction: together?.(kind) ?? undefined };
    return this.write(kind, payload, others);
  }
}

/**
 * Not a failure of user code: the claim is lost, the journal is not where this process expected it, or the run has
 * ended.
 */
function isEngineError(error: unknown): boolean {
  return error instanceof ClaimLost || error instanceof JournalMoved || error instanceof RunOver;
}
