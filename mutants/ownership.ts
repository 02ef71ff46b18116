// Planted bugs in presence, doubt and housekeeping.

import type { Killer, Mutant } from "./mutant.js";

const SQL = "src/store/postgres/node/presence-sql.ts";
const MEMORY = "src/store/memory/node/presence.ts";
const HOUSE = "src/engine/upkeep/housekeeping.ts";
const PRESENCE = "src/engine/upkeep/own-presence.ts";
const LIMITS = "src/store/postgres/migrations/0001-limits.ts";
/** The first that breaks an invariant ends it: a wide range costs only a survivor. */
const SEEDS: Killer = { seeds: 150 };
const POSTGRES: Killer = { file: "test/conformance/postgres.test.ts", test: "presence" };
const IN_MEMORY: Killer = { file: "test/conformance/memory.test.ts", test: "presence" };
const PARTS: Killer = { file: "test/engine/housekeeping.test.ts" };
const LOCKED: Killer = { file: "test/engine/locked-rows.test.ts" };
const OWNERSHIP: Killer = { file: "test/engine/ownership.test.ts" };

export const ownership: readonly Mutant[] = [
  {
    name: "a node without its lock is gone despite recent heartbeats",
    breaks: "S5: a node that renews and sends heartbeats keeps its claims",
    edits: [{ file: SQL, find: ' m.seen_at + ${interval("f.n * m.silence")},', put: "" }],
    killedBy: [POSTGRES],
  },
  {
    name: "a node without presence is gone despite recent heartbeats, in memory",
    breaks: "S5: a node that renews and sends heartbeats keeps its claims",
    edits: [{ file: MEMORY, find: " heardUs(tables, row) + factor * silenceUs,", put: "" }],
    killedBy: [SEEDS],
  },
  {
    name: "a renewal does not count as a heartbeat",
    breaks: "S5: a node that renews keeps its claims",
    edits: [
      {
        file: "src/store/memory/claim/claims.ts",
        find: "    if (row.owner) beat(tables, row.owner);\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/store/differential/differential.test.ts" }],
  },
  {
    name: "a node that lost its presence sends heartbeats no more often",
    breaks: "S5: a node whose presence cannot be opened sends heartbeats in time",
    edits: [{ file: HOUSE, find: "Math.min(pauseMs, this.#options.presence.nextBeatMs ?? pauseMs)", put: "pauseMs" }],
    killedBy: [PARTS],
  },
  {
    name: "a slow answer delays the next heartbeat",
    breaks: "L3: a node that is present does not doubt its claims because the store is slow",
    edits: [{ file: HOUSE, find: "pauseMs - (world.monotonicNow() - sentAt)", put: "pauseMs" }],
    killedBy: [PARTS],
  },
  {
    name: "renewals fail when their own connection is unavailable",
    breaks: "S5: a node whose other connections work keeps its claims",
    edits: [
      {
        file: "src/store/postgres/claim/renew-claims.ts",
        find: "    if (!isStoreTrouble(error)) throw error;\n    return db.run<Row>(renewClaims, values, how);",
        put: "    throw error;",
      },
    ],
    killedBy: [{ ...OWNERSHIP, test: "cannot be opened again" }],
  },
  {
    name: "a node that was missing continues without doubt",
    breaks: "L5: a node that is cut off begins nothing once it can have been replaced",
    edits: [
      {
        file: "src/engine/session.ts",
        find: "return isOver || this.#renewedAt < this.#presence.doubtBefore;",
        put: "return isOver;",
      },
    ],
    killedBy: [SEEDS, { ...OWNERSHIP, test: "cut off begins nothing" }],
  },
  {
    name: "an accepted heartbeat ends the doubt, even if the claims are lost",
    breaks: "L5",
    edits: [
      {
        file: PRESENCE,
        find: "    if (this.#isMissed) this.#doubtBefore = Math.max(this.#doubtBefore, at);\n",
        put: "    if (at > Number.MAX_VALUE) this.#doubtBefore = at;\n",
      },
    ],
    killedBy: [{ file: "test/engine/own-presence.test.ts" }],
  },
  {
    name: "a process that was stopped trusts the presence it had before",
    breaks: "L5",
    edits: [{ file: PRESENCE, find: "(!this.#isConfirmed || isLong(this.#beatAt))", put: "!this.#isConfirmed" }],
    killedBy: [{ file: "test/engine/own-presence.test.ts" }],
  },
  {
    name: "a registration does not record which nodes are missing",
    breaks: "a single node that restarts reclaims its runs within 2.5 s",
    edits: [{ file: "src/store/memory/node/nodes.ts", find: "  noteMissing(tables, env, incarnation);\n", put: "" }],
    killedBy: [IN_MEMORY],
  },
  {
    name: "the time at which a missing node counts as gone is not slept on",
    breaks: "a single node that restarts reclaims its runs within 2.5 s",
    edits: [
      {
        file: "src/store/postgres/node/housekeep.ts",
        find: ",\n    (select min(g.at) from departing g where g.at > (select now from t))\n",
        put: "\n",
      },
    ],
    killedBy: [POSTGRES],
  },
  {
    name: "the time at which a missing node counts as gone is not slept on in memory",
    breaks: "a single node that restarts reclaims its runs within 2.5 s",
    edits: [
      {
        file: "src/store/memory/node/housekeep.ts",
        find: ", ...departing(tables, round).values()]",
        put: "]",
      },
    ],
    killedBy: [{ file: "test/simulator/recovery-time.test.ts" }],
  },
  {
    name: "every failure of a witness prolongs its wait",
    breaks: "reclaiming under flapping connections",
    edits: [{ file: "src/store/contract/node/presence.ts", find: "TROUBLE_FACTOR = 3;", put: "TROUBLE_FACTOR = 30;" }],
    killedBy: [IN_MEMORY],
  },
  {
    name: "a witness judges others although its own calls failed",
    breaks: "S5: after an outage live nodes have time to reconnect",
    edits: [
      {
        file: MEMORY,
        find: "(troubled && sinceUs(row) <= nowUs + silenceUs - toUs(watchedMs)) ||",
        put: "(troubled && watchedMs < 0) ||",
      },
    ],
    killedBy: [IN_MEMORY],
  },
  {
    name: "a witness that has just started acts on expired leases",
    breaks: "S5: after an outage live nodes renew first",
    edits: [
      {
        file: SQL,
        find: "`${watchedMs} >= ${WATCHED_HEARTBEATS} * coalesce(${heartbeatMs}, ${DEFAULT_WATCH_MS})`",
        put: "`${watchedMs} >= 0 * ${WATCHED_HEARTBEATS} * coalesce(${heartbeatMs}, ${DEFAULT_WATCH_MS})`",
      },
    ],
    killedBy: [POSTGRES],
  },
  {
    name: "a reclaim takes runs of every env",
    breaks: "isolation of envs",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim.ts",
        find: "condition: inEnv(d, WITNESS.env),",
        put: 'condition: "true",',
      },
      {
        file: SQL,
        find: "where n.env = ${env} and n.stopped_at is null and n.presence is not null and not ${isHere(",
        put: "where n.stopped_at is null and n.presence is not null and not ${isHere(",
      },
    ],
    killedBy: [POSTGRES],
  },
  {
    name: "a reclaim takes runs of every env, in memory",
    breaks: "isolation of envs",
    edits: [
      {
        file: "src/store/memory/node/housekeep.ts",
        find: "    group.env === witness.env &&\n",
        put: "    group !== null &&\n",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "the queue face reclaims the jobs of every env",
    breaks: "isolation of envs",
    edits: [
      {
        file: "src/store/postgres/claim/reclaim-expired.ts",
        find: 'condition: inEnv(d, "$2::text"),',
        put: 'condition: "$2::text = $2::text",',
      },
    ],
    killedBy: [{ ...OWNERSHIP, test: "foreign env|takes nothing" }],
  },
  {
    name: "a holder is judged by a grace that is not its own",
    breaks: "isolation: the holder's settings decide",
    edits: [
      {
        file: SQL,
        find: "`coalesce(n.presence_grace_ms, ${DEFAULT_GRACE_MS})`",
        put: "`least(n.presence_grace_ms, ${DEFAULT_GRACE_MS} / 10)`",
      },
    ],
    killedBy: [POSTGRES],
  },
  {
    name: "a round waits until parked runs are woken",
    breaks: "one slow part holds up no other",
    edits: [
      {
        file: HOUSE,
        find: 'if (report.due) chores.begin("wake", () => wakeIn(options, chores));',
        put: "if (report.due) await wakeIn(options, chores);",
      },
    ],
    killedBy: [PARTS],
  },
  {
    name: "admission waits for a run that another transaction holds",
    breaks: "one locked row does not stall the cluster",
    edits: [
      {
        file: LIMITS,
        find: "    for no key update skip locked\n  ), free_rates",
        put: "    for no key update\n  ), free_rates",
      },
    ],
    killedBy: [{ ...LOCKED, test: "head is locked|waits, and no other line does" }],
  },
  {
    name: "a run passes the locked head of its line",
    breaks: "S14",
    edits: [
      {
        file: LIMITS,
        find: "over (partition by j.key order by j.n) as free",
        put: "over (partition by j.run_id) as free",
      },
    ],
    killedBy: [{ ...LOCKED, test: "head is locked|waits, and no other line does" }],
  },
  {
    name: "a wake-up waits for a place in line that another transaction holds",
    breaks: "one locked row does not stall the cluster",
    edits: [
      {
        file: "src/store/postgres/inbox/wake-parked.ts",
        find: 'stuckParts(d, "select id from woken where limited", NO_RUNS)',
        put: "stuckParts(d, NO_RUNS, NO_RUNS)",
      },
    ],
    killedBy: [{ ...LOCKED, test: "does not keep others asleep" }],
  },
  {
    name: "a start applies the declared policy although a callback decides",
    breaks: "reclaim: off leaves orphans to the callback",
    edits: [
      {
        file: "src/engine/upkeep/register-node.ts",
        find: 'reclaims: options.reclaimer !== "off"',
        put: "reclaims: true",
      },
    ],
    killedBy: [{ file: "test/modes/recovery.test.ts", test: "with the reclaimer off" }],
  },
  {
    name: "a start that reclaims runs does not report it",
    breaks: "every reclaim is reported",
    edits: [
      {
        file: "src/engine/upkeep/register-node.ts",
        find: "  reportReclaimed(bus, answer.reclaimed);\n",
        put: '  for (const one of answer.reclaimed) bus.emit("run.reclaimed", one);\n',
      },
    ],
    killedBy: [{ file: "test/modes/recovery.test.ts", test: "reports a reclaim" }],
  },
  {
    name: "a claim that is in doubt when it is granted waits for the next renewal",
    breaks: "a node continues as soon as the store is available",
    edits: [{ file: "src/engine/claiming/lease-keeper.ts", find: "    if (session.inDoubt) this.wake();\n", put: "" }],
    killedBy: [{ file: "test/engine/lease-keeper.test.ts", test: "in doubt when it is granted" }],
  },
  {
    name: "a claim whose row was locked waits for the next renewal",
    breaks: "a run of many short steps keeps its claim",
    edits: [{ file: "src/engine/claiming/lease-keeper.ts", find: "        busy.add(session);\n", put: "" }],
    killedBy: [{ file: "test/engine/lease-keeper.test.ts", test: "whose row was locked" }],
  },
  {
    name: "a locked row keeps other claims in doubt",
    breaks: "one locked row does not stall the cluster",
    edits: [
      {
        file: "src/engine/claiming/lease-keeper.ts",
        find: "this.#busy.has(session) || session.inDoubt",
        put: "this.#busy.has(session)",
      },
    ],
    killedBy: [{ file: "test/engine/lease-keeper.test.ts", test: "comes into doubt together" }],
  },
  {
    name: "a dropped claim of a node that is alone keeps its lease when its row was locked",
    breaks: "L3",
    edits: [
      { file: "src/engine/claiming/lease-keeper.ts", find: 'if (answers[i]!.outcome !== "busy") this', put: "this" },
    ],
    killedBy: [{ file: "test/engine/keeper-alone.test.ts", test: "its row was locked" }],
  },
  {
    name: "a claim that is dropped while it is renewed for good keeps its lease",
    breaks: "L3",
    edits: [
      { file: "src/engine/claiming/lease-keeper.ts", find: "    else this.#dropped.add(session.run);\n", put: "" },
    ],
    killedBy: [{ file: "test/engine/keeper-alone.test.ts", test: "while it is renewed" }],
  },
  {
    name: "a claim does not count as a heartbeat",
    breaks: "S5: a node with recent heartbeats keeps its claims",
    edits: [
      {
        file: "src/store/postgres/node/presence-sql.ts",
        find: "greatest(n.seen_at, ${lastGrant(s)}) as seen_at",
        put: "n.seen_at",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "sign of life is not gone" }],
  },
  {
    name: "a node whose goodbye is refused stays present",
    breaks: "L7",
    edits: [
      {
        file: "src/engine/engine.ts",
        find: 'part?.catch((error) => bus.emit("housekeeping.failed", { error }))',
        put: "part",
      },
    ],
    killedBy: [{ file: "test/engine/shutdown.test.ts", test: "goodbye is refused" }],
  },
];
