// What a store reports about the server behind it, for the doctor; stores other than PostgreSQL have none.

/** `works`, `falls back` to something slower, or `missing`: Holdfast cannot work here. */
export interface Ability {
  readonly name: "row locks" | "advisory locks" | "notifications" | "session settings" | "prepared statements";
  readonly is: "works" | "falls back" | "missing";
  readonly text: string;
}

export interface TableHealth {
  readonly table: string;
  readonly live: number;
  readonly dead: number;
  readonly bytes: number;
}

export interface ServerReport {
  readonly version: number;
  readonly versionText: string;
  readonly package: string;
  /** Behind a transaction pooler. */
  readonly pooled: boolean;
  readonly roundTripMs: number;
  /** The database's clock minus this process's. */
  readonly clockSkewMs: number;
  readonly synchronousCommit: string;
  readonly isReplica: boolean;
  /** Null: the schema fits this package. */
  readonly schemaProblem: string | null;
  readonly invalidIndexes: readonly string[];
  /** The age of the oldest snapshot that any session holds open; rows that died since then cannot be removed. */
  readonly oldestSnapshotMs: number | null;
  readonly connections: { readonly used: number; readonly most: number };
  readonly tables: readonly TableHealth[];
  readonly abilities: readonly Ability[];
}
