// A step: user code that runs until its result, or its last failure, stands in the journal.

import { ClaimLost } from "../kernel/claim.js";
import type { Codecs } from "../kernel/codecs.js";
import type { AppendEffect } from "../kernel/effect.js";
import { HoldfastError } from "../kernel/error.js";
import { decodeError, type StoredError } from "../kernel/recorded-error.js";
import { attemptsLeft, type RetryPolicy, retryDelayMs } from "../kernel/retry.js";
import { storeError } from "../kernel/stored-error.js";
import { sleep } from "../kernel/world.js";
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

export interface StepCallOptions {
  readonly kind?: "step" | "value";
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
    this.#work().catch((error) => this.#options.replay.fail(error));
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
    const { replay, policy, codecs, id, kind = "step" } = this.#options;
    for (let failures = replay.recorded.tries.get(id) ?? 0; ; ) {
      const result = await this.#attempt(failures + 1);
      if ("payload" in result) return this.#write(kind, result.payload);
      failures++;
      if (result.error instanceof ClaimLost) throw result.error;
      const payload = storeError(codecs, result.error);
      if (result.error instanceof PermanentError || attemptsLeft(policy, failures) <= 0) {
        return this.#write("step.failed", payload);
      }
      await this.#commit("step.tried", payload);
      const { world, signal } = replay.session;
      await sleep(
        world,
        retryDelayMs(policy, failures, () => world.random()),
        signal,
      );
    }
  }

  async #attempt(attempt: number) {
    const { replay, work, codecs, name, key } = this.#options;
    const { run, signal } = replay.session;
    const info = {
      idempotencyKey: `${run.runId}:${run.generation}:${name}:${key}`,
      fence: BigInt(run.epoch),
      attempt,
      signal,
    };
    try {
      return { payload: codecs.encode(await work(info), `result of ${this.title}`) };
    } catch (error) {
      return { error };
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
