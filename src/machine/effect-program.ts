// The runs of a machine: its effects and invoked actors, each a step whose answer is sent back once; and the run by which a
// trigger or another program starts an instance and waits for its end.

import type { Program } from "../engine/program.js";
import { HoldfastError } from "../kernel/error.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { type Signal, signal } from "../replay/signal.js";
import { PermanentError } from "../replay/step-error.js";
import type { Context } from "../workflow/context.js";
import { workflow } from "../workflow/workflow.js";
import { type ActorValue, type AnyMachine, actorKey, type Effect } from "./definition.js";
import { InstanceQuarantined, isPassing } from "./errors.js";
import type { InstanceAddress, Invoked } from "./instance-state.js";
import { Instances } from "./instances.js";
import { renamePath } from "./rename-states.js";
import { failureOf, isEvent, type SendBack, sendBack } from "./send-back.js";

/** What a run of a machine does: an effect, an invoked actor, the stop of one, or the report of the instance's end to the run that started it. */
interface EffectInput {
  readonly id: string;
  readonly seq: number;
  readonly n: number;
  readonly effect: string | null;
  readonly params?: unknown;
  readonly context?: unknown;
  readonly event?: unknown;
  /** The entry of the state that asked for the effect. */
  readonly stay?: { readonly path: string; readonly seq: number };
  readonly invoke?: InvokeInput;
  readonly stop?: Pick<Invoked, "run" | "child">;
  readonly ended?: Ended;
}

interface InvokeInput {
  readonly path: string;
  readonly id: string;
  /** The instance that an invoked machine runs as, and the one that invoked it. */
  readonly child?: InstanceAddress;
  readonly owner?: InstanceAddress;
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

interface Doing {
  readonly machine: AnyMachine;
  readonly instances: Instances;
  readonly ctx: Context;
  readonly input: EffectInput;
}

function effects(machine: AnyMachine, environment: ProgramEnvironment) {
  const { queue, effectProgram } = machine;
  const instances = environment.parts.get(Instances);
  return workflow(effectProgram, { queue }, async (ctx, input: EffectInput) => {
    const doing = { machine, instances, ctx, input };
    if (input.ended) await ctx.step("report", INSIST, () => notifyParent(instances, ctx.runId, input.ended!));
    else if (input.stop) await ctx.step("stop", INSIST, () => stopActor(machine, instances, input.stop!));
    else if (input.invoke) await runActor(doing, input.invoke);
    else await runEffect(doing);
  });
}

async function runEffect(doing: Doing): Promise<void> {
  const { machine, input } = doing;
  const { seq, n, stay } = input;
  const effect = input.effect!;
  const found = machine.effects.get(effect);
  if (!found) throw new PermanentError(`Machine ${machine.name} has no effect ${JSON.stringify(effect)} in this code.`);
  const answers = stay && { ...stay, actor: null };
  const key = `effect:${seq}.${n}`;
  let answer: unknown;
  try {
    answer = await attempt(doing, effect, found);
  } catch (error) {
    // A machine that takes the event has dealt with the failure; otherwise the run is a dead letter.
    const event = { type: "effect.failed", effect, error: failureOf(error) };
    if ((await answered(doing, { event, key: `${key}.failed`, by: effect, answers })) === "applied") return;
    throw error;
  }
  if (isEvent(answer)) await answered(doing, { event: answer, key, by: effect, answers });
}

/** Its answer is the event that XState sends when an actor is done or has failed. */
async function runActor(doing: Doing, { path, id, child, owner }: InvokeInput): Promise<void> {
  const { machine, input } = doing;
  const { seq, n } = input;
  const now = renamePath(machine.renamed, path);
  const actor = machine.actors.get(actorKey(now, id));
  if (!actor) throw new PermanentError(`Machine ${machine.name} invokes no ${JSON.stringify(id)} in ${now}.`);
  const back = { key: `actor:${seq}.${n}`, by: actor.name, answers: { path: now, seq, actor: id } };
  const of = { actorId: id };
  let output: unknown;
  try {
    output = actor.kind === "machine" ? await runChild(doing, actor, child!, owner!) : await attempt(doing, id, actor);
  } catch (error) {
    await answered(doing, { ...back, event: { type: `xstate.error.actor.${id}`, error: failureOf(error), ...of } });
    return;
  }
  await answered(doing, { ...back, event: { type: `xstate.done.actor.${id}`, output, ...of } });
}

function attempt({ machine, instances, ctx, input }: Doing, name: string, found: Effect): Promise<unknown> {
  const { id, seq, n, context, event, params } = input;
  const idempotencyKey = `${instances.env}/${machine.name}/${id}@${seq}.${n}`;
  const { policy, timeoutMs, finishOnAbort } = found;
  const options = { retry: optionsOf(policy), finishOnAbort, ...(timeoutMs !== null && { timeout: timeoutMs }) };
  return ctx.step(name, options, ({ fence, attempt: count, signal: aborts }) => {
    const info = { idempotencyKey, fence, attempt: count, signal: aborts, id, seq, services: ctx.services };
    return found.run(info, { context, event, params });
  });
}

function answered({ machine, instances, ctx, input }: Doing, back: Omit<SendBack, "id">): Promise<string> {
  return ctx.step("answer", INSIST, () => sendBack(machine, instances, { id: input.id, ...back }));
}

async function runChild(
  { machine, instances, ctx, input }: Doing,
  { machine: of }: Extract<ActorValue, { kind: "machine" }>,
  child: InstanceAddress,
  owner: InstanceAddress,
): Promise<unknown> {
  await ctx.step("start", INSIST, async () => {
    await instances.start(of, input.params, { id: child.id, parent: ctx.runId, owner });
    // The state may have been left, and the child stopped, before it was started.
    const { state } = await instances.state(machine, owner.id);
    const isWanted = Object.values(state.invoked).some(({ run }) => run === ctx.runId);
    if (!isWanted) await stopActor(machine, instances, { run: ctx.runId, child });
  });
  const { status, output } = await ctx.waitFor(ended);
  if (status !== "done") throw new InstanceNotDone(of.name, status);
  return output;
}

/** Its answer would be ignored from now on; what it does is cancelled. */
async function stopActor(machine: AnyMachine, instances: Instances, { run, child }: NonNullable<EffectInput["stop"]>) {
  const { store } = instances;
  await store.runs.cancel(run, { by: machine.name, reason: "Its state was left." });
  const actor =
    child && [...machine.actors.values()].find((one) => one.kind === "machine" && one.machine.name === child.machine);
  if (actor?.kind !== "machine") return;
  const stop = { kind: "stop", by: machine.name, reason: "Its state was left.", timer: null } as const;
  try {
    await instances.deliver(actor.machine, child!.id, stop);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "INSTANCE_UNKNOWN") throw error;
  }
}

function optionsOf({ attempts, backoff, delayMs, maxDelayMs, factor, jitter }: Effect["policy"]) {
  const rest = backoff === "exponential" ? { factor } : {};
  return { attempts, backoff, delay: delayMs, maxDelay: maxDelayMs, jitter, ...rest };
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
