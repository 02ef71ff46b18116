// What a store reports about the server behind it, for the doctor; stores other than PostgreSQL have none.

/** `works`, `falls back` to something slower, or `missing`: Holdfast cannot work here. */
export interface Ability {
  /** What the server may be able to do. */
  readonly name: "row locks" | "advisory locks" | "notifications" | "session settings" | "prepared statements";
  /** Whether it works, is replaced by something slower, or is missing. */
  readonly is: "works" | "falls back" | "missing";
  /** What that means, in a sentence. */
  readonly text: string;
}

/** The size of a table. */
export interface TableHealth {
  /** Its name. */
  readonly table: string;
  /** Live rows, as the server estimates them. */
  readonly live: number;
  /** Dead rows, as the server estimates them. */
  readonly dead: number;
  /** Its size with indexes. */
  readonly bytes: number;
}

/** What `examine` found out about the server. */
export interface ServerReport {
  /** Its version as a number, such as 180004. */
  readonly version: number;
  /** Its version as a text. */
  readonly versionText: string;
  /** The version of this package. */
  readonly package: string;
  /** Behind a transaction pooler. */
  readonly pooled: boolean;
  /** The measured round trip. */
  readonly roundTripMs: number;
  /** The database's clock minus this process's. */
  readonly clockSkewMs: number;
  /** Its setting `synchronous_commit`. */
  readonly synchronousCommit: string;
  /** Whether it only answers reads. */
  readonly isReplica: boolean;
  /** Null: the schema fits this package. */
  readonly schemaProblem: string | null;
  /** Indexes that a failed build has left. */
  readonly invalidIndexes: readonly string[];
  /** The age of the oldest snapshot that any session holds open; rows that died since then cannot be removed. */
  readonly oldestSnapshotMs: number | null;
  /** Connections in use, and the most it allows. */
  readonly connections: { readonly used: number; readonly most: number };
  /** The size and dead rows of each table. */
  readonly tables: readonly TableHealth[];
  /** What the server can do. */
  readonly abilities: readonly Ability[];
}
