// What a workflow's function is given: every call is answered from the journal, or made and recorded.

import type { Codecs } from "../kernel/codecs.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { stepName, waitName } from "../kernel/name.js";
import { type Retry, retryPolicy } from "../kernel/retry.js";
import { callId } from "../replay/recorded.js";
import type { Replay } from "../replay/replay.js";
import type { Signal } from "./signal.js";
import { StepCall, type StepInfo } from "./step-call.js";
import { WaitCall } from "./wait-call.js";

export interface StepOptions {
  /** Tells steps of one name apart. Default: which time it is asked for. */
  readonly key?: string;
  /** Attempts in total, or a policy. Default 3, exponential from 1 s. */
  readonly retry?: Retry;
}

export interface Context {
  readonly runId: string;
  /** Does something once: its result is recorded, and never asked for again. */
  step<T>(name: string, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  step<T>(name: string, options: StepOptions, work: (step: StepInfo) => T | Promise<T>): Promise<T>;
  /** Holds no slot and no lease while it sleeps. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** The next message of this signal, also when it came before. With a timeout, undefined when none came in time. */
  waitFor<T>(signal: Signal<T>): Promise<T>;
  waitFor<T>(signal: Signal<T>, options: { readonly timeout: Duration }): Promise<T | undefined>;
  /** Recorded, so that they are the same when the function runs again. */
  now(): Promise<Date>;
  random(): Promise<number>;
  uuid(): Promise<string>;
}

export function createContext(replay: Replay, codecs: Codecs): Context {
  const occurrences = new Map<string, number>();
  const { session } = replay;

  function nextKey(kind: string, name: string): string {
    const place = `${kind} ${name}`;
    const n = (occurrences.get(place) ?? 0) + 1;
    occurrences.set(place, n);
    return String(n);
  }

  function identify(kind: string, name: string, key?: string) {
    const used = key ?? nextKey(kind, name);
    const id = callId(kind, name, used);
    if (replay.has(id)) {
      throw new InvalidInput(
        `${kind} ${JSON.stringify(name)}`,
        `key ${JSON.stringify(used)} is used twice in this run`,
      );
    }
    return { id, key: used };
  }

  function step<T>(
    name: string,
    ...rest: [(step: StepInfo) => T | Promise<T>] | [StepOptions, (step: StepInfo) => T | Promise<T>]
  ): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    stepName(name, "step");
    const policy = retryPolicy(options.retry, `step ${JSON.stringify(name)}`);
    return new Promise<T>((resolve, reject) => {
      const { id, key } = identify("step", name, options.key);
      replay.ask(new StepCall({ id, name, key, policy, work, replay, codecs, resolve, reject }));
    });
  }

  function value<T>(name: string, draw: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { id, key } = identify("value", name);
      const call = { id, name, key, work: async () => draw(), replay, codecs, resolve, reject, kind: "value" as const };
      replay.ask(new StepCall({ ...call, policy: retryPolicy(1) }));
    });
  }

  return {
    runId: session.run.runId,
    step,
    sleep: (name, duration) =>
      new Promise<void>((resolve, reject) => {
        const timeoutMs = toMs(duration, `sleep ${JSON.stringify(waitName(name, "sleep"))}`);
        const { id, key } = identify("sleep", name);
        replay.ask(
          new WaitCall({ kind: "sleep", id, name, key, timeoutMs, replay, codecs, resolve: () => resolve(), reject }),
        );
      }),
    waitFor: <T>(signal: Signal<T>, options?: { readonly timeout: Duration }) =>
      new Promise<T>((resolve, reject) => {
        const { name } = signal;
        const timeoutMs = options ? toMs(options.timeout, `waitFor ${JSON.stringify(name)}`) : null;
        const { id, key } = identify("wait", name);
        const tell = (payload: unknown) => resolve(payload as T);
        replay.ask(new WaitCall({ kind: "wait", id, name, key, timeoutMs, replay, codecs, resolve: tell, reject }));
      }),
    now: () => value("now", () => new Date(session.world.wallNow())),
    random: () => value("random", () => session.world.random()),
    uuid: () => value("uuid", () => session.world.token()),
  };
}
