// Joins the operations to a store.

import type pg from "pg";
import { inBatches } from "../../kernel/chunk.js";
import { type Duration, toMs } from "../../kernel/duration.js";
import { InvalidInput } from "../../kernel/error.js";
import { bytesOf } from "../../kernel/run/effect.js";
import type { NewRun } from "../../kernel/run/new-run.js";
import { systemWorld } from "../../kernel/system-world.js";
import type { World } from "../../kernel/world.js";
import type { DebounceAnswer, EventStore, EventToMatch, EventToStart, NewDebounced } from "../contract/event/events.js";
import type { NewMessage } from "../contract/inbox/inbox.js";
import type { Peek, Peeked } from "../contract/journal/journal.js";
import type { Attendee } from "../contract/node/attend.js";
import type { Commit, InsertAnswer, RunStore } from "../contract/run/runs.js";
import type { Store } from "../contract/store.js";
import type { Transaction } from "../contract/transaction.js";
import { claim } from "./claim/claim-runs.js";
import { commit } from "./claim/commit.js";
import { claims } from "./claim/read-claims.js";
import { reclaim } from "./claim/reclaim.js";
import { orphans, recover } from "./claim/recover-runs.js";
import { renew } from "./claim/renew-claims.js";
import { sweep } from "./claim/sweep-expired.js";
import { cleanUp } from "./clean-up.js";
import { callLane } from "./connection/call-lane.js";
import { Database } from "./connection/database.js";
import { dialect } from "./connection/dialect.js";
import { Hints } from "./connection/hints.js";
import { definitionStore } from "./definition/definitions.js";
import { debounce } from "./event/debounce-events.js";
import { settle } from "./event/settle-debounced.js";
import { start } from "./event/start-events.js";
import * as subscriptions from "./event/subscriptions.js";
import { ring } from "./inbox/ring.js";
import { send, unread } from "./inbox/send-messages.js";
import { wake } from "./inbox/wake-parked.js";
import { glance, peek } from "./journal/peek-journals.js";
import { read } from "./journal/read-journal.js";
import { leaseStore } from "./lease/leases.js";
import { admit, admitAfter } from "./limit/admit-runs.js";
import { breakerStore } from "./limit/breakers.js";
import { isLimited } from "./limit/limit-columns.js";
import { declare, limitsOf } from "./limit/program-limits.js";
import { queueStore } from "./limit/queues.js";
import { machineStore } from "./machine/machines.js";
import { checkSchema, type MigrateReport, migrate } from "./migrate.js";
import { attend } from "./node/attend.js";
import { housekeep } from "./node/housekeep.js";
import { nodeStore } from "./node/nodes.js";
import { cancel, cancelTasksOf } from "./run/cancel-run.js";
import { expireDeferred, keyOf, unservedGroups } from "./run/deferred-runs.js";
import { Groups } from "./run/groups.js";
import { insert } from "./run/insert-runs.js";
import { count, get, list } from "./run/list-runs.js";
import { next } from "./run/next-due.js";
import { pause, resume } from "./run/pause-run.js";
import { archive, prune } from "./run/retain-runs.js";
import { retry } from "./run/retry-runs.js";
import { reviewMisfits } from "./run/review-misfits.js";
import { stopping } from "./run/stop-requests.js";
import { transact } from "./run/transact.js";
import { scheduleStore } from "./schedule/schedules.js";
import { reconcile } from "./task/reconcile-tasks.js";
import { TimeoutHints } from "./timeout/timeout-hints.js";
import { timeoutTable } from "./timeout/timeouts.js";

export interface PostgresOptions {
  /** The schema that holds the tables. Default `holdfast`. */
  readonly schema?: string;
  /** Connections besides the one reserved for renewals, from 1 to 4. Default 3. Not used with a Pool of your own. */
  readonly connections?: number;
  /** Steps that are transactions at the same time: connections besides, also beside a Pool of your own. Default 5. */
  readonly transactions?: number;
  /** Tell other processes of work by NOTIFY. Without it they find it when they look, by default within 5 s. Default true. */
  readonly notify?: boolean;
  /** When a statement without an answer is given up on this side; its connection is closed. Default 10 s. */
  readonly queryTimeout?: Duration;
  /** How long a call is repeated while the database is away. Default 30 s. */
  readonly retryFor?: Duration;
}

export interface PostgresStore extends Store {
  /** Brings the schema up to date; safe to call from many processes at once. */
  migrate(): Promise<MigrateReport>;
  /** Throws when the schema is missing, too old or too new for this package. */
  checkSchema(): Promise<void>;
  /** Whether a transaction pooler such as PgBouncer stands in between (known after the first call). */
  readonly pooled: boolean;
}

/** More rows in one statement gain nothing and hold their locks longer. */
const CAP = { maxRows: 1000, maxBytes: 4 * 1024 * 1024 };
const RUN_LIMITS = {
  ...CAP,
  sizeOf: (run: NewRun) => ({ rows: 1 + (run?.limits?.length ?? 0), bytes: run?.input?.data?.length ?? 0 }),
};
const COMMIT_LIMITS = {
  ...CAP,
  sizeOf: (commit: Commit) => ({ rows: commit?.effects?.length ?? 1, bytes: bytesOf(commit?.effects) }),
};
const MESSAGE_LIMITS = {
  ...CAP,
  sizeOf: (message: NewMessage) => ({ rows: 1, bytes: message?.payload?.data?.length ?? 0 }),
};
const PEEK_LIMITS = { ...CAP, sizeOf: () => ({ rows: 1, bytes: 0 }) };
const EVENT_LIMITS = { ...CAP, sizeOf: ({ plain }: EventToMatch) => ({ rows: 1, bytes: plain.length }) };
/** Each may make many runs. */
const START_LIMITS = {
  maxRows: 100,
  maxBytes: CAP.maxBytes,
  sizeOf: (event: EventToStart) => ({
    rows: 1,
    bytes: (event?.plain?.length ?? 0) + (event?.input?.data?.length ?? 0),
  }),
};
const DEBOUNCE_LIMITS = { ...CAP, sizeOf: (event: NewDebounced) => RUN_LIMITS.sizeOf(event?.run) };

/** `now` replaces the database's clock by another SQL expression: for the test that moves time. */
export function openPostgres(
  source: string | pg.Pool,
  options: PostgresOptions,
  { world = systemWorld(), now }: { world?: World; now?: string } = {},
): PostgresStore {
  const connections = options.connections ?? 3;
  if (!Number.isInteger(connections) || connections < 1 || connections > 4) {
    throw new InvalidInput("connections", "must be 1 to 4; one more is reserved for renewals");
  }
  const transactions = options.transactions ?? 5;
  if (!Number.isInteger(transactions) || transactions < 1) {
    throw new InvalidInput("transactions", "must be a whole number of at least 1");
  }
  const retryForMs = toMs(options.retryFor ?? "30s", "retryFor");
  const db = new Database({
    world,
    source,
    dialect: dialect(options.schema ?? "holdfast", now),
    connections,
    transactions,
    queryTimeoutMs: toMs(options.queryTimeout ?? "10s", "queryTimeout"),
    retryForMs,
  });
  const groups = new Groups(db);
  const { notify = true } = options;
  const hints = new Hints(db, notify);
  const timeoutHints = new TimeoutHints(db, notify);
  db.onWork = (groupIds, inMs = []) => {
    hints.tell(groupIds.filter((_, i) => !((inMs[i] ?? 0) > 0)));
    for (const [i, id] of groupIds.entries()) if ((inMs[i] ?? 0) > 0) hints.tellIn(inMs[i]!, id);
  };
  db.onCalled = (runIds) => hints.call(runIds);
  db.hintBehind = () => hints.behind();
  const attendees = new Set<Attendee>();
  // Behind a pooler nobody can listen, and without NOTIFY nobody hears: what this process does for its own nodes is told them here.
  hints.onTold = (groupIds) => {
    if (db.pooled || !notify) for (const { onHint } of attendees) onHint(groupIds);
  };
  hints.onCalled = (runIds) => {
    if (db.pooled || !notify) for (const { onCalled } of attendees) onCalled?.(runIds);
  };
  const attending = attendedBy(db, attendees, world, retryForMs);
  /** Tasks that are claimed together read their needs together. */
  const peekLane = callLane<Peek, Peeked | null>((wanted) => peek(db, wanted), { ...PEEK_LIMITS, world });
  return {
    runs: runStore(db, groups, world, hints),
    journal: { read: (runId, page) => read(db, runId, page), peek: peekLane },
    inbox: {
      send: async (messages, { tx } = {}) => {
        const answers = await inBatches(messages, MESSAGE_LIMITS, (batch) => send(db, batch, tx));
        if (tx) await hints.tellInTransaction(tx, [], true);
        return answers;
      },
      unread: (runId) => unread(db, runId),
    },
    leases: leaseStore(db),
    nodes: nodeStore(db, () => hints.tellNews()),
    queues: queueStore(db),
    schedules: scheduleStore(db, groups, hints),
    events: eventStore(db, groups, world, hints),
    breakers: breakerStore(db),
    definitions: definitionStore(db, hints),
    timeouts: timeoutTable(db, timeoutHints),
    machines: machineStore(db, groups, world, hints),
    housekeep: (round) => housekeep(db, round),
    reclaim: (round) => reclaim(db, round),
    cleanUp: (round) => cleanUp(db, round),
    attend: attending,
    migrate: () => migrate(db),
    checkSchema: () => checkSchema(db),
    get pooled() {
      return db.pooled;
    },
    close: () => {
      hints.close();
      timeoutHints.close();
      return db.close();
    },
  };
}

function eventStore(db: Database, groups: Groups, world: World, hints: Hints): EventStore {
  const debounceIn = (events: readonly NewDebounced[], tx?: Transaction) =>
    inBatches(events, DEBOUNCE_LIMITS, (batch) => debounce(db, groups, hints, batch, tx));
  /** One after the other: of two calls, the later one's event is the last. */
  const debounceLane = callLane<NewDebounced, DebounceAnswer>((events) => debounceIn(events), {
    ...DEBOUNCE_LIMITS,
    world,
  });
  return {
    subscribe: (declaration) => subscriptions.subscribe(db, declaration),
    subscriptions: (env) => subscriptions.list(db, env),
    match: (events, { tx } = {}) => inBatches(events, EVENT_LIMITS, (batch) => subscriptions.match(db, batch, tx)),
    start: (events) => inBatches(events, START_LIMITS, (batch) => start(db, groups, hints, batch)),
    debounce: (events, { tx } = {}) => (tx ? debounceIn(events, tx) : debounceLane(events)),
    settleDebounced: (claim, seq, ticket) => settle(db, claim, seq, ticket),
  };
}

function runStore(db: Database, groups: Groups, world: World, hints: Hints): RunStore {
  /** Single calls that come together leave together. */
  const insertLane = callLane<NewRun, InsertAnswer>(
    async (runs) => {
      const answers = await inBatches(runs, RUN_LIMITS, (batch) => insert(db, groups, batch));
      const held = runs.filter((run, i) => answers[i]!.outcome === "inserted" && isLimited(run));
      await admitAfter(db, [...new Set(held.map(({ id }) => id))]);
      hints.tell(await groups.idsOf(runs, answers));
      return answers;
    },
    { ...RUN_LIMITS, world },
  );
  const insertIn = async (tx: Transaction, runs: readonly NewRun[]) => {
    const answers = await inBatches(runs, RUN_LIMITS, (batch) => insert(db, groups, batch, tx));
    const held = runs.some(({ limits = [] }) => limits.length > 0);
    await hints.tellInTransaction(tx, await groups.idsOf(runs, answers), held);
    return answers;
  };
  return {
    groupIds: (wanted) => groups.declared(wanted),
    declare: (incarnation, programs) => declare(db, groups, incarnation, programs),
    limitsOf: (group) => limitsOf(db, groups, group),
    insert: (runs, { tx } = {}) => (tx ? insertIn(tx, runs) : insertLane(runs)),
    admit: (whom) => admit(db, whom),
    claim: (request) => claim(db, request),
    renew: (claims, leaseMs) => renew(db, claims, leaseMs),
    commit: (commits) => inBatches(commits, COMMIT_LIMITS, (batch) => commit(db, groups, batch)),
    sweepExpired: (options) => sweep(db, options),
    orphans: (filter) => orphans(db, filter),
    recover: (decisions, options) => recover(db, decisions, options),
    reviewMisfits: (review) => reviewMisfits(db, review),
    expireDeferred: ({ env, limit }) => expireDeferred(db, env, limit),
    unservedGroups: (query) => unservedGroups(db, query),
    keyOf: (runId) => keyOf(db, runId),
    wakeParked: ({ limit }) => wake(db, limit),
    cancel: (runId, { by, reason }) => cancel(db, runId, by, reason),
    cancelTasks: (runId, { by, reason }) => cancelTasksOf(db, runId, by, reason),
    pause: (runId, { by }) => pause(db, runId, by),
    resume: (runId, { by }) => resume(db, runId, by),
    stopping: (runId) => stopping(db, runId),
    reconcile: (scope) => reconcile(db, scope),
    get: (runId) => get(db, runId),
    glance: (runIds) => glance(db, runIds),
    claims: (runId, { limit }) => claims(db, runId, limit),
    list: (filter, page) => list(db, filter, page),
    count: (filter) => count(db, filter),
    archive: (age) => archive(db, age),
    prune: (age) => prune(db, age),
    nextDue: (groupIds) => next(db, groupIds),
    retry: (runIds, options) => retry(db, runIds, options),
    transact: (work) => transact(db, work),
  };
}

/** Whoever attends first is told of skipped runs: it is the process that is told. */
function attendedBy(db: Database, attendees: Set<Attendee>, world: World, retryForMs: number): Store["attend"] {
  db.onSkipped = async (runs, parents) => {
    [...attendees][0]?.onSkipped?.(runs);
    if (parents.length > 0) await ring(db, parents);
  };
  return async (attendee) => {
    await checkSchema(db);
    const { connections, dialect } = db;
    const { schema } = dialect;
    const attendance = await db.repeat("attend", retryForMs, () => attend({ world, schema, attendee, connections }));
    attendees.add(attendee);
    const leave = () => {
      attendees.delete(attendee);
      return attendance.leave();
    };
    return { ...attendance, leave };
  };
}
