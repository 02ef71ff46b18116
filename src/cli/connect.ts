// Opens the store for one command: fails fast when the database is away, and checks that the schema fits.

import type { Duration } from "../kernel/duration.js";
import { HoldfastError } from "../kernel/error.js";
import type { World } from "../kernel/world.js";
import {
  type PostgresStore,
  postgres,
  SchemaMissing,
  StoreFailed,
  StoreRefused,
  StoreUnavailable,
} from "../store/postgres/index.js";
import { throwAwaySchema } from "../store/postgres/throw-away-schema.js";
import { type DatabaseAddress, databaseAddress, hostOf } from "./database-address.js";
import { CommandMisused, DatabaseUnreachable } from "./error.js";
import type { Terminal } from "./text/terminal.js";

export interface DatabaseOptions {
  readonly url: string | undefined;
  readonly schema: string;
  readonly terminal: Pick<Terminal, "env" | "cwd">;
}

/** Short, because a person is waiting. */
const RETRY_FOR: Duration = "2s";
const QUERY_TIMEOUT: Duration = "3s";

/** Long enough for an index on a large table. */
const MIGRATION_TIMEOUT: Duration = "10m";

/** Opens the store; fails if its schema is missing or does not fit. */
export async function connect(options: DatabaseOptions): Promise<PostgresStore> {
  const { store, failure } = await reach(options);
  if (failure === null) return store;
  await store.close();
  throw failure;
}

/** Opens the store even if its schema is missing or old. */
export async function connectToMigrate(options: DatabaseOptions): Promise<PostgresStore> {
  const { store, failure, address } = await reach(options);
  await store.close();
  if (failure !== null && !(failure instanceof SchemaMissing)) throw failure;
  const { schema } = options;
  return postgres(address.url, {
    schema,
    connections: 1,
    queryTimeout: MIGRATION_TIMEOUT,
    retryFor: RETRY_FOR,
    logger: false,
  });
}

export interface ThrowAway {
  readonly stores: readonly [PostgresStore, PostgresStore];
  /** Drops the schema and closes the stores; may be repeated. */
  drop(): Promise<void>;
}

/** Two stores over a new schema of this database, for a measurement. */
export async function openThrowAway({ url, terminal }: DatabaseOptions, world: World): Promise<ThrowAway> {
  const address = await databaseAddress(url, terminal);
  const schema = await throwAwaySchema(address.url, world).catch((cause: Error) => {
    throw whyNot(address, new DatabaseUnreachable(cause.message, { cause }));
  });
  const open = () => postgres(address.url, { schema: schema.name, retryFor: RETRY_FOR, logger: false });
  const stores = [open(), open()] as const;
  const drop = async () => {
    await Promise.all(stores.map((store) => store.close()));
    await schema.drop();
  };
  try {
    await stores[0].migrate();
  } catch (error) {
    await drop();
    throw isForbidden(error)
      ? new CommandMisused("the role must be allowed to create schemas in this database")
      : error;
  }
  return { stores, drop };
}

function isForbidden(error: unknown): boolean {
  return isAway(error) && (error.cause as { code?: unknown } | undefined)?.code === "42501";
}

interface Reached {
  readonly address: DatabaseAddress;
  readonly store: PostgresStore;
  /** The database answers, but its schema does not fit. */
  readonly failure: HoldfastError | null;
}

async function reach({ url, schema, terminal }: DatabaseOptions): Promise<Reached> {
  const address = await databaseAddress(url, terminal);
  const store = postgres(address.url, {
    schema,
    connections: 2,
    queryTimeout: QUERY_TIMEOUT,
    retryFor: RETRY_FOR,
    logger: false,
  });
  try {
    await store.checkSchema();
    return { address, store, failure: null };
  } catch (error) {
    if (error instanceof HoldfastError && !isAway(error)) return { address, store, failure: error };
    await store.close();
    throw isAway(error) ? whyNot(address, error) : error;
  }
}

/** A permanent failure of the very first statement means the login failed. */
function isAway(error: unknown): error is StoreUnavailable | StoreFailed | StoreRefused {
  return error instanceof StoreUnavailable || error instanceof StoreFailed || error instanceof StoreRefused;
}

function whyNot(address: DatabaseAddress, error: HoldfastError): HoldfastError {
  if ((error.cause as { code?: unknown }).code === "ERR_INVALID_URL") {
    return new CommandMisused(`${address.from} cannot be parsed; in a password, write @ / # ? as %40 %2F %23 %3F`);
  }
  const host = hostOf(address.url);
  const where = `the database${host ? ` at ${host}` : ""} (address from ${address.from})`;
  return new DatabaseUnreachable(`Cannot reach ${where}: ${reasonOf(error.cause)}.`, { cause: error });
}

const KNOWN: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there (ECONNREFUSED)",
  CONNECT_TIMEOUT: "it does not answer (CONNECT_TIMEOUT)",
  ENOTFOUND: "there is no such host (ENOTFOUND)",
  "28P01": "the password is wrong (28P01)",
  "28000": "the login was refused (28000)",
  "3D000": "there is no such database (3D000)",
};

/** By error code where there is one: the driver's own messages may contain users and hosts. */
function reasonOf(cause: unknown): string {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  if (typeof code === "string") return KNOWN[code] ?? `${code}${message ? `, ${message}` : ""}`;
  return typeof message === "string" ? message.slice(0, 200) : "no answer";
}
