// Options of the timeout sweeper, their defaults, and how they are validated.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { leaseKey, nodeName } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import { type LeaderTiming, leaderTiming } from "../lease/leader-timing.js";
import type { WorkClaims } from "../lease/work-claims.js";
import type { ClaimedTimeout, InTransaction, TimeoutStore } from "./timeout-store.js";

/** `fired`: the write moved the instance. `stale`: the instance had left the timed state, and nothing was written. */
export type FireOutcome = "fired" | "stale";

/** What `fire` gets next to the timeout. */
export interface FireContext {
  /** Aborts when the claim expires, with a `TimeoutClaimOver` as its reason. */
  readonly signal: AbortSignal;
  /** Removes the timeout in your own transaction. False: the claim is lost; roll back and return "stale". */
  complete(options: Required<InTransaction>): Promise<boolean>;
}

/**
 * Moves the instance in one write that is conditional on the timeout's `state` and `sequence`. If you read the state first and wrote
 * afterwards, an event could arrive in between. The sweeper passes no current state for that reason.
 */
export type Fire<Id extends string = string, State extends string = string> = (
  timeout: ClaimedTimeout<Id, State>,
  context: FireContext,
) => Promise<FireOutcome>;

/** How the sweepers elect the one that works. */
export interface LeaderElection extends LeaderTiming {
  /** Where the leader is elected. @default the store that keeps the timeouts */
  readonly claims?: WorkClaims;
  /** The key of the leadership. @default `timeout-sweeper:` and the scope */
  readonly key?: string;
}

/** Options of `TimeoutSweeper`. */
export interface SweeperOptions<Id extends string = string, State extends string = string> {
  /** The timeouts. */
  readonly store: TimeoutStore<Id, State>;
  /** Moves the instance of a due timeout. */
  readonly fire: Fire<Id, State>;
  /** Unique to this process. @default generated */
  readonly nodeId?: string;
  /** Longest pause before the next look, not counting jitter and `backoffOnEmpty`. @default 5 s */
  readonly sweepInterval?: Duration;
  /** From 0 to 1: the share of the interval that is added at random. @default 0.2 */
  readonly jitterFactor?: number;
  /** Added to the pause when nothing was due. @default 0 */
  readonly backoffOnEmpty?: Duration;
  /** Timeouts per look. A full look is followed by the next one at once. @default 100 */
  readonly batchSize?: number;
  /** How long a claim keeps other nodes from firing the same timeout. @default 30 s */
  readonly claimDuration?: Duration;
  /** Claims of one timeout that fail or are never released, until it is given up. @default 20: about an hour of back-off */
  readonly maxAttempts?: number;
  /** Handlers at the same time. @default 10 */
  readonly concurrency?: number;
  /** Only the leader sweeps. Without it, every sweeper does. */
  readonly leaderElection?: LeaderElection;
  /** Clock, timers and chance; for tests. */
  readonly world?: World;
}

const NAMES = [
  "store",
  "fire",
  "nodeId",
  "sweepInterval",
  "jitterFactor",
  "backoffOnEmpty",
  "batchSize",
  "claimDuration",
  "maxAttempts",
  "concurrency",
  "leaderElection",
  "world",
];
const SHORTEST_CLAIM_MS = 10;
const LARGEST_BATCH = 1_000;
const MOST_ATTEMPTS = 1_000_000;

export type SweeperSettings = Readonly<ReturnType<typeof sweeperSettings>>;

export function sweeperSettings<Id extends string, State extends string>(options: SweeperOptions<Id, State>) {
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new InvalidInput(unknown, `is no option of a sweeper; the options are ${NAMES.join(", ")}`);
  }
  if (typeof options.fire !== "function") throw new InvalidInput("fire", "must be a function of a claimed timeout");
  const { jitterFactor = 0.2, batchSize = 100, maxAttempts = 20, concurrency = 10, world = systemWorld() } = options;
  if (typeof jitterFactor !== "number" || !(jitterFactor >= 0 && jitterFactor <= 1)) {
    throw new InvalidInput("jitterFactor", `must be from 0 to 1; it is ${String(jitterFactor)}`);
  }
  return {
    nodeId: nodeName(options.nodeId ?? world.token(), "nodeId"),
    sweepIntervalMs: atLeast(1, options.sweepInterval ?? "5s", "sweepInterval"),
    jitterFactor,
    backoffOnEmptyMs: toMs(options.backoffOnEmpty ?? 0, "backoffOnEmpty"),
    batchSize: wholeFromOne(batchSize, LARGEST_BATCH, "batchSize"),
    claimMs: atLeast(SHORTEST_CLAIM_MS, options.claimDuration ?? "30s", "claimDuration"),
    maxAttempts: wholeFromOne(maxAttempts, MOST_ATTEMPTS, "maxAttempts"),
    concurrency: wholeFromOne(concurrency, LARGEST_BATCH, "concurrency"),
    election: options.leaderElection ? electionOf(options.leaderElection, options.store) : null,
    world,
  };
}

function electionOf(election: LeaderElection, store: Pick<TimeoutStore, "claims" | "scope">) {
  const { claims = store.claims, key = `timeout-sweeper:${store.scope}`, ...timing } = election;
  if (!claims) {
    const problem = "this timeout store elects no leader; pass work claims, such as storeClaims(store.leases)";
    throw new InvalidInput("leaderElection.claims", problem);
  }
  leaderTiming(timing, "leaderElection.");
  return { claims, key: leaseKey(key, "leaderElection.key"), timing };
}

function atLeast(least: number, duration: Duration, path: string): number {
  const ms = toMs(duration, path);
  if (ms >= least) return ms;
  throw new InvalidInput(path, `must be ${least} ms or more; it is ${ms} ms`);
}

function wholeFromOne(value: number, most: number, path: string): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new InvalidInput(path, `must be a whole number from 1 to ${most}; it is ${String(value)}`);
}
