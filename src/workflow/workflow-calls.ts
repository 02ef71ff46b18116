// The calls of one session: each gets its identity and is passed to the replay.

import type { Codecs } from "../kernel/codec/codecs.js";
import { InvalidInput } from "../kernel/error.js";
import { stepName } from "../kernel/name.js";
import { retryPolicy } from "../kernel/run/retry.js";
import type { Call } from "../replay/call.js";
import { callId } from "../replay/recorded.js";
import type { CallOptions } from "../replay/recorded-call.js";
import type { Replay } from "../replay/replay.js";
import { StepCall, type StepInfo } from "../replay/step-call.js";
import type { StepTransactionClient, Transaction } from "../store/contract/transaction.js";
import { isCleaningUp } from "./cleaning-up.js";
import type { StepOptions, TransactionOptions } from "./context.js";
import { NO_OPTIONS, PLAIN, rulesOf } from "./step-rules.js";

export type Work<T> = (step: StepInfo) => T | Promise<T>;
export type TransactionWork<T> = (tx: StepTransactionClient, step: StepInfo) => T | Promise<T>;

export interface NewCall<T> extends CallOptions {
  readonly resolve: (value: T) => void;
}

/** What a promise of the context waits for, for a race. On the promise itself: a WeakMap costs every step. */
const CALLS = Symbol("calls");

export class WorkflowCalls {
  protected readonly replay: Replay;
  protected readonly codecs: Codecs;
  /** Number of calls by kind and name: the default key. */
  readonly #asked: Map<string, number>;

  constructor(replay: Replay, codecs: Codecs, asked: Map<string, number> = new Map()) {
    this.replay = replay;
    this.codecs = codecs;
    this.#asked = asked;
  }

  step<T>(name: string, first: Work<T> | StepOptions, second?: Work<T>): Promise<T> {
    if (second === undefined) return this.work("step", name, NO_OPTIONS, first as Work<T>);
    return this.work("step", name, first as StepOptions, second);
  }

  transaction<T>(name: string, ...rest: [TransactionWork<T>] | [TransactionOptions, TransactionWork<T>]): Promise<T> {
    const [options, work] = rest.length === 1 ? [NO_OPTIONS, rest[0]] : rest;
    return this.work("transaction", name, options, (step, tx) => work(tx as StepTransactionClient, step));
  }

  protected work<T>(
    kind: "step" | "transaction",
    name: string,
    options: StepOptions,
    work: (step: StepInfo, tx: Transaction | null) => T | Promise<T>,
  ): Promise<T> {
    stepName(name, kind);
    const rules = options === NO_OPTIONS ? PLAIN : rulesOf(options, `${kind} ${JSON.stringify(name)}`);
    const { policy, timeoutMs, atMostOnce, finishOnAbort, retryIf } = rules;
    // Written out: copied from two objects, a step's options took a twelfth of its time.
    return this.call<T>(
      kind,
      name,
      options.key,
      ({ id, key, replay, codecs, isCleanup, resolve, reject }) =>
        new StepCall({
          id,
          name,
          key,
          replay,
          codecs,
          isCleanup,
          resolve,
          reject,
          kind,
          work,
          policy,
          timeoutMs,
          atMostOnce,
          finishOnAbort,
          retryIf,
        }),
    );
  }

  protected value<T>(kind: "value" | "progress" | "patched" | "set", name: string, work: () => T): Promise<T> {
    return this.call<T>(kind, name, undefined, (call) => new StepCall({ ...call, kind, work, policy: retryPolicy(1) }));
  }

  /** A call is identified by kind, name and key; two calls with the same identity would share one journal entry. */
  protected call<T>(
    kind: string,
    name: string,
    key: string | undefined,
    newCall: (call: NewCall<T>) => Call,
  ): Promise<T> {
    let made: Call | null = null;
    const promise = new Promise<T>((resolve, reject) => {
      const used = key ?? this.nextKey(kind, name);
      const id = callId(kind, name, used);
      if (this.replay.has(id)) {
        const path = `${kind} ${JSON.stringify(name)}`;
        throw new InvalidInput(path, `the key ${JSON.stringify(used)} is used twice in this run`);
      }
      const isCleanup = isCleaningUp(this.replay);
      made = newCall({ id, name, key: used, replay: this.replay, codecs: this.codecs, isCleanup, resolve, reject });
      this.replay.ask(made);
    });
    return made ? this.waitsFor(promise, [made]) : quiet(promise);
  }

  /** Remembers what a promise waits for. */
  protected waitsFor<T>(promise: Promise<T>, calls: readonly Call[]): Promise<T> {
    (promise as { [CALLS]?: readonly Call[] })[CALLS] = calls;
    return quiet(promise);
  }

  protected callsOf(promise: Promise<unknown>): readonly Call[] | undefined {
    return (promise as { [CALLS]?: readonly Call[] })[CALLS];
  }

  protected nextKey(kind: string, name: string): string {
    const place = `${kind} ${name}`;
    const n = (this.#asked.get(place) ?? 0) + 1;
    this.#asked.set(place, n);
    return String(n);
  }
}

/** A rejection that is not awaited, yet or ever, must not end the process with all runs of the node. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
