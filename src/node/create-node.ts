// `createNode`: a process that starts and executes runs, and hands them back when it stops.

import { definitionsOf } from "../actor/actor.js";
import { type Approvals, approvalsIn } from "../client/approvals.js";
import { type Backfill, type BackfillOptions, startBackfill } from "../client/backfill.js";
import { DeadLetters } from "../client/dead-letters.js";
import { type Definitions, definitionsIn } from "../client/definitions.js";
import { type FoundRuns, foundRuns } from "../client/found-runs.js";
import { GraphRuns } from "../client/graph/graph-runs.js";
import { type LeaseList, leasesIn } from "../client/leases.js";
import { type Instances, instancesOf } from "../client/machines.js";
import { type Nodes, nodesOf } from "../client/nodes.js";
import { type Queues, queuesOf } from "../client/queues.js";
import { type RetentionVerbs, retentionIn } from "../client/retention.js";
import type { RunHandle } from "../client/run-handle.js";
import { runWatcher } from "../client/run-watcher.js";
import { Runs, type StartArguments, type StartItem, type StartOptions, type StartOutcome } from "../client/runs.js";
import { type Schedules, schedulesOf } from "../client/schedules.js";
import type { ServedCheck } from "../client/served-check.js";
import { type EndEvent, type WatchEndsOptions, watchEnds } from "../client/watch-ends.js";
import { routingWarnings, type Served } from "../engine/claiming/routing.js";
import { Engine, type EngineOptions } from "../engine/engine.js";
import type { Modes } from "../engine/modes.js";
import type { ClientParts, NodeParts } from "../engine/node-parts.js";
import type { Program } from "../engine/program.js";
import { StartGate } from "../engine/start-gate.js";
import { type Duration, toMs } from "../kernel/duration.js";
import type { Settings } from "../kernel/setting/setting-options.js";
import { loggerOf } from "../kernel/stderr-logger.js";
import { systemWorld } from "../kernel/system-world.js";
import { sleep, type World } from "../kernel/world.js";
import { type InstanceId, isMachine, type MachineDefinition } from "../machine/definition.js";
import { Instance, type InstanceOptions } from "../machine/instance.js";
import { Instances as ReachedInstances } from "../machine/instances.js";
import type { MachineEvent } from "../machine/logic.js";
import { TimerLoop } from "../machine/timer/timer-loop.js";
import type { AnyDefinition, Definition } from "../program/definition.js";
import { Parts, type ProgramEnvironment } from "../program/environment.js";
import { factsOf } from "../program/program-facts.js";
import { servicesMaker } from "../program/run-services.js";
import { isServedIn } from "../program/startable.js";
import type { ProgramFacts } from "../store/contract/node/programs.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import { type Bus, createBus, type Telemetry } from "../telemetry/bus.js";
import type { Emitted } from "../trigger/emitted.js";
import { type EmitOptions, Emitter } from "../trigger/emitter.js";
import type { EventType } from "../trigger/event.js";
import type { Scheduler } from "../trigger/scheduler.js";
import { subscriptionsOf } from "../trigger/subscription.js";
import { expectNamedOnce, servedCheck } from "./check-programs.js";
import { deriveBuild } from "./derive-build.js";
import { DynamicPrograms } from "./dynamic-programs.js";
import { type ModeControl, modeControl } from "./mode-control.js";
import type { NodeEvents } from "./node-events.js";
import { type FoundNodeOptions, type NodeOptions, readNodeOptions, withEnvironment } from "./node-options.js";
import { type Listening, signalsOf, stopOnSignals } from "./process-signals.js";
import { runWrites } from "./run-writes.js";
import { schedulersOf } from "./schedulers.js";
import { sharedParts } from "./shared-parts.js";
import { aroundClaims, tracedWorld } from "./trace-claims.js";
import { workGuard } from "./work-guard.js";

/** A node that is stopped while it starts finishes its start first, within this time. */
const LONGEST_START_MS = 5_000;

/** A process that starts and executes runs, and hands them back when it stops. `createNode` makes it. */
export class Node implements AsyncDisposable {
  /** Who it is, across restarts. */
  readonly identity: string;
  /** Its name for people. @default its identity */
  readonly name: string;
  /** The environment of its runs. */
  readonly env: string;
  /** The cluster within the env; null: none. */
  readonly stack: string | null;
  /** The option of that name, or a hash of the code of its programs. */
  readonly build: string;
  /** Fresh at every start. */
  readonly incarnation: string;
  /** What is unusual about its options, in sentences. */
  readonly warnings: readonly string[];
  /** Finds runs of the env: by key, program, state, attributes, node, parent. */
  readonly runs: FoundRuns;
  /** Approvals that runs of the env ask for. */
  readonly approvals: Approvals;
  /** Named leases of the env. */
  readonly leases: LeaseList;
  /** Runs that gave up. */
  readonly dead: DeadLetters;
  /** Pauses, resumes and lists queues. */
  readonly queues: Queues;
  /** The mode of this node, which can change while it runs. */
  readonly mode: ModeControl;
  /** All nodes of the env, and their modes. */
  readonly nodes: Nodes;
  /** Positions of graph runs; forks, rewinds, comparisons. */
  readonly graphs: GraphRuns;
  /** The schedules of its programs, and those of other nodes of the env. */
  readonly schedules: Schedules;
  /** Instances of machines, also those that other nodes of the env started. */
  readonly instances: Instances;
  /** Programs as data, for nodes with the option `definitions`. */
  readonly definitions: Definitions;
  /** Archives and deletes ended runs. Nodes delete old ones by themselves. */
  readonly retention: RetentionVerbs;
  readonly #settings: Settings;
  readonly #bus: Bus<NodeEvents>;
  readonly #engine: Engine;
  readonly #scheduler: Scheduler;
  readonly #instances: ReachedInstances;
  readonly #timers: TimerLoop;
  readonly #dynamic: DynamicPrograms | null;
  readonly #runs: Runs;
  readonly #emitter: Emitter;
  readonly #listening: Listening | null;
  #stopping: Promise<void> | null = null;
  #counted = 0;

  /** `listening`: ends the process with the node. */
  constructor(options: FoundNodeOptions, given: World, listening: Listening | null = null) {
    this.#listening = listening;
    const read = readNodeOptions(options);
    const { bus, flow: { claims, tracing } = {}, definitions: { strategies, tasks } = {} } = options;
    const world = tracing ? tracedWorld(given, tracing) : given;
    const programs = expectNamedOnce(definitionsOf(options.programs));
    this.#settings = read.settings;
    this.#bus = bus ?? createBus<NodeEvents>({ world });
    this.identity = read.id ?? `node-${world.token().slice(0, 8)}`;
    this.name = read.name ?? this.identity;
    this.env = read.env;
    this.stack = read.stack;
    this.build = read.build ?? deriveBuild([programs, strategies, tasks]);
    this.incarnation = world.token();
    const { env, stack, build, name } = this;
    const who = { identity: this.identity, name, incarnation: this.incarnation };
    const parts = sharedParts(options, read, { world, build, who, bus: this.#bus });
    const { store, modes, bus: told } = parts;
    const gate = new StartGate({ ...parts, expiresInMs: read.deferredExpiryMs });
    const served = servedCheck(store, world, told);
    this.#runs = new Runs({ ...parts, gate, served, ...(tracing && { tracing }) });
    this.graphs = new GraphRuns(parts, this.#runs);
    this.#emitter = new Emitter({ ...parts, gate, telemetry: told });
    this.runs = foundRuns(parts, this.#runs);
    this.approvals = approvalsIn(parts, this.#runs);
    this.leases = leasesIn(store, env);
    this.dead = new DeadLetters(parts);
    this.queues = queuesOf(store, env, name);
    this.schedules = schedulesOf(store, this.#runs, env, name);
    this.definitions = definitionsIn(store, env, name);
    this.retention = retentionIn(store, env);
    this.nodes = nodesOf(store, env, name);
    this.#instances = new ReachedInstances(parts);
    this.instances = instancesOf(this.#instances);
    const environment = this.#environment(options, parts, served);
    const facts = new Map<string, ProgramFacts>();
    const programsOf = (definition: AnyDefinition) => {
      const served = servedBy(definition, environment, modes);
      for (const one of factsOf(definition, served)) facts.set(one.name, one);
      return served;
    };
    const here = programs.filter((program) => isServedIn(stack, program));
    const newScheduler = schedulersOf({ ...parts, gate, runs: this.#runs });
    this.#scheduler = newScheduler(here);
    this.#timers = new TimerLoop({ ...parts, instances: this.#instances, machines: here.filter(isMachine) });
    const engine = new Engine({
      ...parts,
      programs: here.flatMap(programsOf),
      facts: () => [...facts.values()],
      subscriptions: subscriptionsOf(here, parts),
      routing: read.routing,
      mode: read.mode,
      takeDeferred: read.takeDeferred,
      timers: this.#timers,
      ...aroundClaims(claims ? workGuard({ ...parts, claims }) : undefined, tracing, env),
      ...this.#answers(store, world),
    });
    this.#engine = engine;
    this.mode = modeControl({ ...parts, obey: (state) => engine.obey(state) });
    this.warnings = [...read.warnings, ...routingWarnings(this.serves(), [...read.routing.executors.keys()])];
    // Without the option `definitions`, it loads none.
    const loads = strategies || tasks ? { strategies: strategies ?? {}, tasks: tasks ?? {} } : null;
    const loading = { ...parts, programs: here, served: programsOf, engine, newScheduler };
    this.#dynamic = loads && new DynamicPrograms({ ...loading, ...loads });
    tracing?.follow(this);
  }

  /** What the node does on events of its engine. */
  #answers(store: Store, world: World): Pick<EngineOptions, "onReplaced" | "onRegistered" | "onExit" | "onCommitted"> {
    const watcher = runWatcher(store, world);
    return {
      onCommitted: (runId, isReleased) => (isReleased ? watcher.wake(runId) : watcher.moved(runId)),
      onReplaced: () => void this.stop(),
      onRegistered: async () => {
        if (this.#scheduler.hasSchedules) await this.#scheduler.declare(null);
      },
      onExit: () => (this.#listening ? this.#listening.exit() : void this.stop()),
    };
  }

  #environment(
    { services }: Pick<NodeOptions, "services">,
    parts: NodeParts & ClientParts & { readonly bus: Telemetry<NodeEvents> },
    served: ServedCheck,
  ): ProgramEnvironment {
    const { codecs, bus } = parts;
    const { historyWarning, historyLimit } = parts.settings;
    return {
      codecs,
      parts: new Parts().with(this.#instances),
      newChild: (child, input) => {
        const run = this.#runs.newRun(child, input, {});
        served.started(run);
        return run;
      },
      writes: runWrites(parts, this.#runs, new Emitter({ ...parts, telemetry: bus })),
      historyWarning,
      historyLimit,
      servicesFor: servicesMaker(services, parts.world),
      onLongHistory: (runId, length) => bus.emit("run.history_long", { runId, length }),
    };
  }

  /** Claimed runs, those that wait for a slot included. */
  get active(): number {
    return this.#engine.active;
  }

  /** Each of its programs with the executor that works on it; null when no rule of `flow.serve` matches its queue. */
  serves(): readonly Served[] {
    return this.#engine.serves;
  }

  /** Listens to an event of this node. Returns a function that ends it. */
  on: Bus<NodeEvents>["on"] = (name, listener) => this.#bus.on(name, listener);

  /** Called by createNode. */
  async open(): Promise<void> {
    await this.#engine.start();
    this.#scheduler.start();
    await this.#dynamic?.open();
    await this.#timers.start();
  }

  /** For a machine: an instance, under your id or a new one. The same id and input again returns the existing instance. */
  start<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>(
    machine: MachineDefinition<Name, In, Out, Ev, Value, Context>,
    ...args: StartArguments<In, InstanceOptions<NoInfer<Name>>>
  ): Promise<Instance<Ev, Value, Context, Out, Name>>;
  start<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    ...args: StartArguments<In>
  ): Promise<RunHandle<Out>>;
  async start(
    program: AnyDefinition,
    input?: unknown,
    options: StartOptions & InstanceOptions = {},
  ): Promise<RunHandle<unknown> | Instance<MachineEvent, unknown, unknown, unknown>> {
    if (isMachine(program)) {
      const id = await this.#instances.start(program, input, options);
      return new Instance(program, id, this.#instances);
    }
    const run = await this.#runs.start(program, input, options);
    if (!options.tx) this.#engine.wake("new");
    return run;
  }

  /** Many in one call to the store; the outcomes are in the order of the items. */
  async startMany<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    items: readonly StartItem<In>[],
    options: { readonly tx?: Transaction } = {},
  ): Promise<StartOutcome<Out>[]> {
    const outcomes = await this.#runs.startMany<Out>(program, items, options.tx);
    if (!options.tx) this.#engine.wake("new");
    return outcomes;
  }

  /** One run for each interval of a range, a bounded number at a time in the whole cluster. The same call again continues it. */
  async backfill<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    options: BackfillOptions<In>,
  ): Promise<Backfill> {
    const { store, world } = this.#instances;
    const started = await startBackfill(program, options, { runs: this.#runs, store, world });
    this.#engine.wake("new");
    return started;
  }

  /** Starts every program that has a trigger for it, once for each event, whichever process emits it. */
  async emit<Name extends string, Payload extends object>(
    type: EventType<Name, Payload>,
    payload: NoInfer<Payload>,
    options: EmitOptions = {},
  ): Promise<Emitted> {
    const emitted = await this.#emitter.emit(type, payload, options);
    if (!options.tx && emitted.runs.length > 0) this.#engine.wake("new");
    return emitted;
  }

  /** An instance of a machine, by its id. Nothing is read until it is used. */
  instance<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>(
    machine: MachineDefinition<Name, In, Out, Ev, Value, Context>,
    id: InstanceId<NoInfer<Name>>,
  ): Instance<Ev, Value, Context, Out, Name> {
    return new Instance(machine, id, this.#instances);
  }

  /** A handle on the run with this id. Nothing is read until it is used. */
  run<Out = unknown>(id: string): RunHandle<Out> {
    return this.#runs.run<Out>(id);
  }

  /** The ends of all runs of the env, from a cursor, as they happen in any process. */
  watch(options: WatchEndsOptions = {}): AsyncGenerator<EndEvent, void> {
    return watchEnds(this.#instances, options);
  }

  /**
   * Works until nothing of its programs can be claimed now and nothing is under way. Runs that sleep, wait for a message or
   * start later do not count. `worked`: how many runs it worked on until their claim was released, since it started or since the
   * last call. For scripts, tests and serverless; stop the node afterwards.
   */
  async runUntilIdle(options: {
    readonly timeout: Duration;
  }): Promise<{ readonly idle: boolean; readonly worked: number }> {
    const { world } = this.#instances;
    const startedAt = world.monotonicNow();
    const left = () => Math.max(toMs(options.timeout, "timeout") - (world.monotonicNow() - startedAt), 0);
    let idle: boolean;
    // Timers that are due may create runs, and runs may set timers.
    do idle = await this.#engine.untilIdle(left());
    while ((await this.#timers.untilFired()) > 0 && left() > 0);
    const worked = this.#engine.worked - this.#counted;
    this.#counted += worked;
    return { idle, worked };
  }

  /** Stops claiming, lets steps end within the grace, hands the runs back. Calling it again waits for the same stop. */
  stop(options: { readonly grace?: Duration } = {}): Promise<void> {
    const graceMs = options.grace === undefined ? this.#settings.shutdownGraceMs : toMs(options.grace, "grace");
    this.#stopping ??= this.#stop(graceMs).finally(() => this.#listening?.stopListening());
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    this.#instances.stop();
    await Promise.all([this.#scheduler.stop(), this.#timers.stop(), this.#dynamic?.stop(), this.#engine.stop(graceMs)]);
  }

  /** Stops the node: `await using node = await createNode(…)`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** A mode for a definition also applies to its programs: for an actor, to all its expectations. */
function servedBy(definition: AnyDefinition, environment: ProgramEnvironment, modes: Modes): readonly Program[] {
  const served = definition.serve(environment);
  for (const { name } of served) modes.belongs(name, definition.name);
  return served;
}

/**
 * Starts a node: a process that claims runs of its programs, executes them, and takes over the runs of nodes that died.
 *
 * @example
 * ```ts
 * const node = await createNode({ store, programs: [hello] });
 * const run = await node.start(hello, "Ann", { key: "hello:ann" });
 * console.log(await run.result());
 * ```
 */
export async function createNode<const Executor extends string = "default">(
  options: NodeOptions<Executor>,
  world: World = systemWorld(),
): Promise<Node> {
  let node: Node | null = null;
  let opening: Promise<void> = Promise.resolve();
  const stop = async () => {
    await Promise.race([opening.catch(() => {}), sleep(world, LONGEST_START_MS)]);
    await node?.stop();
  };
  // Before the first await: a signal in the first moments of a process finds a listener.
  const listening = stopOnSignals(signalsOf(options.signals), stop, world);
  const open = async () => {
    const logger = loggerOf(options.logger) ?? false;
    node = new Node({ ...(await withEnvironment(options)), logger }, world, listening);
    await node.open();
  };
  opening = open();
  try {
    await opening;
  } catch (error) {
    listening.stopListening();
    throw error;
  }
  return node!;
}
