// `machine()`: an ordinary XState machine with durable state, timers and effects.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { programName, queueName, versionName } from "../kernel/name.js";
import { retryPolicy } from "../kernel/run/retry.js";
import { checkNames, type Names } from "../kernel/setting/option-names.js";
import type { Schema } from "../program/schema.js";
import type { Trigger } from "../trigger/trigger.js";
import { actorsOf, type GivenActor } from "./actors.js";
import type {
  About,
  Effect,
  EffectInfo,
  EffectOptions,
  InstanceId,
  MachineDefinition,
  Snapshot,
} from "./definition.js";
import { drawnChart } from "./drawn-chart.js";
import { machinePrograms } from "./effect-program.js";
import type { Chart } from "./logic.js";
import { toMermaid } from "./mermaid.js";
import { REDACT_ROOTS, type RedactRoot } from "./redact.js";
import { type Definable, type DefinableNode, effectNames, refuseActors } from "./refuse-definition.js";
import { nodesOf } from "./xstate/marked-machine.js";
import type { Target } from "./xstate/read-orders.js";
import type {
  ActorRef,
  AnyStateMachine,
  EventObject,
  MachineContext,
  ParameterizedObject,
  StateMachine,
  StateValue,
} from "./xstate/xstate.js";
import { xstateLogic } from "./xstate/xstate-logic.js";

/** The function of an effect. The event it returns is sent to the instance, once. */
export type EffectFunction<Context, Ev, Params> = (
  info: EffectInfo,
  about: About<Context, Ev, Params>,
  // biome-ignore lint/suspicious/noConfusingVoidType: most effects answer nothing
) => Ev | void | Promise<Ev | void>;

/** By the name of an action that the machine declares. */
export type EffectsOf<Context, Ev, Action extends ParameterizedObject> = {
  readonly [Name in Action["type"]]?: Given<Context, Ev, ParamsOf<Action, Name>>;
};

type ParamsOf<Action extends ParameterizedObject, Name> = Extract<Action, { readonly type: Name }>["params"];

type Given<Context, Ev, Params> =
  | EffectFunction<Context, Ev, Params>
  | (EffectOptions & { readonly run?: EffectFunction<Context, Ev, Params> });

/** Options of `machine()`. */
export interface MachineOptions<In, Ev, Value, Context, Action extends ParameterizedObject> {
  /** Implementations of named actions; an omitted one runs its own function. The event it returns is sent back. */
  readonly effects?: EffectsOf<Context, Ev, Action>;
  /**
   * Invoked actors by the name of their `src`, or by their id: retry and timeout of a promise (default: one attempt, as in XState), or
   * the machine() whose instances an invoked machine runs as.
   */
  readonly actors?: Readonly<Record<string, GivenActor>>;
  /** Stored with every instance that this code writes. */
  readonly version?: string;
  /** Converts a state of another version to this version. */
  readonly migrate?: (snapshot: Snapshot, from: string | null) => Snapshot<NoInfer<Value>, NoInfer<Context>>;
  /** Renamed states: `{ "pending": "checkout.waiting" }`. For stored states and pending timers. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields redacted in history, telemetry and command line: `["context.email", "event.card", "params.to"]`. */
  readonly redact?: readonly `${RedactRoot}.${string}`[];
  /**
   * How many events may pass before the state is stored. More than 1 only for machines whose code is pure. @default 1
   */
  readonly snapshotEvery?: number;
  /** Whether each send holds a lease on its instance. @default optimistic */
  readonly locking?: "optimistic" | "lease";
  /** `memory`: timers are lost with their process. @default durable */
  readonly timers?: "durable" | "memory";
  /**
   * From when a timer counts that a deployment adds to a state: `entry`, when the instance entered it (it may be due at once); `now`,
   * when a node first looks at the instance. @default entry
   */
  readonly addedTimers?: "entry" | "now";
  /** The queue of its runs. @default its name */
  readonly queue?: string;
  /** Checks the input of an instance, and types it. */
  readonly input?: Schema<In>;
  /** Triggers that start an instance. */
  readonly on?: readonly Trigger<In>[];
  /** The id of an instance that a trigger starts. @default the id of its run */
  readonly id?: (input: In) => string;
}

// Its types are inferred one by one: inferred as a whole, TypeScript would check effects before it knows their events.
// `const` keeps the type of an event that an effect returns from widening to a string.
/**
 * Makes a program of an XState machine: instances with durable timers, and actions that run as effects.
 *
 * @example
 * ```ts
 * export const orders = machine("order", definition, {
 *   effects: {
 *     sendReceipt: async ({ idempotencyKey }, { context, params }) => {
 *       console.log(`receipt for ${params.cents} to ${context.email} (${idempotencyKey})`);
 *       return { type: "MAILED" };
 *     },
 *   },
 *   redact: ["input.email", "context.email"],
 * });
 * ```
 */
export function machine<
  const Name extends string,
  Context extends MachineContext,
  const Ev extends EventObject,
  Action extends ParameterizedObject,
  Value extends StateValue,
  In,
  Out,
>(
  name: Name,
  // biome-ignore format: one line per parameter says less than their number
  // biome-ignore lint/suspicious/noExplicitAny: what a durable machine does not use, or never shows
  definition: StateMachine<Context, Ev, any, any, Action, any, any, Value, any, In, Out, any, any, any, any>,
  options: MachineOptions<In, Ev, Value, Context, Action> = {},
): MachineDefinition<Name, In, Out, Ev, Value, Context> {
  programName(name, "machine name");
  expectKnownOptions(options);
  const known = definition as unknown as AnyStateMachine;
  const given = (options.effects ?? {}) as Readonly<Record<string, GivenEffect>>;
  const nodes = nodesOf(known.root);
  const named = effectNames(
    definition as unknown as Definable,
    nodes as unknown as DefinableNode[],
    Object.keys(given),
  );
  const logic = xstateLogic(known, named);
  const version = options.version === undefined ? null : versionName(options.version, "version");
  const made: MachineDefinition<Name, In, Out, Ev, Value, Context> = {
    kind: "machine",
    name,
    queue: queueName(options.queue ?? name, "queue"),
    version,
    schema: options.input ?? null,
    triggers: (options.on ?? []).map(({ spec }) => spec),
    limits: [],
    breaker: null,
    serve: (environment) => machinePrograms(made, environment),
    logic,
    effects: new Map(named.map((one) => [one, effectOf(one, given[one], known)])),
    actors: actorsOf(known, nodes, options.actors ?? {}),
    effectProgram: programName(`${name}::effects`, "machine name"),
    snapshotEvery: wholeNumber(options.snapshotEvery ?? 1),
    locking: oneOf("locking", options.locking ?? "optimistic", ["optimistic", "lease"]),
    timers: oneOf("timers", options.timers ?? "durable", ["durable", "memory"]),
    addedTimers: oneOf("addedTimers", options.addedTimers ?? "entry", ["entry", "now"]),
    migrate: options.migrate ?? null,
    renamed: checkRenamed(options.renamed ?? {}, logic.chart),
    redact: checkRedact(options.redact ?? []),
    idOf: options.id ?? null,
    toMermaid: (how) => toMermaid(logic.chart, how),
    shape: () => drawnChart(logic.chart),
  };
  return made;
}

/** Another instance, as the target of XState's `sendTo`. */
export function instance<Name extends string, Ev extends EventObject, In, Out, Value, Context>(
  of: MachineDefinition<Name, In, Out, Ev, Value, Context>,
  id: InstanceId<NoInfer<Name>>,
  // biome-ignore lint/suspicious/noExplicitAny: its snapshot is never read
): ActorRef<any, Ev>;
export function instance(of: { readonly name: string }, id: string): unknown {
  return { "~instance": { machine: of.name, id } } satisfies Target;
}

const OPTION_NAMES: Names<MachineOptions<never, never, never, never, never>> = {
  effects: true,
  actors: true,
  version: true,
  migrate: true,
  renamed: true,
  redact: true,
  snapshotEvery: true,
  locking: true,
  timers: true,
  addedTimers: true,
  queue: true,
  input: true,
  on: true,
  id: true,
};

function expectKnownOptions(options: object): void {
  const problems = new Map<string, string>();
  checkNames(options, OPTION_NAMES, problems);
  for (const [path, problem] of problems) throw new InvalidInput(path, problem);
}

type GivenEffect = Effect["run"] | (EffectOptions & { readonly run?: Effect["run"] });

function effectOf(name: string, given: GivenEffect | undefined, definition: AnyStateMachine): Effect {
  const options: EffectOptions & { readonly run?: Effect["run"] } =
    typeof given === "function" ? { run: given } : (given ?? {});
  return {
    policy: retryPolicy(options.retry, `effects.${name}.retry`),
    timeoutMs: options.timeout === undefined ? null : toMs(options.timeout as Duration, `effects.${name}.timeout`),
    finishOnAbort: options.finishOnAbort ?? false,
    run: options.run ?? ordinary(name, definition),
  };
}

/** Calls an action as XState does. There is no actor it could talk to. */
function ordinary(name: string, { id, implementations }: AnyStateMachine): Effect["run"] {
  const action: unknown = implementations.actions[name];
  refuseActors(id, name, action);
  if (typeof action !== "function")
    throw new InvalidInput(`effects.${name}`, "has no function, neither here nor in the machine");
  return (_, { context, event, params }) => action({ context, event }, params);
}

function checkRenamed(renamed: Readonly<Record<string, string>>, chart: Chart): Readonly<Record<string, string>> {
  const paths = new Set(pathsIn(chart));
  for (const [from, to] of Object.entries(renamed)) {
    if (paths.has(from)) throw new InvalidInput(`renamed.${from}`, "is a state of this definition; give its old name");
    if (!paths.has(to)) throw new InvalidInput(`renamed.${from}`, `there is no state ${JSON.stringify(to)}`);
  }
  return renamed;
}

function checkRedact(paths: readonly string[]): readonly string[] {
  for (const [i, path] of paths.entries()) {
    const [root, ...rest] = String(path).split(".");
    if (REDACT_ROOTS.some((known) => known === root) && rest.length > 0 && !rest.includes("")) continue;
    const roots = REDACT_ROOTS.join(", ");
    throw new InvalidInput(
      `redact[${i}]`,
      `must be a path that begins with one of ${roots}, as "context.email"; it is ${String(path)}`,
    );
  }
  return paths;
}

function pathsIn(chart: Chart): string[] {
  return [chart.path, ...chart.states.flatMap(pathsIn)];
}

function wholeNumber(every: number): number {
  if (Number.isInteger(every) && every >= 1) return every;
  throw new InvalidInput("snapshotEvery", `must be a whole number of at least 1; it is ${String(every)}`);
}

function oneOf<const Known extends string>(path: string, value: Known, known: readonly Known[]): Known {
  if (known.includes(value)) return value;
  throw new InvalidInput(path, `must be one of ${known.join(", ")}; it is ${String(value)}`);
}
