// What a node is given, and what becomes of it.

import type { AnyActor } from "../actor/actor.js";
import type { Strategies } from "../actor/named-strategy.js";
import type { Identity, IdentityOptions } from "../client/identity.js";
import type { Tasks } from "../dag/named-task.js";
import type { RoutingOptions } from "../engine/claiming/routing.js";
import type { Codec } from "../kernel/codec/codec.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { stackName } from "../kernel/name.js";
import type { SettingOptions } from "../kernel/setting/setting-options.js";
import type { AnyDefinition } from "../program/definition.js";
import type { RunOfServices, Services } from "../program/environment.js";
import type { Store } from "../store/contract/store.js";
import type { Bus } from "../telemetry/bus.js";
import type { Logger } from "./logger.js";
import type { NodeEvents } from "./node-events.js";
import type { SignalOption } from "./process-signals.js";
import type { ClaimsOption } from "./work-guard.js";

export interface NodeOptions<Executor extends string = string>
  extends SettingOptions,
    IdentityOptions,
    RoutingOptions<Executor> {
  readonly store: Store;
  readonly programs: readonly (AnyDefinition | AnyActor)[];
  /** Whether every node takes back the runs of dead ones, one at a time under a lease, or this one never. Default: every. */
  readonly sweeper?: "every" | "one" | "off";
  /**
   * `false`: this node is the only one of its env and stack. It renews a claim once at most, and does not start beside
   * another that lives. Default: true.
   */
  readonly claiming?: boolean;
  /** Also works on what waits in other stacks and is worked on by nobody there: `"all"`, or some. Default: none. */
  readonly takeDeferred?: "all" | string | readonly string[];
  /** Asked for a right before the work of each run begins: see `WorkClaims`. Default: none, and nothing is asked. */
  readonly claims?: ClaimsOption;
  /** How long what it leaves to others may wait for them; then it is cancelled. `false`: for ever. Default: a day. */
  readonly deferredExpiry?: Duration | false;
  /**
   * Stop in order on these signals, then end the process; a second one ends it now. Default: SIGTERM and SIGINT, except for one that
   * the application itself listens to when it arrives. `true`: these two whoever else listens. `false`: none.
   */
  readonly signals?: SignalOption;
  /** The first writes; `json` is always readable. */
  readonly codecs?: readonly Codec[];
  readonly bus?: Bus<NodeEvents>;
  readonly logger?: Logger;
  /** By name, what definitions in the database may use. With one of these, the node loads them and works on them. */
  readonly strategies?: Strategies;
  readonly tasks?: Tasks;
  /** What programs find in `ctx.services`. */
  readonly services?: Services;
  /** Services for one run only; they go over the node's. Asked for each time the run is worked on. */
  readonly perRun?: (run: RunOfServices) => Partial<Services> | Promise<Partial<Services>>;
}

/** The identity is found, and nothing is taken from the environment. */
export type FoundNodeOptions = Omit<NodeOptions, keyof IdentityOptions> & Identity;

export function sweeperOf(sweeper: NodeOptions["sweeper"] = "every"): "every" | "one" | "off" {
  if (sweeper === "every" || sweeper === "one" || sweeper === "off") return sweeper;
  throw new InvalidInput("sweeper", 'must be "every", "one" or "off"');
}

export function expiryOf(expiry: Duration | false | undefined): number | null {
  return expiry === false ? null : toMs(expiry ?? "1d", "deferredExpiry");
}

/** Undefined: none. Null: all. */
export function stacksOf(takeDeferred: NodeOptions["takeDeferred"]): readonly string[] | null | undefined {
  if (takeDeferred === undefined || takeDeferred === "all") return takeDeferred && null;
  return [takeDeferred].flat().map((stack) => stackName(stack, "takeDeferred"));
}

export function claimingOf(claiming: boolean = true): boolean {
  if (typeof claiming === "boolean") return claiming;
  throw new InvalidInput("claiming", "must be true or false");
}
