// A transaction of the caller's own. In it Holdfast only INSERTs; the caller commits or rolls back.

export interface Transaction {
  /** Returns `{ rows }`, as `pg` does, or the rows themselves. */
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] } | readonly unknown[]>;
}
