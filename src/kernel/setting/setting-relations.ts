// Relations between settings: combinations that cannot work, and combinations that work but are unwise.

import { formatDuration } from "../duration.js";
import { BOUNDS, type SettingName, type Settings } from "./setting-options.js";

export interface Relation {
  readonly between: readonly SettingName[];
  readonly broken: (settings: Settings) => boolean;
  /** Why it matters, and what to do. */
  readonly says: (settings: Settings) => string;
}

export const IMPOSSIBLE: readonly Relation[] = [
  {
    between: ["timing.renewEvery", "timing.lease"],
    broken: (s) => s.renewEveryMs >= s.leaseMs,
    says: (s) => `a claim would expire before its first renewal; omit renewEvery or set it to ${third(s)}`,
  },
  {
    between: ["timing.pollMax", "timing.pollInterval"],
    broken: (s) => s.pollMaxMs < s.pollIntervalMs,
    says: () => "the interval grows from pollInterval to pollMax; raise pollMax or lower pollInterval",
  },
  {
    between: ["flow.prefetch", "concurrency"],
    broken: (s) => (s.prefetch ?? 0) > s.concurrency,
    says: () => "a node may claim ahead at most as many runs as it works on; lower prefetch",
  },
  {
    between: ["recovery.historyWarning", "recovery.historyLimit"],
    broken: (s) => s.historyWarning > s.historyLimit,
    says: () => "a run would be quarantined before the warning; lower historyWarning",
  },
];

export const UNWISE: readonly Relation[] = [
  {
    between: ["timing.lease", "timing.renewEvery"],
    broken: (s) => s.leaseMs < 3 * s.renewEveryMs && s.renewEveryMs < s.leaseMs,
    says: (s) => `one slow or lost renewal can cost the claim; set renewEvery to ${third(s)} or less`,
  },
  {
    between: ["timing.lease"],
    broken: (s) => s.leaseMs < 2000,
    says: () =>
      "a garbage collection or a slow commit can take longer, and another node would reclaim live work; use 2s or more",
  },
  {
    between: ["timing.lease"],
    broken: (s) => s.leaseMs > 300_000,
    says: () =>
      "the runs of a node that hangs wait this long; use 5m or less (the lease of long work is renewed automatically)",
  },
  {
    between: ["timing.housekeeping", "timing.lease"],
    broken: (s) => s.housekeepingMs >= s.leaseMs,
    says: () => "expired claims are found only after another lease has passed; set housekeeping to 1s",
  },
  {
    between: ["timing.presenceGrace", "timing.lease"],
    broken: (s) => s.presenceGraceMs > s.leaseMs,
    says: () => "the lease expires first, so the grace has no effect; set presenceGrace to 1s",
  },
  {
    between: ["timing.presenceGrace"],
    broken: (s) => s.presenceGraceMs < 500,
    says: () => "a live node needs up to 500ms to reconnect and would lose its claims; use 1s",
  },
  {
    between: ["timing.pollMax", "timing.lease"],
    broken: (s) => s.pollMaxMs > s.leaseMs,
    says: () => "after a lost notification, finding work takes longer than a lease; lower pollMax",
  },
  {
    between: ["timing.housekeeping", "timing.pollMax"],
    broken: (s) => idleQueriesPerSecond(s) > 10,
    says: (s) => `an idle node sends ${Math.round(idleQueriesPerSecond(s))} queries per second; raise the shorter one`,
  },
  {
    between: ["recovery.crashLimit"],
    broken: (s) => s.crashLimit < 2,
    says: () => "one crash, even if another run caused it, makes a run dead; use 3 or more",
  },
];

/** The messages of the broken relations, except those that involve a setting in `except`. */
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
  const field = name.slice(name.indexOf(".") + 1);
  const values = settings as unknown as Readonly<Record<string, number>>;
  return `${name} is ${BOUNDS[name].kind === "count" ? values[field] : formatDuration(values[`${field}Ms`]!)}`;
}

function third(settings: Settings): string {
  return formatDuration(Math.floor(settings.leaseMs / 3));
}

function idleQueriesPerSecond(settings: Settings): number {
  return 1000 / settings.housekeepingMs + 1000 / settings.pollMaxMs;
}
