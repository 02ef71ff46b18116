// The options of `createNode`: their groups, and how they are read, checked and completed from the environment.

import type { AnyActor } from "../actor/actor.js";
import type { Strategies } from "../actor/named-strategy.js";
import { fromEnvironment, type IdentityOptions } from "../client/identity.js";
import type { Tasks } from "../dag/named-task.js";
import { type RoutingOptions, routingOf } from "../engine/claiming/routing.js";
import type { Codec } from "../kernel/codec/codec.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import type { Logger } from "../kernel/logger.js";
import { envName, nodeName, stackName, versionName } from "../kernel/name.js";
import { type NodeMode, nodeMode } from "../kernel/node-mode.js";
import { isGroup, type Names } from "../kernel/setting/option-names.js";
import {
  type FlowSettings,
  type RecoverySettings,
  SETTING_NAMES,
  type TimingOptions,
} from "../kernel/setting/setting-options.js";
import { resolveSettings } from "../kernel/setting/settings.js";
import type { AnyDefinition } from "../program/definition.js";
import type { RunOfServices, Services } from "../program/environment.js";
import type { Store } from "../store/contract/store.js";
import type { Bus } from "../telemetry/bus.js";
import type { Tracing } from "../telemetry/tracing.js";
import type { NodeEvents } from "./node-events.js";
import type { SignalOption } from "./process-signals.js";
import type { ClaimsOption } from "./work-guard.js";

/** Which work a node takes, and with which executors. */
export interface FlowOptions<Executor extends string = string> extends FlowSettings, RoutingOptions<Executor> {
  /** Whether this node starts runs and works on them. A mode that is kept for its id wins. @default HOLDFAST_MODE, else `full` */
  readonly mode?: NodeMode;
  /**
   * `false`: this node is the only one of its env and stack. It renews each claim at most once, and refuses to start next to
   * another live node. @default `true`
   */
  readonly claiming?: boolean;
  /** An adapter that must grant a claim before the work on a run begins, see `WorkClaims`. @default none */
  readonly claims?: ClaimsOption;
  /** Other stacks, or `"all"`, whose deferred runs this node works on when no node of that stack does. @default none */
  readonly takeDeferred?: "all" | string | readonly string[];
  /** How long a run that this node defers to others may wait before it is cancelled. `false`: for ever. @default 1 day */
  readonly deferredExpiry?: Duration | false;
  /** Spans and measurements, for example `openTelemetry()` of `holdfast/otel`. @default none */
  readonly tracing?: Tracing;
  /** Whether this node takes its turn in counting figures over time; one node of an env does at a time. @default true */
  readonly statistics?: boolean;
}

/** When a run is reclaimed, dead or quarantined. */
export interface RecoveryOptions extends RecoverySettings {
  /**
   * Which nodes of the env reclaim the runs of dead nodes. `"every"`: all of them. `"one"`: only the node that holds a lease.
   * `"off"`: never this node. @default `"every"`
   */
  readonly reclaim?: "every" | "one" | "off";
}

/** What definitions in the database may use, by name. With one of these, the node loads definitions and works on them. */
export interface DefinitionOptions {
  /** Strategies and functions that actors may name. */
  readonly strategies?: Strategies;
  /** Functions that DAGs may name as tasks. */
  readonly tasks?: Tasks;
}

/** Options of `createNode`. */
export interface NodeOptions<Executor extends string = string> {
  /** Where runs are stored: `postgres(…)` or `memoryStore()`. */
  readonly store: Store;
  /** The workflows, dags, graphs, actors and machines that this node starts and works on. */
  readonly programs: readonly (AnyDefinition | AnyActor)[];
  /** The environment: nodes of one env see nothing of another in the same database. @default HOLDFAST_ENV, else `default` */
  readonly env?: string;
  /** The cluster within the env. @default HOLDFAST_STACK, else none */
  readonly stack?: string;
  /** Who this node is. */
  readonly identity?: IdentityOptions;
  /** How many runs this node works on at the same time. @default 10 */
  readonly concurrency?: number;
  /** Which work the node takes, and with which executors. */
  readonly flow?: FlowOptions<Executor>;
  /** Leases, intervals and graces. */
  readonly timing?: TimingOptions;
  /** When a run is reclaimed, dead or quarantined. */
  readonly recovery?: RecoveryOptions;
  /** What programs stored as data may use. With one of these, the node loads them. */
  readonly definitions?: DefinitionOptions;
  /** What programs find in `ctx.services`. A function is called each time a node begins to work on a run. @default nothing */
  readonly services?: Services | ((run: RunOfServices) => Services | Promise<Services>);
  /** How payloads are encoded: the first codec writes, all of them read. `json` is always readable. @default `json` */
  readonly codecs?: readonly Codec[];
  /**
   * The signals on which this node stops and then ends the process. A second signal ends it at once. `true`: SIGTERM and SIGINT in
   * any case. `false`: none. @default SIGTERM and SIGINT, except a signal that the application itself handles
   */
  readonly signals?: SignalOption;
  /** Where the events of this node are emitted. @default a bus of its own */
  readonly bus?: Bus<NodeEvents>;
  /**
   * Where the events of this node are logged. `false`: nowhere.
   * @default warnings and errors on standard error, unless HOLDFAST_LOG is `off`
   */
  readonly logger?: Logger | false;
}

/** The options of a node after the environment was read. */
export type FoundNodeOptions = Omit<NodeOptions, "identity"> & {
  readonly identity?: Omit<IdentityOptions, "id"> & { readonly id?: string };
};

/** Every option. The compiler asks for each name, and a name that is not listed is refused. */
export const OPTION_NAMES: Names<Omit<NodeOptions, "identity" | "flow" | "timing" | "recovery" | "definitions">> & {
  readonly identity: Names<IdentityOptions>;
  readonly flow: Names<FlowOptions>;
  readonly timing: Names<TimingOptions>;
  readonly recovery: Names<RecoveryOptions>;
  readonly definitions: Names<DefinitionOptions>;
} = {
  store: true,
  programs: true,
  env: true,
  stack: true,
  identity: { id: true, name: true, build: true },
  concurrency: true,
  flow: {
    ...SETTING_NAMES.flow,
    executors: true,
    serve: true,
    mode: true,
    claiming: true,
    claims: true,
    takeDeferred: true,
    deferredExpiry: true,
    tracing: true,
    statistics: true,
  },
  timing: SETTING_NAMES.timing,
  recovery: { ...SETTING_NAMES.recovery, reclaim: true },
  definitions: { strategies: true, tasks: true },
  services: true,
  codecs: true,
  signals: true,
  bus: true,
  logger: true,
};

/** Completes what the options leave open from the environment. */
export async function withEnvironment(
  options: NodeOptions,
  environment?: Readonly<Record<string, string | undefined>>,
): Promise<FoundNodeOptions> {
  const { env, stack, flow, identity } = options;
  // What is not an object is refused later, together with everything else that is wrong.
  if ([identity, flow].some((group) => group !== undefined && !isGroup(group))) return options as FoundNodeOptions;
  const { id, name, build } = identity ?? {};
  const own = typeof id === "function" ? nodeName(await id(), "identity.id") : id;
  const found = fromEnvironment({ id: own, name, build, env, stack, mode: flow?.mode }, environment);
  const { env: inEnv, stack: inStack, mode, ...who } = found;
  return {
    ...options,
    ...(inEnv !== undefined && { env: inEnv }),
    ...(inStack !== undefined && { stack: inStack }),
    ...(mode !== undefined && { flow: { ...flow, mode } }),
    identity: { ...identity, ...who } as NonNullable<FoundNodeOptions["identity"]>,
  };
}

/** The options, checked, with defaults, in the form that the engine takes. */
export function readNodeOptions(options: FoundNodeOptions) {
  const { settings, warnings } = resolveSettings(options, OPTION_NAMES);
  const { env, stack, identity = {}, flow = {}, recovery = {} } = options;
  return {
    settings,
    warnings,
    routing: routingOf(flow, settings, options.concurrency),
    /** Null: to be generated. */
    id: identity.id === undefined ? null : nodeName(identity.id, "identity.id"),
    /** Null: the same as the id. */
    name: identity.name === undefined ? null : nodeName(identity.name, "identity.name"),
    /** Null: to be derived from the programs. */
    build: identity.build === undefined ? null : versionName(identity.build, "identity.build"),
    env: envName(env ?? "default", "env"),
    stack: stack === undefined ? null : stackName(stack, "stack"),
    mode: nodeMode(flow.mode ?? "full", "flow.mode"),
    alone: !claimingOf(flow.claiming),
    reclaim: reclaimOf(recovery.reclaim),
    statistics: statisticsOf(flow.statistics),
    takeDeferred: stacksOf(flow.takeDeferred),
    /** Null: deferred runs never expire. */
    deferredExpiryMs: flow.deferredExpiry === false ? null : toMs(flow.deferredExpiry ?? "1d", "flow.deferredExpiry"),
  };
}

function reclaimOf(reclaim: RecoveryOptions["reclaim"] = "every"): "every" | "one" | "off" {
  if (reclaim === "every" || reclaim === "one" || reclaim === "off") return reclaim;
  throw new InvalidInput("recovery.reclaim", 'must be "every", "one" or "off"');
}

/** Undefined: no other stacks. Null: all of them. */
function stacksOf(takeDeferred: FlowOptions["takeDeferred"]): readonly string[] | null | undefined {
  if (takeDeferred === undefined || takeDeferred === "all") return takeDeferred && null;
  return [takeDeferred].flat().map((stack) => stackName(stack, "flow.takeDeferred"));
}

function statisticsOf(statistics: FlowOptions["statistics"] = true): boolean {
  if (typeof statistics === "boolean") return statistics;
  throw new InvalidInput("flow.statistics", "must be true or false");
}

function claimingOf(claiming: FlowOptions["claiming"] = true): boolean {
  if (typeof claiming === "boolean") return claiming;
  throw new InvalidInput("flow.claiming", "must be true or false");
}
