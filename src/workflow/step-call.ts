// A step: user code that runs until its result, or its last failure, stands in the journal.

import { NodeStopping } from "../engine/node-stopping.js";
import { ClaimLost } from "../kernel/claim.js";
import type { Codecs } from "../kernel/codecs.js";
import type { AppendEffect } from "../kernel/effect.js";
import { HoldfastError } from "../kernel/error.js";
import { decodeError, type StoredError } from "../kernel/recorded-error.js";
import { attemptsLeft, type RetryPolicy, retryDelayMs } from "../kernel/retry.js";
import { storeError } from "../kernel/stored-error.js";
import type { Call } from "../replay/call.js";
import type { CallId } from "../replay/recorded.js";
import type { Replay } from "../replay/replay.js";
import type { JournalEntry } from "../store/contract/journal.js";

export interface StepInfo {
  /** The same for every attempt of this step, on every node: pass it to outside systems. */
  readonly idempotencyKey: string;
  /** Rises with every takeover: an outside system can refuse what is older. */
  readonly fence: bigint;
  readonly attempt: number;
  /** Aborts when the claim is lost or the node has no more time. */
  readonly signal: AbortSignal;
}

/** Throw it in a step when trying again is useless. */
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

/** An at-most-once step was begun and its node died: whether it happened is unknown, and it is not tried again. */
export class StepInterrupted extends PermanentError {
  override readonly code = "STEP_INTERRUPTED";

  constructor(title: string) {
    super(
      `${title} was begun on a node that is gone. It may have happened; as an at-most-once step it is not repeated.`,
    );
  }
}

export interface StepCallOptions {
  readonly kind?: "step" | "value" | "progress";
  readonly timeoutMs?: number | null;
  /** Recorded before it runs, and never run again once begun. */
  readonly atMostOnce?: boolean;
  readonly id: CallId;
  readonly name: string;
  readonly key: string;
  readonly policy: RetryPolicy;
  readonly work: (info: StepInfo) => unknown;
  readonly replay: Replay;
  readonly codecs: Codecs;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export class StepCall implements Call {
  readonly id: CallId;
  readonly deadline = null;
  started = false;
  running = false;
  readonly #options: StepCallOptions;

  constructor(options: StepCallOptions) {
    this.id = options.id;
    this.#options = options;
  }

  get title(): string {
    return `${this.#options.kind ?? "step"} ${JSON.stringify(this.#options.name)}`;
  }

  start(): void {
    this.started = true;
    this.running = true;
    const { replay } = this.#options;
    this.#work().catch((error) => {
      if (!(error instanceof NodeStopping)) return replay.fail(error);
      // It has ended without a result, and nothing is recorded: the next holder begins it anew.
      this.running = false;
      replay.poke();
    });
  }

  expire(): void {}

  /** The decoded value or error, the first time too: what user code sees never depends on a crash. */
  tell({ kind, payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve, reject } = this.#options;
    const value = payload ? codecs.decode(payload) : undefined;
    if (kind === "step.failed") reject(decodeError(value as StoredError));
    else resolve(value as never);
  }

  async #work(): Promise<void> {
    const { replay, policy, codecs, id, kind = "step", atMostOnce = false } = this.#options;
    if (atMostOnce) {
      if (replay.recorded.begun.has(id))
        return this.#write("step.failed", storeError(codecs, new StepInterrupted(this.title)));
      await this.#commit("step.begun", codecs.encode(null));
    }
    for (let failures = replay.recorded.tries.get(id) ?? 0; ; ) {
      // A node that could not renew starts nothing new: somebody else may have done it already.
      await replay.session.sure();
      replay.signal.throwIfAborted();
      const result = await this.#attempt(failures + 1);
      if ("payload" in result) return this.#write(kind, result.payload);
      failures++;
      if (result.error instanceof ClaimLost) throw result.error;
      // What the abort of a stopping node does to a step is no failure of the step.
      if (!atMostOnce) replay.session.workSignal.throwIfAborted();
      const payload = storeError(codecs, result.error);
      if (atMostOnce || result.error instanceof PermanentError || attemptsLeft(policy, failures) <= 0) {
        return this.#write("step.failed", payload);
      }
      await this.#commit("step.tried", payload);
      const { world } = replay.session;
      const delayMs = retryDelayMs(policy, failures, () => world.random());
      await replay.session.pause(delayMs, replay.signal);
    }
  }

  async #attempt(attempt: number) {
    const { replay, work, codecs, name, key, timeoutMs = null } = this.#options;
    const { run, world } = replay.session;
    const limit = new AbortController();
    const idempotencyKey = `${run.runId}:${run.generation}:${name}:${key}`;
    const signal = AbortSignal.any([replay.signal, limit.signal]);
    let cancelTimer = () => {};
    try {
      const working = (async () => work({ idempotencyKey, fence: BigInt(run.epoch), attempt, signal }))();
      const late = new Promise<never>((_, reject) => {
        if (timeoutMs === null) return;
        cancelTimer = world.after(timeoutMs, () => {
          const error = new StepTimeout(this.title, timeoutMs);
          limit.abort(error);
          reject(error);
        });
      });
      return { payload: codecs.encode(await Promise.race([working, late]), `result of ${this.title}`) };
    } catch (error) {
      return { error };
    } finally {
      cancelTimer();
    }
  }

  async #write(kind: string, payload: { codec: string; data: string }): Promise<void> {
    const entry = await this.#commit(kind, payload);
    this.#options.replay.ended({ id: this.id, entry });
  }

  async #commit(kind: string, payload: { codec: string; data: string }): Promise<JournalEntry> {
    const { replay, name, key } = this.#options;
    const effect: AppendEffect = { kind: "append", entry: { kind, name, key, payload } };
    const { seq } = await replay.session.commit([effect]);
    return { seq, epoch: replay.session.run.epoch, kind, name, key, payload, at: replay.session.databaseNow() };
  }
}
