// Assembles the PostgreSQL store from its operations.

import type pg from "pg";
import { type Duration, toMs } from "../../kernel/duration.js";
import { InvalidInput } from "../../kernel/error.js";
import type { Logger } from "../../kernel/logger.js";
import { checkOptions, type Names } from "../../kernel/setting/option-names.js";
import { type RetentionOptions, retentionOf } from "../../kernel/setting/retention.js";
import { loggerOf } from "../../kernel/stderr-logger.js";
import { systemWorld } from "../../kernel/system-world.js";
import type { World } from "../../kernel/world.js";
import { checkedStore } from "../checked-store.js";
import type { Attendee } from "../contract/node/attend.js";
import type { ServerReport } from "../contract/server-report.js";
import type { Store } from "../contract/store.js";
import { auditStore } from "./audit/audit.js";
import { tokenStore } from "./audit/tokens.js";
import { reclaim } from "./claim/reclaim.js";
import { cleanUp } from "./clean-up.js";
import { Database } from "./connection/database.js";
import { dialect } from "./connection/dialect.js";
import { WakeSender } from "./connection/wake-sender.js";
import { definitionStore } from "./definition/definitions.js";
import { eventStore } from "./event/events.js";
import { examine } from "./examine.js";
import { send, unread } from "./inbox/send-messages.js";
import { wakeRuns } from "./inbox/wake-runs.js";
import { peek } from "./journal/peek-journals.js";
import { lastSet, read } from "./journal/read-journal.js";
import { keptStore } from "./kept/kept.js";
import { leaseStore } from "./lease/leases.js";
import { breakerStore } from "./limit/breakers.js";
import { queueStore } from "./limit/queues.js";
import { machineStore } from "./machine/machines.js";
import { checkSchema, type MigrateOptions, type MigrateReport, migrate } from "./migrate.js";
import { attend } from "./node/attend.js";
import { housekeep } from "./node/housekeep.js";
import { nodeStore } from "./node/nodes.js";
import { Groups } from "./run/groups.js";
import { runStore } from "./run/runs.js";
import { scheduleStore } from "./schedule/schedules.js";
import { statisticsStore } from "./statistic/statistics.js";
import { TimeoutWakes } from "./timeout/timeout-wakes.js";
import { timeoutTable } from "./timeout/timeouts.js";
import { viewStore } from "./view/views.js";

/** Options of `postgres`. */
export interface PostgresOptions {
  /** The schema that holds the tables. @default `holdfast` */
  readonly schema?: string;
  /** Connections in addition to the one reserved for renewals, from 1 to 4. Not used with a Pool of your own. @default 3 */
  readonly connections?: number;
  /** Steps that may be transactions at the same time: additional connections, also with a Pool of your own. @default 5 */
  readonly transactions?: number;
  /** Wakes other processes by NOTIFY. Without it they find work when they poll, by default within 5 s. @default true */
  readonly notify?: boolean;
  /** When a statement without an answer is given up on this side; its connection is closed. @default 10 s */
  readonly queryTimeout?: Duration;
  /** How long a call is repeated while the database is unavailable. @default 30 s */
  readonly retryFor?: Duration;
  /** Where the store reports a database that does not answer the first call. `false`: nowhere. @default warnings on standard error */
  readonly logger?: Logger | false;
  /** How long what has ended is kept. Nodes remove the rest by themselves. @default completed runs 30 days, failed and dead ones 90 days */
  readonly retention?: RetentionOptions;
}

/** A store on PostgreSQL, with its migrations. */
export interface PostgresStore extends Store {
  /** Brings the schema up to date; safe to call from many processes at once. */
  migrate(options?: MigrateOptions): Promise<MigrateReport>;
  /** Throws when the schema is missing, too old or too new for this package. */
  checkSchema(): Promise<void>;
  /** Examines the server: version, settings, clock, health of the tables, and what it can do. Reads only. */
  examine(): Promise<ServerReport>;
  /** Whether the connections pass through a transaction pooler such as PgBouncer (known after the first call). */
  readonly pooled: boolean;
}

/** `now` replaces the database's clock by another SQL expression: for the test that moves time. */
export function openPostgres(
  source: string | pg.Pool,
  options: PostgresOptions,
  { world = systemWorld(), now }: { world?: World; now?: string } = {},
): PostgresStore {
  checkSource(source);
  checkOptions("postgres", options, OPTION_NAMES);
  const { notify = true } = options;
  const retryForMs = toMs(options.retryFor ?? "30s", "retryFor");
  const retention = retentionOf(options.retention);
  const attendees = new Set<Attendee>();
  const db = openDatabase({ ...options, source, notify, retryForMs, world, now }, attendees);
  const groups = new Groups(db);
  const wakes = new WakeSender(db, attendees);
  const timeoutWakes = new TimeoutWakes(db, notify);
  const attending = attendedBy(db, attendees, world, retryForMs);
  const store: Store = {
    runs: runStore(db, groups, wakes),
    journal: {
      read: (runId, page) => read(db, runId, page),
      peek: (wanted) => peek(db, wanted),
      lastSet: (runId, name) => lastSet(db, runId, name),
    },
    inbox: {
      send: async (messages, { tx } = {}) => {
        const answers = await send(db, messages, tx);
        if (tx) await wakes.sendInTransaction(tx, [], true);
        return answers;
      },
      unread: (runId) => unread(db, runId),
    },
    leases: leaseStore(db),
    kept: keptStore(db),
    nodes: nodeStore(db, () => wakes.sendNews()),
    queues: queueStore(db),
    schedules: scheduleStore(db, groups, wakes),
    events: eventStore(db, groups, wakes),
    breakers: breakerStore(db),
    definitions: definitionStore(db, wakes),
    timeouts: timeoutTable(db, timeoutWakes),
    machines: machineStore(db, groups, wakes),
    views: viewStore(db),
    audit: auditStore(db),
    tokens: tokenStore(db),
    statistics: statisticsStore(db),
    housekeep: (round) => housekeep(db, round),
    reclaim: (round) => reclaim(db, round),
    cleanUp: (round) => cleanUp(db, retention, round),
    attend: attending,
    close: () => {
      wakes.close();
      timeoutWakes.close();
      return db.close();
    },
  };
  return {
    ...checkedStore(store, { batchesIn: world }),
    migrate: (options) => migrate(db, options),
    checkSchema: () => checkSchema(db),
    examine: () => examine(db, world),
    get pooled() {
      return db.pooled;
    },
  };
}

const OPTION_NAMES: Names<PostgresOptions> = {
  schema: true,
  connections: true,
  transactions: true,
  notify: true,
  queryTimeout: true,
  retryFor: true,
  retention: true,
  logger: true,
};

/** Without types, a missing variable of the environment arrives here. */
function checkSource(source: unknown): void {
  if (typeof source === "string" && source !== "") return;
  if (typeof source === "object" && source !== null && "connect" in source) return;
  const given = source === undefined || source === "" ? "it is not set; is DATABASE_URL set in the environment?" : "";
  throw new InvalidInput(
    "postgres(url)",
    `must be the URL of a database, or a pg.Pool; ${given || `it is a ${typeof source}`}`,
  );
}

interface DatabaseSource extends Omit<PostgresOptions, "retryFor" | "retention"> {
  readonly source: string | pg.Pool;
  readonly notify: boolean;
  readonly retryForMs: number;
  readonly world: World;
  readonly now: string | undefined;
}

function openDatabase(
  { source, notify, retryForMs, world, now, ...options }: DatabaseSource,
  attendees: ReadonlySet<Attendee>,
): Database {
  const connections = options.connections ?? 3;
  if (!Number.isInteger(connections) || connections < 1 || connections > 4) {
    throw new InvalidInput("connections", "must be 1 to 4; one more is reserved for renewals");
  }
  const transactions = options.transactions ?? 5;
  if (!Number.isInteger(transactions) || transactions < 1) {
    throw new InvalidInput("transactions", "must be a whole number of at least 1");
  }
  return new Database({
    notify,
    // The first node that attends reports the skipped runs: one report for each process.
    onSkipped: async (db, runs, parents) => {
      [...attendees][0]?.onSkipped?.(runs);
      await wakeRuns(db, parents);
    },
    world,
    source,
    dialect: dialect(options.schema ?? "holdfast", now),
    connections,
    transactions,
    queryTimeoutMs: toMs(options.queryTimeout ?? "10s", "queryTimeout"),
    logger: loggerOf(options.logger),
    retryForMs,
  });
}

function attendedBy(db: Database, attendees: Set<Attendee>, world: World, retryForMs: number): Store["attend"] {
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
