// Faults of the database, and the tests that show what holds.

import { CHAOS, type Fault, fault, SEEDS, UNANSWERED } from "../fault.js";

export const database: readonly Fault[] = [
  fault(
    "F16",
    ["Connections terminated, idle or active", "Resets and terminated backends under load."],
    UNANSWERED,
    CHAOS,
    "engine/attend: lost its connection",
  ),
  fault(
    "F17",
    ["The database stops at once and starts again", "Every acknowledged start and recorded step is there."],
    CHAOS,
    "embedded/crash: every committed row",
  ),
  fault(
    "F18",
    [
      "The database crashes, or a node is killed, in the middle of a reclaim",
      "One statement: every run is held or waits, the next round finishes.",
    ],
    "scenarios/killed-reclaimer",
  ),
  fault(
    "F19",
    ["One backend is killed and the server resets all sessions", "No claim changes hands, all work is done."],
    "faults/server: (F19)",
  ),
  fault(
    "F20",
    ["The database is away for longer than a lease", "20 s: no claim changes hands, full speed within 10 s."],
    "engine/outage",
  ),
  fault(
    "F21",
    [
      "A server that is read-only, by its name or by its settings",
      "Never taken as success; clients and nodes are back within 5 s of the name being right, without a cut.",
    ],
    "scenarios/moved-name",
    "scenarios/refusals: read-only (25006)",
  ),
  fault(
    "F22",
    [
      "The disk of the server's log is full",
      "The server stops by itself. With room again and a start of the server all work is done, nothing twice.",
    ],
    "faults/disk-full: (F22)",
  ),
  fault(
    "F23",
    [
      "The disk of the tables is full",
      "An outage (53100): no attempt is used up, no run fails, all work is done later.",
    ],
    "faults/disk-full: (F23)",
  ),
  fault(
    "F24",
    [
      "A failover that loses the last commits",
      "Simulated, and with a real lagging replica that is promoted: no epoch has two tokens, nodes register again, a lost claim group comes back under its number; with a synchronous replica nothing is lost.",
    ],
    SEEDS,
    "scenarios/failover",
    "store/groups",
  ),
  fault(
    "F25",
    [
      "A server restored from an old backup while nodes run",
      "As F24: claims of the lost time are refused, nodes register again, work continues from the backup.",
    ],
    "faults/server: (F25)",
  ),
  fault(
    "F26",
    [
      "A server that refuses: no connections left, a rotated password, revoked rights, no schema",
      "Held and reported; no step, effect, task, episode or run fails.",
    ],
    "scenarios/refusals",
    SEEDS,
  ),
  fault(
    "F27",
    ["A pool that is used up", "Renewals have a connection of their own."],
    "store/connections: one of them for renewals",
    "store/connections: not even when it is used up",
  ),
  fault(
    "F28",
    ["A partitioned client that holds row locks", "Limits on locks, statements and idle transactions; black holes."],
    "store/connections: carry limits on locks",
    "engine/locked-rows",
    CHAOS,
  ),
  fault(
    "F29",
    [
      "An old snapshot pins the horizon: no dead row can be removed",
      "100,000 runs (2,000 in CI): claims stay under the bound of the test, the doctor names the snapshot.",
    ],
    "faults/load: (F29)",
  ),
  fault(
    "F30",
    ["A lock queue behind DDL", "Migrations wait briefly and try again."],
    "store/migrate: does not queue behind a lock",
  ),
  fault(
    "F31",
    ["Deadlocks and serialization failures", "None caused by us; repeated when met."],
    "store/races/races-keys",
    "store/races/races-inbox",
    "store/races/races-nodes",
    CHAOS,
  ),
  fault(
    "F32",
    [
      "Statements cancelled at any moment",
      "Repeated; nothing fails, no row is booked twice. A statement of a step's own transaction counts as an attempt.",
    ],
    "scenarios/refusals: (57014, F32)",
  ),
  fault("F33", ["A slow database", "Latency of 20 to 250 ms."], CHAOS),
  fault(
    "F34",
    ["The planner turns a claim into a nested loop", "No claim takes more than it asked for."],
    "store/planner/planner: no more than its limit",
    "store/planner/housekeeping-large",
  ),
  fault("F35", ["Ids beyond 31 and 53 bits", "They stay exact and in order."], "store/sessions: beyond 2^31"),
  fault(
    "F36",
    [
      "The queue of notifications is full",
      "Work is started, also in a caller's transaction, and found by polling; needs PostgreSQL 17 or later to be shown.",
    ],
    "faults/server: (F36)",
  ),
  fault(
    "F37",
    ["A listener whose connection broke", "Listens again."],
    "engine/attend: a listener whose connection broke",
  ),
  fault(
    "F38",
    [
      "The price of NOTIFY, which locks the server at commit",
      "Sent behind the commit, and not once per row: starts keep 80 % of their rate without it (`npm run faults`).",
    ],
    "faults/load: (F38)",
    "engine/attend: sends one wake",
  ),
];
