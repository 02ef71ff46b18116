// The doctor: findings about a server, its nodes and its queues, each with what to do. Pure; the facts are read elsewhere.

import type { QueueRecord } from "../store/contract/limit/queues.js";
import type { NodeRecord } from "../store/contract/node/nodes.js";
import type { Ability, ServerReport } from "../store/contract/server-report.js";

export interface Finding {
  readonly check: string;
  readonly level: "ok" | "warning" | "problem";
  /** One sentence. */
  readonly text: string;
  /** What to do; null when nothing is. */
  readonly remedy: string | null;
}

const OLDEST_VERSION = 140_000;
const MOST_SKEW_MS = 500;
const OLD_SNAPSHOT_MS = 15 * 60_000;
/** A table with fewer dead rows is not worth a word. */
const MANY_DEAD = 10_000;
/** A lease is renewed every third of it: a trip must be far shorter. */
const TRIPS_PER_LEASE = 50;

/** What to do where the slower way is used. */
const FASTER: Readonly<Record<Ability["name"], string>> = {
  "row locks": "Use PostgreSQL 14 or later.",
  "advisory locks": "Shorten `timing.lease`, or connect to the server directly.",
  notifications: "Shorten `timing.pollMax`, or connect to the server directly.",
  "session settings": "Nothing has to be done; a direct connection is a little faster.",
  "prepared statements": "Nothing has to be done; a direct connection is a little faster.",
};

const ok = (check: string, text: string): Finding => ({ check, level: "ok", text, remedy: null });
const bad = (check: string, level: "warning" | "problem", [text, remedy]: readonly [string, string]): Finding => {
  return { check, level, text, remedy };
};

export function examineServer(server: ServerReport, leasesMs: readonly number[]): Finding[] {
  return [
    ok("database", `PostgreSQL ${server.versionText} answers in ${server.roundTripMs.toFixed(1)} ms.`),
    ...settings(server),
    ...schema(server),
    ...health(server),
    lease(server, leasesMs),
    ...server.abilities.map(({ name, is, text }) => {
      if (is === "works") return ok(name, text);
      const remedy = is === "missing" ? "Use PostgreSQL 14 or later." : FASTER[name];
      return bad(name, is === "missing" ? "problem" : "warning", [text, remedy]);
    }),
  ];
}

function settings({
  version,
  versionText,
  isReplica,
  synchronousCommit,
  clockSkewMs,
  pooled,
}: ServerReport): Finding[] {
  const skew = Math.round(Math.abs(clockSkewMs));
  return [
    version < OLDEST_VERSION
      ? bad("version", "problem", [`PostgreSQL ${versionText} is too old.`, "Use version 14 or later."])
      : ok("version", `PostgreSQL ${versionText} is supported.`),
    ...(isReplica ? [bad("replica", "problem", ["This server is a replica.", "Connect to the primary."])] : []),
    synchronousCommit === "off"
      ? bad("synchronous_commit", "problem", [
          "synchronous_commit is off: a crash of the server loses what was acknowledged.",
          "Set it to on for the role or the database of Holdfast.",
        ])
      : ok("synchronous_commit", `synchronous_commit is ${synchronousCommit}.`),
    skew > MOST_SKEW_MS
      ? bad("clock", "warning", [
          `The clocks of this machine and the database differ by ${skew} ms.`,
          "Synchronise them.",
        ])
      : ok("clock", `The clocks differ by ${skew} ms.`),
    pooled
      ? bad("pooler", "warning", [
          "A transaction pooler is in between: no notifications, no session locks.",
          "Give nodes a direct connection if a pick-up within milliseconds and takeovers within seconds matter.",
        ])
      : ok("pooler", "No transaction pooler is in between."),
  ];
}

function schema({ schemaProblem, invalidIndexes }: ServerReport): Finding[] {
  const found = [
    ...(schemaProblem === null ? [] : [bad("schema", "problem", [schemaProblem, "Run `holdfast migrate`."])]),
    ...invalidIndexes.map((index) =>
      bad("schema", "problem", [`The index ${index} is not valid.`, `Run: reindex index ${index}`]),
    ),
  ];
  return found.length > 0 ? found : [ok("schema", "The schema fits this package.")];
}

function health({ tables, oldestSnapshotMs, connections: { used, most } }: ServerReport): Finding[] {
  const bloated = tables.filter(({ live, dead }) => dead > MANY_DEAD && dead > live);
  const minutes = Math.round((oldestSnapshotMs ?? 0) / 60_000);
  return [
    ...bloated.map(({ table, live, dead }) =>
      bad("bloat", "warning", [
        `The table ${table} has ${dead} dead rows and ${live} live ones.`,
        "Look for a long transaction, then let autovacuum work or vacuum it.",
      ]),
    ),
    ...(bloated.length === 0 ? [ok("bloat", "No table has more dead rows than live ones.")] : []),
    (oldestSnapshotMs ?? 0) > OLD_SNAPSHOT_MS
      ? bad("oldest transaction", "warning", [
          `A transaction holds a snapshot for ${minutes} minutes: no row that died since then can be removed.`,
          "Find it in pg_stat_activity by backend_xmin, or in pg_prepared_xacts, and end it.",
        ])
      : ok("oldest transaction", "No transaction holds an old snapshot."),
    used > 0.9 * most
      ? bad("connections", "warning", [`${used} of ${most} connections are used.`, "Raise max_connections or pool."])
      : ok("connections", `${used} of ${most} connections are used.`),
  ];
}

function lease({ roundTripMs }: ServerReport, leasesMs: readonly number[]): Finding {
  const shortest = Math.min(...leasesMs);
  if (leasesMs.length === 0) return ok("lease", "No live node has a lease to compare with the round trip.");
  return shortest < TRIPS_PER_LEASE * roundTripMs
    ? bad("lease", "warning", [
        `The shortest lease is ${shortest} ms, and a round trip takes ${roundTripMs.toFixed(1)} ms.`,
        "Raise `timing.lease`: a few slow answers end the claims of a live node.",
      ])
    : ok("lease", `The shortest lease is ${shortest} ms, a round trip takes ${roundTripMs.toFixed(1)} ms.`);
}

const runs = (count: number) => (count === 1 ? "1 run" : `${count} runs`);

/** Those that give no sign of life, without incarnations that hold nothing and were followed by another of the same node. */
export function silentNodes(nodes: readonly NodeRecord[]): readonly NodeRecord[] {
  const isFollowed = ({ identity, holds }: NodeRecord) =>
    holds === 0 && nodes.some((other) => other.alive && other.identity === identity);
  return nodes.filter((node) => !node.alive && node.stoppedAt === null && !isFollowed(node));
}

/** Nodes that others do not see, and runs that no live node claims. */
export function examineWork(nodes: readonly NodeRecord[], queues: readonly QueueRecord[]): Finding[] {
  const alive = nodes.filter((node) => node.alive);
  const silent = silentNodes(nodes);
  const unserved = queues.filter(({ queue, counts }) => {
    const isServed = alive.some(({ claims }) => claims.some((group) => group.queue === queue));
    return (counts.waiting ?? 0) > 0 && !isServed;
  });
  return [
    ...silent.map(({ name, holds }) =>
      bad("nodes", "warning", [
        `${name} gives no sign of life and has not stopped; it holds ${runs(holds)}.`,
        "Look at its process and its log. Its runs are reclaimed by other nodes.",
      ]),
    ),
    ...(silent.length === 0 ? [ok("nodes", `${alive.length} nodes are alive, none is silent.`)] : []),
    ...unserved.map(({ queue, counts, paused }) =>
      bad("queues", "problem", [
        `${runs(counts.waiting!)} of ${queue} ${counts.waiting === 1 ? "waits" : "wait"}, and no live node claims ${counts.waiting === 1 ? "it" : "them"}${paused ? "; the queue is paused" : ""}.`,
        "Start a node that has its programs, or find out which deployment dropped them.",
      ]),
    ),
    ...(unserved.length === 0 ? [ok("queues", "Every queue with waiting runs has a live node.")] : []),
  ];
}
