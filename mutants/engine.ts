// Planted bugs in the engine: claims, sessions, commits and transactions.

import type { Mutant } from "./mutant.js";

/** The first that breaks an invariant ends it: a wide range costs only a survivor. */
const SEEDS = { seeds: 150 };
const SESSION = "src/engine/session.ts";
const CALLS = "src/engine/store-calls.ts";
const LIMITS = "src/replay/replay-limits.ts";

export const engine: readonly Mutant[] = [
  {
    name: "after a look at recent runs, none at all runs follows",
    breaks: "a run does not wait while another node has a slot for it",
    edits: [{ file: "src/engine/claiming/look-back.ts", find: "if (!this.#isOwed) return", put: "return" }],
    killedBy: [{ file: "test/engine/claim-loop.test.ts", test: "while looks are slow" }],
  },
  {
    name: "a claim of recent runs reads past all that a long transaction keeps",
    breaks: "plans do not depend on when they were made",
    edits: [
      {
        file: "src/store/postgres/claim/claim-runs.ts",
        find: 'and r.available_at > ${recentFrom(d, "$8")}',
        put: "and (r.available_at + interval '0') > ${recentFrom(d, \"$8\")}",
      },
    ],
    killedBy: [{ file: "test/store/pinned-rows.test.ts" }],
  },
  {
    name: "a claim carries the log of the run's earlier generations",
    breaks: "S9",
    edits: [
      {
        file: "src/store/postgres/journal/peek-journals.ts",
        find: "and j.seq > ${m}.base_seq and j.seq <= ${m}.seq`;\nexport const hasShortLog",
        put: "and j.seq <= ${m}.seq - ${m}.base_seq`;\nexport const hasShortLog",
      },
    ],
    killedBy: [{ file: "test/workflow/generations.test.ts" }],
  },
  {
    name: "a claim carries a log with an entry left out",
    breaks: "S8",
    edits: [
      {
        file: "src/store/postgres/journal/peek-journals.ts",
        find: " || rows.some(([, , , , , codec, data]) => codec !== null && data === null)",
        put: "",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "a grant carries the log so far" }],
  },
  {
    name: "a node in doubt of its lease repeats a transaction",
    breaks: "L5",
    edits: [
      {
        file: SESSION,
        find: "      await this.untilConfirmed();\n",
        put: "      if (this.signal.aborted) throw this.signal.reason;\n",
      },
    ],
    killedBy: [{ file: "test/engine/session.test.ts", test: "in doubt" }],
  },
  {
    name: "a commit refused for a lost claim is repeated, and the work continues",
    breaks: "S4",
    edits: [
      {
        file: CALLS,
        find: '      // Proven: what still runs in parallel must stop, too.\n      if (code === "CLAIM_LOST") this.lose();\n      if (!isStoreTrouble(error)) throw error;\n',
        put: '      if (!isStoreTrouble(error) && code !== "CLAIM_LOST") throw error;\n',
      },
    ],
    killedBy: [{ file: "test/engine/session.test.ts", test: "ends all work" }],
  },
  {
    name: "a lower inbox number does not cause a read",
    breaks: "S12: a message that reuses the number of one lost in a failover is not missed",
    edits: [{ file: SESSION, find: "inboxSeq === this.#inboxSeq", put: "inboxSeq <= this.#inboxSeq" }],
    killedBy: [{ file: "test/engine/session.test.ts" }],
  },
  {
    name: "a lost claim that does not abort the work",
    breaks: "S4",
    edits: [
      {
        file: "src/engine/claiming/lease-keeper.ts",
        find: "        session.lose();\n",
        put: "",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "a late answer does not interrupt the time a node has watched",
    breaks: "S5",
    edits: [
      {
        file: "src/engine/upkeep/watch.ts",
        find: "    if (now - this.#seenAt > this.#gapMs) this.failed();\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/engine/housekeeping.test.ts" }],
  },
  {
    name: "what was locked for a moment waits for the next poll",
    breaks: "recovered work spreads",
    edits: [
      { file: "src/engine/claiming/claim-loop.ts", find: "      return againMs;\n", put: "      return null;\n" },
    ],
    killedBy: [{ file: "test/engine/claim-loop.test.ts", test: "may be locked" }],
  },
  {
    name: "the share pause does not follow the time that claims take",
    breaks: "reclaimed runs spread over all idle nodes, also on a busy machine",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: "Math.min(SHARE_PAUSE_ANSWERS * tookMs, LONGEST_SHARE_PAUSE_MS)",
        put: "0",
      },
    ],
    killedBy: [{ file: "test/engine/claim-loop.test.ts", test: "answered slowly" }],
  },
  {
    name: "a claim that may bring a suspect is followed by the pause of a share",
    breaks: "node and database work at the same time",
    edits: [{ file: "src/engine/claiming/claim-loop.ts", find: "isShare: limit < room", put: "isShare: limit < free" }],
    killedBy: [{ file: "test/engine/claim-loop.test.ts", test: "claims nothing ahead with a suspect" }],
  },
  {
    name: "a claim call without an answer still runs what it may have granted",
    breaks: "S3",
    edits: [
      {
        file: "src/engine/claiming/claim-loop.ts",
        find: '      bus.emit("claim.failed", { error });\n      return null;\n',
        put: `      bus.emit("claim.failed", { error });
      const { runs } = await store.list({ env: "default", states: ["running"] }, { limit }).catch(() => ({ runs: [] }));
      for (const run of runs.filter((one) => one.owner === owner)) {
        const rest = { runId: run.id, token, groupId: groupIds[0]!, hasMessages: true, claimedAt: run.availableAt };
        void this.#work({ ...run, ...rest, input: { codec: "json", data: "[]" } }, world.monotonicNow());
      }
      return null;
`,
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "every renewal wakes the runs that sleep",
    breaks: "a run that sleeps for a moment takes one claim",
    edits: [
      { file: SESSION, find: "if (this.#unsure > 0) this.#changes.happened();", put: "this.#changes.happened();" },
    ],
    killedBy: [{ file: "test/engine/doze.test.ts", test: "over renewals" }],
  },
  {
    name: "an episode keeps its claim while it sleeps",
    breaks: "an episode's budget counts working time only",
    edits: [{ file: LIMITS, find: "return !atWork && !(", put: "return !(" }],
    killedBy: [{ file: "test/engine/doze.test.ts", test: "if it is an episode" }],
  },
  {
    name: "a task with a timeout keeps its claim while it sleeps",
    breaks: "a timeout of a task counts its waits",
    edits: [{ file: LIMITS, find: " && !(retried && timeoutMs !== null)", put: "" }],
    killedBy: [{ file: "test/engine/doze.test.ts", test: "if it is a task with a timeout" }],
  },
  {
    name: "a run that would start over keeps its claim while it sleeps",
    breaks: "a parked run is not touched when its node dies",
    edits: [{ file: "src/engine/claiming/assignments.ts", find: 'recovery !== "restart" && ', put: "" }],
    killedBy: [{ file: "test/engine/doze.test.ts", test: "would start over" }],
  },
  {
    name: "a call that lost a race after its end keeps its run at work",
    breaks: "L3",
    edits: [{ file: "src/replay/recorded-call.ts", find: "    if (this.#hasEnded) this.running = false;\n", put: "" }],
    killedBy: [{ file: "test/workflow/race-endings.test.ts", test: "parks at its next wait" }],
  },
  {
    name: "a renewal wakes only who is still in doubt",
    breaks: "L3",
    edits: [
      {
        file: SESSION,
        find: "    this.#renewedAt = sentAt;\n    this.#leaseMs = leaseMs;\n",
        put: "    const unsure = this.inDoubt;\n    this.#renewedAt = sentAt;\n    this.#leaseMs = leaseMs;\n",
      },
      { file: SESSION, find: "if (this.#unsure > 0) this.#changes", put: "if (unsure) this.#changes" },
    ],
    killedBy: [{ file: "test/engine/session.test.ts", test: "ends before the renewal" }],
  },
  {
    name: "the committer forgets what was busy",
    breaks: "L3",
    edits: [
      {
        file: "src/engine/committer.ts",
        find: '  if (answer.outcome === "busy") return;\n',
        put: '  if (answer.outcome === "busy") return void writer.parts.splice(0, taken.length);\n',
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "a transaction that does not wait for the commits of its own run",
    breaks: "S8",
    edits: [
      {
        file: "src/engine/run-writer.ts",
        find: "    while (this.sending) await new Promise<void>((resolve) => this.#turns.push(resolve));\n",
        put: "",
      },
    ],
    killedBy: [SEEDS],
  },
  {
    name: "crashes not reset by progress",
    breaks: "S17",
    edits: [
      {
        file: "src/store/postgres/claim/commit.ts",
        find: "then greatest(r.crashes - 1, 0) else 0 end,",
        put: "then greatest(r.crashes - 1, 0) else r.crashes end,",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "progress sets the crashes back" }],
  },
  {
    name: "fence first in a transaction",
    breaks: "L3",
    edits: [
      {
        file: SESSION,
        find: "        const answer = await this.store.runs.transact(async (tx) => {\n          const effects = await work(tx);\n",
        put: "        const answer = await this.store.runs.transact(async (tx) => {\n          await (tx as unknown as { lock(runId: string): Promise<void> }).lock(this.run.runId);\n          const effects = await work(tx);\n",
      },
      {
        file: "src/store/postgres/run/transact.ts",
        find: "const commit = await workIn(tx, work);",
        put: "Object.assign(tx, { lock: (id: string) => client.query(`select from ${db.dialect.schema}.runs where id = $1 for no key update`, [id]) });\n        const commit = await workIn(tx, work);",
      },
    ],
    killedBy: [{ file: "test/workflow/transaction.test.ts", test: "while a transaction is open" }],
  },
  {
    name: "a transaction object stays usable after its step",
    breaks: "S4",
    edits: [
      {
        file: "src/store/postgres/connection/step-transaction.ts",
        find: "this.#open = false;",
        put: "this.#open = true;",
      },
      {
        file: "src/store/postgres/connection/step-transaction.ts",
        find: "    if (this.#abandoned) throw new TransactionEnded();\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/workflow/transaction.test.ts", test: "that is kept" }],
  },
  {
    name: "transactions on the application's own pool",
    breaks: "L3",
    edits: [
      {
        file: "src/store/postgres/connection/connections.ts",
        find: "const transactions = new pg.Pool(",
        put: "const transactions = this.#shared ?? new pg.Pool(",
      },
    ],
    killedBy: [{ file: "test/workflow/transaction.test.ts", test: "on a pool of the application's" }],
  },
  {
    name: "a transaction committed although its fence refused",
    breaks: "S4",
    edits: [
      {
        file: "src/store/postgres/run/transact.ts",
        find: 'await client.query(sent === null ? "rollback" : "commit");',
        put: 'await client.query("commit");',
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "under a released claim nothing is written" }],
  },
  {
    name: "a parent reads the last entry of its child, whatever it is",
    breaks: "L3",
    edits: [
      {
        file: CALLS,
        find: "    if (!isEnded(record.state)) return null;\n",
        put: "",
      },
    ],
    killedBy: [{ file: "test/workflow/retried-child.test.ts", test: "is parked when its parent looks" }],
  },
  {
    name: "a timeout sent to the run's own inbox counts as a message that was read",
    breaks: "S12",
    edits: [
      {
        file: SESSION,
        find: "parking compares that number.\n    this.#newsCount++;\n",
        put: "parking compares that number.\n    this.#newsCount++;\n    this.#inboxSeq++;\n",
      },
    ],
    killedBy: [{ file: "test/engine/session.test.ts", test: "own inbox" }],
  },
];
