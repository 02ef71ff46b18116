// The parameters of one simulation, drawn from its seed: every seed is another cluster with other faults.

import type { RetentionOptions } from "../kernel/setting/retention.js";
import type { SettingOptions } from "../kernel/setting/setting-options.js";
import { Chance } from "./chance.js";
import type { Weather } from "./link.js";

export const FAULTS = ["kill", "pause", "cut", "stop", "restart", "failover", "jump", "absent"] as const;
export type Fault = (typeof FAULTS)[number];

export interface Swarm {
  readonly seed: number;
  readonly nodes: number;
  readonly leaseMs: number;
  readonly settings: SettingOptions;
  readonly weather: Weather;
  /** Mean time between two faults of a kind; missing: none of it. */
  readonly faults: Partial<Record<Fault, number>>;
  /** Mean time between two refusals of the server's, each of one node for a while; null: none. */
  readonly refuseEveryMs: number | null;
  /** How long faults continue; then everything heals. */
  readonly faultsForMs: number;
  /** Once everything has healed: how often what still waits is brought closer to its end. */
  readonly urgeEveryMs: number;
  readonly runs: number;
  /** A node of another env is there, too, with settings that know no patience. */
  readonly foreign: boolean;
  /** How many of them may be at work at once, in the whole cluster; null: as many as there are. */
  readonly slots: number | null;
  /** A node of an env of its own has the same programs, and a client of that env uses the same keys and events. */
  readonly sister: boolean;
  /** Points of the code are bent: small batches, early polls, lost wakes. */
  readonly buggify: boolean;
  /** What has ended is removed this soon; null: never within a simulation. */
  readonly retention: RetentionOptions | null;
}

export function drawSwarm(seed: number): Swarm {
  const chance = new Chance(seed).split("swarm");
  const leaseMs = chance.int(200, 3000);
  const faultsForMs = leaseMs * chance.int(6, 16);
  return {
    seed,
    nodes: chance.int(2, 5),
    leaseMs,
    settings: drawSettings(chance, leaseMs),
    // By its number: the seeds that once found a bug stay what they were.
    weather: { ...drawWeather(chance, leaseMs), lateSeals: seed % 6 === 4 ? 0.5 : 0 },
    // Drawn apart: the seeds that once found a bug stay what they were.
    faults: { ...drawFaults(chance, leaseMs), ...drawAbsence(new Chance(seed).split("absence"), leaseMs) },
    refuseEveryMs: seed % 4 === 3 ? leaseMs * new Chance(seed).split("refusals").between(1, 4) : null,
    faultsForMs,
    urgeEveryMs: 3 * leaseMs,
    runs: chance.int(3, 14),
    foreign: seed % 7 === 0,
    // Every fifth, by its number: the seeds that once found a bug stay what they were.
    slots: seed % 5 === 0 ? new Chance(seed).split("slots").int(1, 3) : null,
    sister: false,
    buggify: false,
    retention: null,
  };
}

export function drawSettings(chance: Chance, leaseMs: number): SettingOptions {
  // In this order: the seeds that once found a bug stay what they were.
  const pollInterval = Math.ceil(leaseMs * chance.between(0.05, 0.3));
  const renewEvery = Math.ceil(leaseMs * chance.between(0.05, 0.35));
  const concurrency = chance.int(1, 5);
  const housekeeping = Math.ceil(leaseMs * chance.between(0.1, 0.5));
  const presenceGrace = Math.ceil(leaseMs * chance.one([0, 0.25, 0.5]));
  const shutdownGrace = Math.ceil(leaseMs * chance.between(0, 2));
  const crashLimit = chance.int(2, 6);
  const pollMax = pollInterval * chance.int(1, 4);
  return {
    concurrency,
    timing: { lease: leaseMs, renewEvery, housekeeping, presenceGrace, shutdownGrace, pollInterval, pollMax },
    recovery: { crashLimit },
  };
}

export function drawWeather(chance: Chance, leaseMs: number): Omit<Weather, "lateSeals"> {
  const timeoutMs = leaseMs * chance.between(0.1, 0.5);
  const rough = (most: number) => (chance.happens(0.6) ? chance.between(0, most) : 0);
  return {
    // A round trip is at most three times this: below the timeout, or no node could ever start.
    latencyMs: timeoutMs * chance.between(0.005, chance.happens(0.3) ? 0.3 : 0.15),
    loss: rough(0.1),
    late: rough(0.04),
    busy: rough(0.1),
    timeoutMs,
    retryForMs: timeoutMs * chance.one([0, 1, 3]),
  };
}

/** All but the last, which is drawn apart. */
export function drawFaults(chance: Chance, leaseMs: number): Swarm["faults"] {
  const kinds = FAULTS.slice(0, -1).filter((kind) =>
    chance.happens(kind === "failover" || kind === "jump" ? 0.25 : 0.5),
  );
  return Object.fromEntries(kinds.map((kind) => [kind, leaseMs * chance.between(1, 6)]));
}

function drawAbsence(chance: Chance, leaseMs: number): Swarm["faults"] {
  return chance.happens(0.5) ? { absent: leaseMs * chance.between(1, 6) } : {};
}
