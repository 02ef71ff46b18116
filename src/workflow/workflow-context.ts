// The context of one round of work: gives every call its identity and hands it to the replay.

import type { Codecs } from "../kernel/codecs.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { newLimits } from "../kernel/limit-rule.js";
import { stepName, waitName } from "../kernel/name.js";
import type { NewRun } from "../kernel/new-run.js";
import { retryPolicy } from "../kernel/retry.js";
import { callId } from "../replay/recorded.js";
import type { Replay } from "../replay/replay.js";
import { ApprovalCall, type DecisionPayload } from "./approval-call.js";
import { ChildCall } from "./child-call.js";
import type { AnyWorkflow, ApprovalOptions, Context, Decision, StepOptions, Workflow } from "./context.js";
import type { Signal } from "./signal.js";
import { StepCall, type StepInfo } from "./step-call.js";
import { WaitCall } from "./wait-call.js";

/** Makes the run of a child in the parent's world: its env, stack and limits. */
export type NewChild = (workflow: AnyWorkflow, input: unknown) => Omit<NewRun, "key" | "parentId">;

type Work<T> = (step: StepInfo) => T | Promise<T>;

export class WorkflowContext implements Context {
  readonly runId: string;
  readonly #replay: Replay;
  readonly #codecs: Codecs;
  readonly #newChild: NewChild;
  /** How often each kind and name was asked for: the default key. */
  readonly #asked = new Map<string, number>();

  constructor(replay: Replay, codecs: Codecs, newChild: NewChild) {
    this.runId = replay.session.run.runId;
    this.#replay = replay;
    this.#codecs = codecs;
    this.#newChild = newChild;
  }

  step<T>(name: string, ...rest: [Work<T>] | [StepOptions, Work<T>]): Promise<T> {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest;
    const path = `step ${JSON.stringify(stepName(name, "step"))}`;
    const policy = retryPolicy(options.retry, path);
    const timeoutMs = options.timeout === undefined ? null : toMs(options.timeout, path);
    const { atMostOnce = false } = options;
    return this.#call("step", name, options.key, (call) =>
      this.#replay.ask(new StepCall({ ...call, policy, work, timeoutMs, atMostOnce })),
    );
  }

  sleep(name: string, duration: Duration): Promise<void> {
    return this.#sleep(name, toMs(duration, `sleep ${JSON.stringify(name)}`));
  }

  sleepUntil(name: string, when: Date): Promise<void> {
    return this.#sleep(name, Math.max(when.getTime() - this.#replay.session.databaseNow(), 0));
  }

  waitFor<T>({ name }: Signal<T>, options?: { readonly timeout: Duration }): Promise<T> {
    const timeoutMs = options ? toMs(options.timeout, `waitFor ${JSON.stringify(name)}`) : null;
    return this.#call("wait", name, undefined, (call) =>
      this.#replay.ask(
        new WaitCall({ ...call, kind: "wait", timeoutMs, resolve: (payload) => call.resolve(payload as T) }),
      ),
    );
  }

  approval<const Choices extends readonly string[] = ["approve", "deny"]>(
    name: string,
    { ask, choices, to, timeout }: ApprovalOptions<Choices>,
  ): Promise<Decision<Choices[number]>> {
    const question = { ask, choices: choices ?? ["approve", "deny"], to: to ?? null };
    const timeoutMs = timeout === undefined ? null : toMs(timeout, `approval ${JSON.stringify(name)}`);
    return this.#call<Decision<Choices[number]>>("approval", waitName(name, "approval"), undefined, (call) => {
      const resolve = (made: DecisionPayload | null) =>
        call.resolve(made ? { outcome: "decided", ...made } : { outcome: "expired" });
      this.#replay.ask(new ApprovalCall({ ...call, question, timeoutMs, resolve }));
    });
  }

  async child<In, Out>(workflow: Workflow<string, In, Out>, input: In): Promise<Out> {
    return (await this.children(workflow, [input]))[0]!;
  }

  children<In, Out>(workflow: Workflow<string, In, Out>, inputs: readonly In[]): Promise<Out[]> {
    let left = inputs.length;
    const calls = inputs.map((input) =>
      this.#call<Out>("child", workflow.name, undefined, (call) => {
        // An input without the key that a limit goes by is the caller's to catch, and nothing is written.
        newLimits(workflow.limits, workflow.queue, input);
        const newRun = () => this.#newChild(workflow, input);
        const resolve = (output: unknown) => call.resolve(output as Out);
        this.#replay.ask(new ChildCall({ ...call, newRun, groupLeft: () => left, resolve }));
      }).finally(() => {
        left--;
      }),
    );
    return Promise.all(calls);
  }

  async progress(value: unknown): Promise<void> {
    await this.#value("progress", "progress", () => value);
  }

  now(): Promise<Date> {
    return this.#value("value", "now", () => new Date(this.#replay.session.databaseNow()));
  }

  random(): Promise<number> {
    return this.#value("value", "random", () => this.#replay.session.world.random());
  }

  uuid(): Promise<string> {
    return this.#value("value", "uuid", () => this.#replay.session.world.token());
  }

  #value<T>(kind: "value" | "progress", name: string, work: () => T): Promise<T> {
    return this.#call(kind, name, undefined, (call) =>
      this.#replay.ask(new StepCall({ ...call, kind, work, policy: retryPolicy(1) })),
    );
  }

  #sleep(name: string, timeoutMs: number): Promise<void> {
    return this.#call<void>("sleep", waitName(name, "sleep"), undefined, (call) =>
      this.#replay.ask(new WaitCall({ ...call, kind: "sleep", timeoutMs, resolve: () => call.resolve() })),
    );
  }

  /** A call's identity is its kind, name and key; a key that was used before cannot be told apart. */
  #call<T>(kind: string, name: string, key: string | undefined, ask: (call: NewCall<T>) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const used = key ?? this.#nextKey(kind, name);
      const id = callId(kind, name, used);
      if (this.#replay.has(id)) {
        const path = `${kind} ${JSON.stringify(name)}`;
        throw new InvalidInput(path, `the key ${JSON.stringify(used)} is used twice in this run`);
      }
      ask({ id, name, key: used, replay: this.#replay, codecs: this.#codecs, resolve, reject });
    });
  }

  #nextKey(kind: string, name: string): string {
    const place = JSON.stringify([kind, name]);
    const n = (this.#asked.get(place) ?? 0) + 1;
    this.#asked.set(place, n);
    return String(n);
  }
}

interface NewCall<T> {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly replay: Replay;
  readonly codecs: Codecs;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}
