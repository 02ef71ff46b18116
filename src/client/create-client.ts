// `createClient`: starts runs, watches them and sends them signals, but never works on them. It knows programs by their types.

import type { AnyActor } from "../actor/actor.js";
import type { Codec } from "../kernel/codec/codec.js";
import { codecs as openCodecs } from "../kernel/codec/codecs.js";
import type { Logger } from "../kernel/logger.js";
import { envName, programName, queueName, stackName, versionName } from "../kernel/name.js";
import { omit } from "../kernel/omit.js";
import { checkOptions, type Names } from "../kernel/setting/option-names.js";
import { withDefaults } from "../kernel/setting/setting-options.js";
import { loggerOf } from "../kernel/stderr-logger.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import { type InstanceId, isMachine, type MachineDefinition } from "../machine/definition.js";
import { Instance, type InstanceOptions } from "../machine/instance.js";
import { Instances as ReachedInstances } from "../machine/instances.js";
import type { MachineEvent } from "../machine/logic.js";
import { NamedInstance } from "../machine/named-instance.js";
import type { AnyDefinition, Definition } from "../program/definition.js";
import type { Startable } from "../program/startable.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Emitted } from "../trigger/emitted.js";
import { type EmitOptions, Emitter } from "../trigger/emitter.js";
import type { EventType } from "../trigger/event.js";
import { type Approvals, approvalsIn } from "./approvals.js";
import { type Backfill, type BackfillOptions, startBackfill } from "./backfill.js";
import { DeadLetters } from "./dead-letters.js";
import { type Definitions, definitionsIn } from "./definitions.js";
import { type FoundRuns, foundRuns } from "./found-runs.js";
import { GraphRuns } from "./graph/graph-runs.js";
import { fromEnvironment } from "./identity.js";
import { type LeaseList, leasesIn } from "./leases.js";
import { type Instances, instancesOf } from "./machines.js";
import { type Nodes, nodesOf } from "./nodes.js";
import { type Queues, queuesOf } from "./queues.js";
import { type RetentionVerbs, retentionIn } from "./retention.js";
import type { RunHandle } from "./run-handle.js";
import { Runs, type StartArguments, type StartItem, type StartOptions, type StartOutcome } from "./runs.js";
import { type Schedules, schedulesOf } from "./schedules.js";
import { ServedCheck } from "./served-check.js";
import { type EndEvent, type WatchEndsOptions, watchEnds } from "./watch-ends.js";

/** Options of `createClient`. */
export interface ClientOptions {
  /** Where runs are stored: the same as that of the nodes. */
  readonly store: Store;
  /** The environment, as in `createNode`. @default HOLDFAST_ENV, else `default` */
  readonly env?: string;
  /** The stack in which runs are started. @default HOLDFAST_STACK, else any */
  readonly stack?: string;
  /** How payloads are encoded: the first codec writes, all of them read. `json` is always readable. @default `json` */
  readonly codecs?: readonly Codec[];
  /** Where it warns of a start that no live node takes. `false`: nowhere. @default standard error, unless HOLDFAST_LOG is `off` */
  readonly logger?: Logger | false;
}

const OPTION_NAMES: Names<ClientOptions> = { store: true, env: true, stack: true, codecs: true, logger: true };

/** Options for a program that is known by its name only. */
export interface ByName {
  /** The queue of its runs. @default the name of the program */
  readonly queue?: string;
  /** Only programs of this version work on the run. @default any */
  readonly version?: string;
}

type Listed = readonly (AnyDefinition | AnyActor)[];
/** Each expectation of an actor is a program. */
type Each<P> = P extends AnyActor ? P["expectations"][keyof P["expectations"]] : Extract<P, AnyDefinition>;
type NameIn<Programs extends Listed> = Each<Programs[number]>["name"];
type Named<Programs extends Listed, Name> = Extract<Each<Programs[number]>, { readonly name: Name }>;
/** The input after parsing: a program known only by name has no schema here that could transform it. */
type InputOf<D> = D extends Definition<string, infer _In, infer _Out, infer Parsed> ? Parsed : never;
type OutputOf<D> = D extends Definition<string, infer _In, infer Out, infer _Parsed> ? Out : never;

type MachineNames<Programs extends Listed> = Extract<Programs[number], { readonly kind: "machine" }>["name"];
type EventOf<D> = D extends { readonly "~machine"?: infer Carries }
  ? NonNullable<Carries> extends (event: infer Ev extends MachineEvent) => unknown
    ? Ev
    : never
  : never;

/** Starts, finds, watches and controls runs from any process. It never executes them. */
export interface Client<Programs extends Listed> {
  /** Starts a run of a program and returns a handle on it. With a `key`, a second start finds the first run. */
  start<Name extends NameIn<Programs>>(
    name: Name,
    ...rest: StartArguments<InputOf<Named<Programs, Name>>, StartOptions & ByName>
  ): Promise<RunHandle<OutputOf<Named<Programs, Name>>>>;
  /**
   * With the machine's code, the instance is created at once. By name alone, a node creates it, and the run lasts as
   * long as the instance.
   */
  start<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>(
    machine: MachineDefinition<Name, In, Out, Ev, Value, Context>,
    ...rest: StartArguments<In, InstanceOptions<NoInfer<Name>>>
  ): Promise<Instance<Ev, Value, Context, Out, Name>>;
  start<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    ...rest: StartArguments<In>
  ): Promise<RunHandle<Out>>;
  /** An instance of a machine, by its id. Nothing is read until it is used. */
  instance<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>(
    machine: MachineDefinition<Name, In, Out, Ev, Value, Context>,
    id: InstanceId<NoInfer<Name>>,
  ): Instance<Ev, Value, Context, Out, Name>;
  /** By name alone: the event is stored, and a node applies it. */
  instance<Name extends MachineNames<Programs>>(name: Name, id: string): NamedInstance<EventOf<Named<Programs, Name>>>;
  /** Starts many runs in one call to the store; answers are in the order of the items. */
  startMany<Name extends NameIn<Programs>>(
    name: Name,
    items: readonly StartItem<InputOf<Named<Programs, Name>>>[],
    options?: ByName & { readonly tx?: Transaction },
  ): Promise<StartOutcome<OutputOf<Named<Programs, Name>>>[]>;
  startMany<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    items: readonly StartItem<In>[],
    options?: { readonly tx?: Transaction },
  ): Promise<StartOutcome<Out>[]>;
  /** Starts a run of every program with a trigger for this event, once per event, even if it is emitted again. */
  emit<Name extends string, Payload extends object>(
    type: EventType<Name, Payload>,
    payload: NoInfer<Payload>,
    options?: EmitOptions,
  ): Promise<Emitted>;
  /** One run for each interval of a range, a bounded number at a time. The same call again continues it. */
  backfill<Name extends NameIn<Programs>>(
    name: Name,
    options: BackfillOptions<InputOf<Named<Programs, Name>>> & ByName,
  ): Promise<Backfill>;
  backfill<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    options: BackfillOptions<In>,
  ): Promise<Backfill>;
  /** A handle on the run with this id. Nothing is read until it is used. */
  run<Out = unknown>(id: string): RunHandle<Out>;
  /** The ends of all runs, from a cursor, as they happen in any process. */
  watch(options?: WatchEndsOptions): AsyncGenerator<EndEvent, void>;
  /** Finds runs: by key, program, state, attributes, node, parent. */
  readonly runs: FoundRuns;
  /** Approvals that runs ask for. */
  readonly approvals: Approvals;
  /** Named leases. */
  readonly leases: LeaseList;
  /** Runs that failed for good. */
  readonly dead: DeadLetters;
  /** Pauses, resumes and lists queues. */
  readonly queues: Queues;
  /** The nodes of the env, and their modes. */
  readonly nodes: Nodes;
  /** Positions, forks, rewinds and comparisons of graph runs. */
  readonly graphs: GraphRuns;
  /** Lists, pauses, resumes and fires schedules. */
  readonly schedules: Schedules;
  /** Lists, prunes and sends events to instances of machines. */
  readonly instances: Instances;
  /** Programs as data, for nodes that are given `definitions`. */
  readonly definitions: Definitions;
  /** Archives and deletes ended runs. Nodes delete old ones by themselves. */
  readonly retention: RetentionVerbs;
}

/**
 * Creates a client, which knows the programs of other processes by their types. It opens nothing by itself and needs no
 * `close`.
 *
 * @example
 * ```ts
 * const client = createClient<typeof programs>({ store });
 * const run = await client.start("greet", "Ann", { key: "greet:ann" });
 * ```
 */
export function createClient<Programs extends Listed = readonly []>(
  options: ClientOptions,
  world: World = systemWorld(),
): Client<Programs> {
  checkOptions("createClient", options, OPTION_NAMES);
  const { env, stack } = fromEnvironment({ env: options.env, stack: options.stack });
  const { store } = options;
  const logger = loggerOf(options.logger);
  const codecs = openCodecs(options.codecs);
  const inEnv = envName(env ?? "default", "env");
  const inStack = stack === undefined ? null : stackName(stack, "stack");
  const place = { store, codecs, world, env: inEnv, stack: inStack };
  const inPlace = { ...place, crashLimit: withDefaults({}).crashLimit };
  const served = new ServedCheck({
    store,
    world,
    isWanted: () => logger !== null,
    onUnserved: ({ id, group }) => logger?.warn("run.unserved", { runId: id, ...omit(group, "env") }),
  });
  const runs = new Runs({ ...inPlace, served });
  const emitter = new Emitter(place);
  const instances = new ReachedInstances({ ...place, crashLimit: withDefaults({}).crashLimit });
  const client = {
    instances: instancesOf(instances),
    instance: (machine: string | AnyDefinition, id: string) => {
      if (typeof machine === "string") return new NamedInstance(machine, id, instances);
      return isMachine(machine) ? new Instance(machine, id, instances) : null;
    },
    emit: emitter.emit.bind(emitter),
    start: async (
      program: string | Startable,
      input?: unknown,
      options: StartOptions & ByName & InstanceOptions = {},
    ) => {
      if (typeof program === "string" || !isMachine(program)) {
        return runs.start(await startable(runs, program, options), input, options);
      }
      return new Instance(program, await instances.start(program, input, options), instances);
    },
    startMany: async (
      program: string | Startable,
      items: readonly StartItem<unknown>[],
      options: ByName & { readonly tx?: Transaction } = {},
    ) => runs.startMany(await startable(runs, program, options), items, options.tx),
    backfill: async (program: string | Startable, options: BackfillOptions<unknown> & ByName) =>
      startBackfill(await startable(runs, program, options), options, { runs, store, world }),
    run: (id: string) => runs.run(id),
    watch: (options?: WatchEndsOptions) => watchEnds(place, options),
    runs: foundRuns(inPlace, runs),
    approvals: approvalsIn(inPlace, runs),
    leases: leasesIn(store, inEnv),
    dead: new DeadLetters(place),
    queues: queuesOf(store, inEnv, "client"),
    nodes: nodesOf(store, inEnv, "client"),
    graphs: new GraphRuns(inPlace, runs),
    schedules: schedulesOf(store, runs, inEnv, "client"),
    definitions: definitionsIn(store, inEnv, "client"),
    retention: retentionIn(store, inEnv),
  };
  return client as Client<Programs>;
}

/** A program known only by its name has the limits that its nodes declared. */
async function startable(runs: Runs, program: string | Startable, { queue, version }: ByName): Promise<Startable> {
  if (typeof program !== "string") return program;
  const known = {
    name: programName(program, "program"),
    queue: queueName(queue ?? program, "queue"),
    version: version === undefined ? null : versionName(version, "version"),
  };
  return { ...known, schema: null, limits: await runs.limitsOf(known) };
}
