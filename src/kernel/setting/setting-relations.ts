// Relations between settings: combinations that cannot work, and combinations that are unwise.

import { formatDuration } from "../duration.js";
import type { SettingName, Settings } from "./setting-options.js";

export interface Relation {
  readonly between: readonly SettingName[];
  readonly broken: (settings: Settings) => boolean;
  /** Why it matters and what to do. */
  readonly says: (settings: Settings) => string;
}

export const IMPOSSIBLE: readonly Relation[] = [
  {
    between: ["renewEvery", "lease"],
    broken: (s) => s.renewEveryMs >= s.leaseMs,
    says: (s) => `a claim would expire before its first renewal; omit renewEvery or set it to ${third(s)}`,
  },
  {
    between: ["pollMax", "pollInterval"],
    broken: (s) => s.pollMaxMs < s.pollIntervalMs,
    says: () => "the interval grows from pollInterval to pollMax; raise pollMax or lower pollInterval",
  },
  {
    between: ["prefetch", "concurrency"],
    broken: (s) => s.prefetch > s.concurrency,
    says: () => "a node may prefetch at most as many runs as it executes; lower prefetch",
  },
  {
    between: ["historyWarning", "historyLimit"],
    broken: (s) => s.historyWarning > s.historyLimit,
    says: () => "a run is quarantined before the warning; lower historyWarning",
  },
];

export const UNWISE: readonly Relation[] = [
  {
    between: ["lease", "renewEvery"],
    broken: (s) => s.leaseMs < 3 * s.renewEveryMs && s.renewEveryMs < s.leaseMs,
    says: (s) => `one slow or lost renewal can cost the claim; set renewEvery to ${third(s)} or less`,
  },
  {
    between: ["lease"],
    broken: (s) => s.leaseMs < 2000,
    says: () =>
      "a garbage collection or a slow commit can outlast it, and another node takes over live work; use 2s or more",
  },
  {
    between: ["lease"],
    broken: (s) => s.leaseMs > 300_000,
    says: () => "the runs of a hung node wait that long; use 5m or less (long work renews its lease automatically)",
  },
  {
    between: ["housekeeping", "lease"],
    broken: (s) => s.housekeepingMs >= s.leaseMs,
    says: () => "an expired claim is found only after another lease time or later; set housekeeping to 1s",
  },
  {
    between: ["presenceGrace", "lease"],
    broken: (s) => s.presenceGraceMs > s.leaseMs,
    says: () => "the lease expires first, so a dead node is never detected sooner; set presenceGrace to 1s",
  },
  {
    between: ["presenceGrace"],
    broken: (s) => s.presenceGraceMs < 500,
    says: () => "a live node needs up to 500ms to reconnect and would lose its claims; use 1s",
  },
  {
    between: ["pollMax", "lease"],
    broken: (s) => s.pollMaxMs > s.leaseMs,
    says: () => "when a notification is lost, finding work takes longer than a lease; lower pollMax",
  },
  {
    between: ["housekeeping", "pollMax"],
    broken: (s) => idleQueriesPerSecond(s) > 10,
    says: (s) => `an idle node sends ${Math.round(idleQueriesPerSecond(s))} queries per second; raise the shorter one`,
  },
  {
    between: ["crashLimit"],
    broken: (s) => s.crashLimit < 2,
    says: () => "a single crash, even one that another run caused, makes a run dead; use 3 or more",
  },
];

/** The violated relations, without those that involve a setting named in `except`. */
export function brokenRelations(
  relations: readonly Relation[],
  settings: Settings,
  except: ReadonlySet<string> = new Set(),
): string[] {
  return relations
    .filter((relation) => !relation.between.some((name) => except.has(name)) && relation.broken(settings))
    .map(
      (relation) => `${relation.between.map((name) => shown(name, settings)).join(", ")}: ${relation.says(settings)}`,
    );
}

function shown(name: SettingName, settings: Settings): string {
  switch (name) {
    case "concurrency":
    case "prefetch":
    case "crashLimit":
    case "historyWarning":
    case "historyLimit":
      return `${name} is ${settings[name]}`;
    default:
      return `${name} is ${formatDuration(settings[`${name}Ms`])}`;
  }
}

function third(settings: Settings): string {
  return formatDuration(Math.floor(settings.leaseMs / 3));
}

function idleQueriesPerSecond(settings: Settings): number {
  return 1000 / settings.housekeepingMs + 1000 / settings.pollMaxMs;
}
