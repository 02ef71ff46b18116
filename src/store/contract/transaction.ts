// A transaction of the caller's own. In it Holdfast only INSERTs; the caller commits or rolls back.

export interface Transaction {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}
