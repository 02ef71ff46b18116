// Transactions: of the caller's own, in which Holdfast only INSERTs, and those that Holdfast opens for a step.

/** The caller commits or rolls back. */
export interface Transaction {
  /** Returns `{ rows }`, as `pg` does, or the rows themselves. */
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] } | readonly unknown[]>;
}

/** A statement as an object, as `pg` takes it. A name is ignored: statements are not prepared. */
export interface TransactionQuery {
  /** The statement, with `$1` for its first value. */
  readonly text: string;
  /** Values of its parameters. */
  readonly values?: readonly unknown[];
  /** Rows as arrays of their columns. */
  readonly rowMode?: "array";
  /** How columns are read, as `pg` takes it. */
  readonly types?: unknown;
  /** The name of a prepared statement. */
  readonly name?: string;
}

/** The same fields as `pg`'s QueryResult. */
export interface TransactionResult<Row> {
  /** The rows it returned. */
  readonly rows: Row[];
  /** How many rows it returned or changed. */
  readonly rowCount: number | null;
  /** The kind of statement, such as `SELECT`. */
  readonly command: string;
  /** As `pg` has it. */
  readonly oid: number;
  /** The columns, as `pg` has them. */
  // biome-ignore lint/suspicious/noExplicitAny: as in the types of `pg`
  readonly fields: any[];
}

/** The transaction of a step: its connection takes statements as a client of `pg` does. */
export interface StepTransactionClient extends Transaction {
  /** Executes a statement in the transaction of the step. */
  // biome-ignore lint/suspicious/noExplicitAny: as in the types of `pg`
  query<Row = any>(text: string | TransactionQuery, values?: readonly unknown[]): Promise<TransactionResult<Row>>;
}
