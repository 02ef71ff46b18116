// The runs of a machine: its effects, each a step that is retried and whose event is sent back once; and the run by
// which a trigger or another program starts an instance and waits for its end.

import type { Program } from "../engine/program.js";
import { HoldfastError } from "../kernel/error.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { type Signal, signal } from "../replay/signal.js";
import { PermanentError } from "../replay/step-call.js";
import { workflow } from "../workflow/workflow.js";
import type { AnyMachine } from "./definition.js";
import { InstanceQuarantined, isPassing } from "./errors.js";
import { Instances } from "./instances.js";
import type { MachineEvent } from "./logic.js";

/** What an effect's run is given. `effect` null: the end of the instance is reported to the run that started it. */
interface EffectInput {
  readonly id: string;
  readonly seq: number;
  readonly n: number;
  readonly effect: string | null;
  readonly params?: unknown;
  readonly context?: unknown;
  readonly event?: unknown;
  readonly ended?: Ended;
}

interface Ended {
  readonly parent: string;
  readonly status: "done" | "error" | "stopped";
  readonly output?: unknown;
}

/** The instance that a run started was stopped, or failed. */
export class InstanceNotDone extends HoldfastError {
  readonly code = "INSTANCE_NOT_DONE";

  constructor(machine: string, status: string) {
    super(`The instance of ${JSON.stringify(machine)} that this run started was ${status} before it was done.`);
  }
}

/** For steps that fail only while the store is away or no node has code for the state: tried until they succeed. */
const INSIST = {
  retry: { attempts: 1_000_000, delay: "1s", maxDelay: "1m" },
  retryIf: (error: unknown) => error instanceof InstanceQuarantined || isPassing(error),
} as const;

const ended: Signal<Ended> = signal<Ended>("holdfast.instance.ended");

export function machinePrograms(machine: AnyMachine, environment: ProgramEnvironment): readonly Program[] {
  return [...starter(machine, environment).serve(environment), ...effects(machine, environment).serve(environment)];
}

function effects(machine: AnyMachine, environment: ProgramEnvironment) {
  const { name, queue, effectProgram } = machine;
  const instances = environment.parts.get(Instances);
  return workflow(effectProgram, { queue }, async (ctx, input: EffectInput) => {
    const { id, seq, n, effect, ended: end } = input;
    if (effect === null) {
      await ctx.step("report", INSIST, () => notifyParent(instances, ctx.runId, end!));
      return;
    }
    const found = machine.effects.get(effect);
    if (!found) throw new PermanentError(`Machine ${name} has no effect ${JSON.stringify(effect)} in this code.`);
    const idempotencyKey = `${instances.env}/${name}/${id}@${seq}.${n}`;
    const { policy, timeoutMs, finishOnAbort } = found;
    const options = { retry: optionsOf(policy), finishOnAbort, ...(timeoutMs !== null && { timeout: timeoutMs }) };
    const { context, event, params } = input;
    const answer = await ctx.step(effect, options, ({ fence, attempt, signal: aborts }) => {
      const info = { idempotencyKey, fence, attempt, signal: aborts, id, seq, services: ctx.services };
      return found.run(info, { context, event, params });
    });
    if (!isEvent(answer)) return;
    const key = `effect:${seq}.${n}`;
    await ctx.step("answer", INSIST, () => sendBack(machine, instances, { id, key, event: answer, by: effect }));
  });
}

function optionsOf({ attempts, backoff, delayMs, maxDelayMs, factor, jitter }: AnyPolicy) {
  const rest = backoff === "exponential" ? { factor } : {};
  return { attempts, backoff, delay: delayMs, maxDelay: maxDelayMs, jitter, ...rest };
}
type AnyPolicy = NonNullable<ReturnType<AnyMachine["effects"]["get"]>>["policy"];

function isEvent(answer: unknown): answer is MachineEvent {
  return typeof answer === "object" && answer !== null && typeof (answer as { type?: unknown }).type === "string";
}

interface Back {
  readonly id: string;
  readonly key: string;
  readonly event: MachineEvent;
  readonly by: string;
}

/** An instance that has ended or no longer takes the event ignores it. Returns the outcome. */
async function sendBack(machine: AnyMachine, instances: Instances, { id, key, event, by }: Back): Promise<string> {
  const delivered = await instances.deliver(machine, id, { kind: "event", event, key, by, timer: null });
  if (delivered.outcome !== "failed") return delivered.outcome;
  if (delivered.error.code === "INSTANCE_ENDED") return "ended";
  throw delivered.error;
}

async function notifyParent({ store, codecs, world }: Instances, runId: string, end: Ended): Promise<void> {
  const { parent, ...rest } = end;
  const message = { runId: parent, key: `signal:${runId}`, messageId: world.token() };
  const payload = codecs.encode({ parent, ...rest }, "end");
  await store.inbox.send([{ ...message, kind: "signal", name: ended.name, payload, sender: null }]);
}

function starter(machine: AnyMachine, environment: ProgramEnvironment) {
  const instances = environment.parts.get(Instances);
  const { name, queue, version } = machine;
  const options = { queue, ...(version !== null && { version }) };
  return workflow(name, options, async (ctx, input: unknown) => {
    const id = await ctx.step("start", INSIST, async () => {
      const wanted = machine.idOf ? machine.idOf(input as never) : ctx.runId;
      await instances.startParsed(machine, input, { id: wanted, parent: ctx.runId });
      const { state } = await instances.state(machine, wanted);
      // Another run has started the instance; that run waits for its end.
      return state.parent === ctx.runId ? wanted : null;
    });
    if (id === null) return undefined;
    const { status, output } = await ctx.waitFor(ended);
    if (status !== "done") throw new InstanceNotDone(name, status);
    return output;
  });
}
