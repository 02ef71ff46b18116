// A step: user code that is tried until its result, or its last failure, is in the journal.

import { JournalMoved } from "../engine/committer.js";
import type { StepFacts } from "../engine/events.js";
import { NodeStopping } from "../engine/node-stopping.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type StoredError } from "../kernel/codec/recorded-error.js";
import { storeError, tamed } from "../kernel/codec/stored-error.js";
import { HoldfastError } from "../kernel/error.js";
import { ClaimLost } from "../kernel/run/claim.js";
import type { AppendEffect, Effect } from "../kernel/run/effect.js";
import { attemptsLeft, type RetryPolicy, retryDelayMs, spread } from "../kernel/run/retry.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Transaction } from "../store/contract/transaction.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { Call } from "./call.js";
import type { CallId } from "./recorded.js";
import { type Replay, RunOver } from "./replay.js";

export interface StepInfo {
  /** The same for every attempt of this step, on every node: pass it to outside systems. */
  readonly idempotencyKey: string;
  /** Rises with every takeover: an outside system can reject calls with an older one. */
  readonly fence: bigint;
  readonly attempt: number;
  /** Aborts when the claim is lost or the node's grace period ends. */
  readonly signal: AbortSignal;
}

/** Throw it in a step when another attempt is useless. */
export class PermanentError extends HoldfastError {
  readonly code: string = "PERMANENT";
}

/** The step had no result within its timeout; its late result is ignored. */
export class StepTimeout extends HoldfastError {
  readonly code = "STEP_TIMEOUT";

  constructor(title: string, ms: number) {
    super(`${title} had no result within ${ms} ms.`);
  }
}

/** An at-most-once step was begun and its node died or stopped: its outcome is unknown, and it is not tried again. */
export class StepInterrupted extends PermanentError {
  override readonly code = "STEP_INTERRUPTED";

  constructor(title: string) {
    super(
      `${title} was begun on a node that died or stopped. It may have taken effect; an at-most-once step is not repeated.`,
    );
  }
}

/** A longer back-off releases the claim; a shorter one is waited out in place. */
const LONGEST_LINGER_MS = 5_000;

export interface StepCallOptions {
  readonly kind: "step" | "transaction" | "value" | "progress" | "patched" | "checkpoint" | "node" | "item";
  readonly timeoutMs?: number | null;
  /** Recorded before it runs, and never run again once begun. */
  readonly atMostOnce?: boolean;
  /** A result that arrives after the abort counts. */
  readonly finishOnAbort?: boolean;
  readonly id: CallId;
  readonly name: string;
  readonly key: string;
  readonly policy: RetryPolicy;
  /** Which errors are worth another attempt. */
  readonly retryIf?: (error: unknown) => boolean;
  /** Turns the last failure into a result; undefined keeps the failure. */
  readonly rescue?: (error: StoredError) => unknown;
  /** Effects written in the same commit, before the step's entry. */
  readonly ahead?: () => readonly Effect[];
  /** Effects written in the same commit, after the entry of this kind with this payload. */
  readonly along?: (kind: string, payload: Payload) => readonly Effect[];
  /** Called with a transaction if the kind is one: its statements and the result are committed together. */
  readonly work: (info: StepInfo, tx: Transaction | null) => unknown;
  readonly replay: Replay;
  readonly codecs: Codecs;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

interface Failure {
  readonly error: unknown;
  /** The work succeeded but its result cannot be recorded: another attempt would not change that. */
  readonly unstorable: boolean;
}

/** Already written, to be written, or failed. */
type Attempted = { readonly entry: JournalEntry } | { readonly payload: Payload } | Failure;

export class StepCall implements Call {
  readonly id: CallId;
  /** When the next attempt is due. */
  deadline: number | null = null;
  lingers = false;
  started = false;
  running = false;
  #failures = 0;
  readonly #options: StepCallOptions;

  constructor(options: StepCallOptions) {
    this.id = options.id;
    this.#options = options;
  }

  get title(): string {
    return `${this.#options.kind} ${JSON.stringify(this.#options.name)}`;
  }

  /** For `patched`: its value depends on whether the journal continues beyond this call. */
  get first(): boolean {
    return this.#options.kind === "patched";
  }

  start(): void {
    this.started = true;
    const tries = this.#options.replay.recorded.tries.get(this.id);
    this.#failures = tries?.count ?? 0;
    if (tries) this.#backOff(tries.last);
    else this.#go();
  }

  /** The back-off has passed. */
  expire(): void {
    this.deadline = null;
    this.lingers = false;
    this.#go();
  }

  /** Always decodes the stored form, the first time too, so that user code sees the same values after a crash. */
  deliver({ kind, payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve, reject } = this.#options;
    const value = payload ? codecs.decode(payload) : undefined;
    if (kind.endsWith(".failed")) reject(decodeError(value as StoredError));
    else resolve(value as never);
  }

  #go(): void {
    this.running = true;
    const { replay } = this.#options;
    this.#work().catch((error) => {
      if (!(error instanceof NodeStopping)) return replay.fail(error);
      // The step ended without a result, and nothing is recorded: the next holder starts it again.
      this.running = false;
      replay.wake();
    });
  }

  /** Makes one attempt and handles its outcome. */
  async #work(): Promise<void> {
    const { replay, codecs, kind, atMostOnce = false } = this.#options;
    replay.gate.expectOpen();
    if (atMostOnce) {
      if (replay.recorded.begun.has(this.id))
        return this.#end(await this.#write(`${kind}.failed`, storeError(codecs, new StepInterrupted(this.title))));
      await this.#write(`${kind}.begun`, codecs.encode(null));
    }
    // A node that could not renew its lease starts nothing new: another node may already have done it.
    await replay.session.sure();
    replay.throwIfOver();
    replay.gate.expectOpen();
    const { bus, world } = replay.session;
    const facts = this.#facts();
    const startedAt = world.monotonicNow();
    if (facts) bus.emit("step.started", facts);
    const result = await this.#heldAttempt(this.#failures + 1, atMostOnce);
    if ("error" in result) return this.#failed(result, facts);
    this.#end("entry" in result ? result.entry : await this.#write(kind, result.payload));
    if (facts) bus.emit("step.completed", { ...facts, ms: world.monotonicNow() - startedAt });
  }

  /** A store failure inside the step's function is not the step's failure: the attempt is repeated and counts once. */
  async #heldAttempt(attempt: number, atMostOnce: boolean): Promise<Attempted> {
    const { replay } = this.#options;
    const { session } = replay;
    for (let tries = 1; ; tries++) {
      const result = await this.#attempt(attempt);
      if (!("error" in result) || atMostOnce || !isStoreTrouble(result.error)) return result;
      if (session.stopping) throw new NodeStopping();
      await session.holdOut(this.title, result.error, tries, session.workSignal);
      await session.sure();
      replay.throwIfOver();
    }
  }

  async #failed({ error, unstorable }: Failure, facts: StepFacts | null): Promise<void> {
    const { replay, codecs, kind, atMostOnce = false } = this.#options;
    const { bus, workSignal } = replay.session;
    if (isOurs(error)) throw error;
    // An error caused by the abort of a stopping node is not a failure of the step.
    if (!atMostOnce) workSignal.throwIfAborted();
    if (kind === "transaction") replay.gate.expectOpen();
    this.#failures++;
    const payload = storeError(codecs, error);
    if (unstorable || this.#isLast(error)) {
      const rescued = this.#options.rescue?.(codecs.decode(payload) as StoredError);
      const isRescued = rescued !== undefined;
      this.#end(await this.#write(isRescued ? kind : `${kind}.failed`, isRescued ? codecs.encode(rescued) : payload));
      if (facts) bus.emit("step.failed", { ...facts, error });
    } else {
      const delayMs = this.#backOff(await this.#write(`${kind}.tried`, payload));
      if (facts) bus.emit("step.retried", { ...facts, error, delayMs });
    }
  }

  /** The facts reported to listeners about an attempt; null for values the library generates itself. */
  #facts(): StepFacts | null {
    const { replay, kind, name, key } = this.#options;
    if (kind === "value" || kind === "progress" || kind === "patched") return null;
    return { runId: replay.session.run.runId, step: name, key, attempt: this.#failures + 1 };
  }

  #isLast(error: unknown): boolean {
    const { policy, atMostOnce = false, retryIf } = this.#options;
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
    const { policy, replay } = this.#options;
    const delayMs = retryDelayMs(policy, this.#failures, () => spread(`${replay.session.run.runId}:${seq}`));
    this.running = false;
    this.deadline = at + delayMs;
    this.lingers = this.deadline - replay.session.databaseNow() <= LONGEST_LINGER_MS;
    replay.wake();
    return delayMs;
  }

  async #attempt(attempt: number): Promise<Attempted> {
    const { replay, work, codecs, name, key, kind, timeoutMs = null, finishOnAbort = false } = this.#options;
    const info = new Attempt(replay, `${kind}:${name.replaceAll("%", "%25").replaceAll(":", "%3A")}:${key}`, attempt);
    const late = timeoutMs === null ? null : this.#late(info, timeoutMs);
    let unstorable = false;
    const encoded = async (tx: Transaction | null) => {
      replay.gate.expectOpen();
      const working = (async () => replay.inStep(() => this.#perform(info, () => work(info, tx))))();
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
      return { entry: this.#entry(seq, kind, payload!) };
    } catch (error) {
      return { error: tamed(error), unstorable };
    } finally {
      late?.cancel();
    }
  }

  #perform<T>(info: StepInfo, work: () => T): T {
    const { replay, kind, name } = this.#options;
    const { world, run } = replay.session;
    return world.perform ? world.perform({ runId: run.runId, kind, name, info }, work) : work();
  }

  #expectWanted(): void {
    const { replay, atMostOnce = false } = this.#options;
    replay.throwIfOver();
    const { workSignal } = replay.session;
    if (atMostOnce && workSignal.aborted) throw new StepInterrupted(this.title);
    workSignal.throwIfAborted();
  }

  /** A promise that rejects when the attempt times out. */
  #late(info: Attempt, timeoutMs: number): { readonly over: Promise<never>; readonly cancel: () => void } {
    const { world } = this.#options.replay.session;
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

  #end(entry: JournalEntry): void {
    this.#options.replay.ended({ id: this.id, entry });
  }

  async #write(kind: string, payload: Payload): Promise<JournalEntry> {
    const { replay, name, key, ahead, along } = this.#options;
    const effect: AppendEffect = { kind: "append", entry: { kind, name, key, payload } };
    const more = along?.(kind, payload) ?? [];
    const { seq } = await replay.session.commit([...(ahead?.() ?? []), effect, ...more]);
    return this.#entry(seq - more.length, kind, payload);
  }

  #entry(seq: number, kind: string, payload: Payload): JournalEntry {
    const { replay, name, key } = this.#options;
    return { seq, epoch: replay.session.run.epoch, kind, name, key, payload, at: replay.session.databaseNow() };
  }
}

/** What a step's function receives. Its signal is created on first use: most steps never ask, and it is not cheap. */
class Attempt implements StepInfo {
  readonly idempotencyKey: string;
  readonly fence: bigint;
  readonly attempt: number;
  readonly #replay: Replay;
  #limit: AbortController | null = null;
  #signal: AbortSignal | null = null;
  #reason: unknown = null;

  constructor(replay: Replay, call: string, attempt: number) {
    const { runId, baseSeq, epoch } = replay.session.run;
    // The base sequence changes when the journal starts over; a run retried from `last` keeps its keys.
    this.idempotencyKey = `${runId}:${baseSeq}:${call}`;
    this.fence = BigInt(epoch);
    this.attempt = attempt;
    this.#replay = replay;
  }

  get signal(): AbortSignal {
    if (!this.#signal) {
      this.#limit = new AbortController();
      if (this.#reason !== null) this.#limit.abort(this.#reason);
      this.#signal = AbortSignal.any([this.#replay.signal, this.#limit.signal]);
    }
    return this.#signal;
  }

  /** Remembered, because an attempt that timed out may ask for its signal only later. */
  abort(reason: unknown): void {
    this.#reason = reason;
    this.#limit?.abort(reason);
  }
}

/**
 * Not a failure of user code: the claim is lost, the journal is not where this process expected it, or the run has
 * ended.
 */
function isOurs(error: unknown): boolean {
  return error instanceof ClaimLost || error instanceof JournalMoved || error instanceof RunOver;
}
