// The verbs of a workflow's context: each becomes one call or several.

import type { Codecs } from "../kernel/codec/codecs.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput, LimitExceeded } from "../kernel/error.js";
import { newLimits } from "../kernel/limit-rule.js";

import { outputKey, stepName, waitName } from "../kernel/name.js";
import { omit } from "../kernel/omit.js";
import { type AttributeChanges, attributeChangesOf } from "../kernel/run/attribute.js";

import type { Definition } from "../program/definition.js";
import type { NewChild, RunWrites, Services } from "../program/environment.js";
import { parseInputNow } from "../program/parse-input.js";
import type { StartArguments, StartOptions } from "../program/start-options.js";
import { type Answer, ApprovalCall, checkQuestion } from "../replay/approval-call.js";
import type { Call } from "../replay/call.js";
import { ChildCall } from "../replay/child-call.js";
import { race } from "../replay/race.js";
import { callId } from "../replay/recorded.js";
import type { Replay } from "../replay/replay.js";
import type { Signal } from "../replay/signal.js";
import { WaitCall } from "../replay/wait-call.js";
import type { Emitted } from "../trigger/emitted.js";
import type { EventType } from "../trigger/event.js";
import { cleanUp } from "./cleaning-up.js";
import type {
  ApprovalOptions,
  ChildOptions,
  CompensationOptions,
  Context,
  Decision,
  Output,
  OutputOptions,
  Winner,
} from "./context.js";
import { NO_OPTIONS, rulesOf } from "./step-rules.js";
import { quiet, type TransactionWork, type Work, WorkflowCalls } from "./workflow-calls.js";

/** What the node provides to a session. */
export interface Surroundings {
  readonly codecs: Codecs;
  readonly newChild: NewChild;
  readonly writes: RunWrites;
  readonly services: Services;
  /** Number of earlier calls by kind and name, from which default keys continue. Updated in place. */
  readonly asked?: Map<string, number>;
}

export class WorkflowContext extends WorkflowCalls implements Context {
  readonly runId: string;
  readonly generation: number;
  readonly services: Services;
  readonly #newChild: NewChild;
  readonly #writes: RunWrites;
  #patches: Map<string, Promise<boolean>> | null = null;

  constructor(replay: Replay, { codecs, newChild, writes, services, asked }: Surroundings) {
    super(replay, codecs, asked);
    this.runId = replay.session.run.runId;
    this.generation = replay.session.run.generation;
    this.services = services;
    this.#newChild = newChild;
    this.#writes = writes;
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#sleep(name, toMs(duration, `sleep ${JSON.stringify(name)}`));
  }

  sleepUntil(name: string, when: Date): Promise<void> {
    const path = `sleepUntil ${JSON.stringify(name)}`;
    if (!(when instanceof Date) || Number.isNaN(when.getTime())) throw new InvalidInput(path, "must be a valid Date");
    return this.#sleep(name, Math.max(when.getTime() - this.replay.session.databaseNow(), 0));
  }

  waitFor<T>({ name }: Signal<T>, options?: { readonly timeout: Duration }): Promise<T> {
    const timeoutMs = options ? toMs(options.timeout, `waitFor ${JSON.stringify(name)}`) : null;
    return this.call<T>(
      "wait",
      name,
      undefined,
      (call) => new WaitCall({ ...call, kind: "wait", timeoutMs, resolve: (payload) => call.resolve(payload as T) }),
    );
  }

  approval<const Choices extends readonly string[] = ["approved", "denied"]>(
    name: string,
    { ask, choices, to, timeout, plan, default: otherwise }: ApprovalOptions<Choices>,
  ): Promise<Decision<Choices[number]>> {
    const shown = { ask, choices: choices ?? ["approved", "denied"], to: to ?? null, otherwise: otherwise ?? null };
    const question = plan === undefined ? shown : { ...shown, plan };
    const path = `approval ${JSON.stringify(name)}`;
    checkQuestion(question, path);
    const timeoutMs = timeout === undefined ? null : toMs(timeout, path);
    return this.call<Decision<Choices[number]>>("approval", waitName(name, "approval"), undefined, (call) => {
      const resolve = (answer: Answer) => call.resolve(answer as Decision<Choices[number]>);
      return new ApprovalCall({ ...call, question, timeoutMs, resolve });
    });
  }

  child<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    input: In,
    options?: ChildOptions,
  ): Promise<Out> {
    const children = this.children(program, [input], options);
    const only = children.then(([output]) => output!);
    return this.waitsFor(only, this.callsOf(children)!);
  }

  children<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    inputs: readonly In[],
    { onParentEnd = "cancel" }: ChildOptions = {},
  ): Promise<Out[]> {
    const calls: Call[] = [];
    const start = async () => {
      let left = inputs.length;
      const parsed = inputs.map((input) => parseInputNow(program, input));
      const outputs = parsed.map((input) =>
        this.call<Out>("child", program.name, undefined, (call) => {
          // A missing key for a limit throws here, where the caller can catch it, before anything is written.
          newLimits(program.limits, program.queue, input);
          const newRun = () => this.#newChild(program, input);
          const resolve = (output: unknown) => call.resolve(output as Out);
          const isAbandoned = onParentEnd === "abandon";
          const child = new ChildCall({ ...call, newRun, groupLeft: () => left, isAbandoned, resolve });
          calls.push(child);
          return child;
        }).finally(() => {
          left--;
        }),
      );
      return Promise.all(outputs);
    };
    return this.waitsFor(start(), calls);
  }

  race<const Branches extends Readonly<Record<string, Promise<unknown>>>>(
    branches: Branches,
  ): Promise<Winner<Branches>> {
    const { promise, calls } = race(this.replay, branches, (branch) => this.callsOf(branch));
    return this.waitsFor(promise as Promise<Winner<Branches>>, calls);
  }

  onCancel(name: string, ...rest: [Work<unknown>] | [CompensationOptions, Work<unknown>]): () => void {
    const [options, compensate] = rest.length === 1 ? [NO_OPTIONS, rest[0]] : rest;
    stepName(name, "onCancel");
    rulesOf(options, `onCancel ${JSON.stringify(name)}`);
    const key = `onCancel:${this.nextKey("onCancel", name)}`;
    const run = () => this.cleanup(() => this.work("step", name, { ...options, key }, compensate));
    return this.replay.cancellation?.register({ name, run }) ?? (() => {});
  }

  cleanup<T>(work: () => T | Promise<T>): Promise<T> {
    const { cancellation } = this.replay;
    const done = cleanUp(this.replay, work);
    done.catch((error) => cancellation?.cleanupFailed(error));
    return done;
  }

  start<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    ...[input, options = {}]: StartArguments<In, Omit<StartOptions, "tx">>
  ): Promise<{ readonly id: string }> {
    const parsed = parseInputNow(program, input);
    return this.#write(`start ${program.name}`, async (tx) => ({
      id: await this.#writes.start(program, parsed, omit(options as StartOptions, "tx"), tx),
    }));
  }

  emit<Name extends string, Payload extends object>(
    type: EventType<Name, Payload>,
    payload: NoInfer<Payload>,
    options: { readonly id?: string } = {},
  ): Promise<Emitted> {
    return this.#write(`emit ${type.name}`, (tx, { idempotencyKey }) =>
      this.#writes.emit(type.name, payload, options.id ?? idempotencyKey, tx),
    );
  }

  output<T>(key: string, ...rest: [Work<T>] | [OutputOptions, Work<T>]): Promise<Output<T>> {
    const [{ keep = A_YEAR, timeout }, deliver] = rest.length === 1 ? [{} as OutputOptions, rest[0]] : rest;
    const name = `output ${outputKey(key)}`;
    const keepMs = toMs(keep, `keep of ${JSON.stringify(name)}`);
    const rules = { atMostOnce: true, finishOnAbort: true, ...(timeout !== undefined && { timeout }) };
    const { runId } = this;
    const taken = this.transaction(name, { retry: TAKE_AGAIN }, (tx, { idempotencyKey: call }) =>
      this.#writes.takeOutput({ key, runId, call, keepMs }, tx),
    );
    const delivered = taken.then(async (by): Promise<Output<T>> => {
      if (by !== null) return { outcome: "duplicate", by };
      return { outcome: "delivered", value: await this.work("step", name, rules, deliver) };
    });
    return quiet(delivered);
  }

  set(name: string, value: unknown): Promise<void> {
    const { data } = this.codecs.encode(value, `value of ${JSON.stringify(name)}`);
    if (data.length > LONGEST_VALUE)
      throw new LimitExceeded(`set ${name}`, "the length of a value", LONGEST_VALUE, data.length);
    return quiet(this.value("set", stepName(name, "set"), () => value).then(() => {}));
  }

  setAttributes(attributes: AttributeChanges): Promise<void> {
    attributeChangesOf(attributes);
    return this.#write("attributes", (tx) => this.#writes.setAttributes(this.runId, attributes, tx));
  }

  /** What is written elsewhere and its journal entry are committed together. An error of the write itself is final. */
  #write<T>(name: string, work: TransactionWork<T>): Promise<T> {
    return this.transaction(name, { retry: 1 }, work);
  }

  progress(value: unknown): Promise<void> {
    return quiet(this.value("progress", "progress", () => value).then(() => {}));
  }

  now(): Promise<Date> {
    return this.value("value", "now", () => new Date(this.replay.session.databaseNow()));
  }

  random(): Promise<number> {
    return this.value("value", "random", () => this.replay.session.world.random());
  }

  uuid(): Promise<string> {
    return this.value("value", "uuid", () => this.replay.session.world.token());
  }

  continueAsNew(input: unknown): Promise<never> {
    const cancelled = this.replay.cancellation?.raised;
    if (cancelled) return quiet(Promise.reject(cancelled));
    this.replay.continueAsNew(this.codecs.encode(input, "input of continueAsNew"));
    return new Promise<never>(() => {});
  }

  patched(change: string): Promise<boolean> {
    this.#patches ??= new Map();
    let answer = this.#patches.get(change);
    if (!answer) {
      const old =
        !this.replay.isRecorded(callId("patched", stepName(change, "patched"), "1")) && this.replay.catchingUp;
      answer = old ? Promise.resolve(false) : this.value("patched", change, () => true);
      this.#patches.set(change, answer);
    }
    return answer;
  }

  #sleep(name: string, timeoutMs: number): Promise<void> {
    return this.call<void>(
      "sleep",
      waitName(name, "sleep"),
      undefined,
      (call) => new WaitCall({ ...call, kind: "sleep", timeoutMs, resolve: () => call.resolve() }),
    );
  }
}

const A_YEAR = "365d";
/** Of two runs of a memory store that take a key at the same time, one has to repeat it. */
const TAKE_AGAIN = { attempts: 10, delay: 10, maxDelay: 100 } as const;
/** Of what `run.get` reads, encoded. */
const LONGEST_VALUE = 8 * 1024;
