// The audit: who changed what. A row is written by the first statement of the change itself, and never changed afterwards.

export interface NewAuditRow {
  /** Drawn by the caller, time-ordered: a repeated call writes one row. */
  readonly id: string;
  readonly env: string;
  readonly by: string;
  /** Where the call came from: `admin`, `cli`, `client`. */
  readonly via: string;
  /** The name of the verb, as in the route table. */
  readonly action: string;
  /** What it changes: a run's id, a node, a queue. */
  readonly object: string;
  /** JSON, as read before the change; null: nothing is known or there was nothing. */
  readonly before: string | null;
  /** JSON: what the change was asked to make of it. */
  readonly after: string | null;
  readonly note: string | null;
  /** The id of the request. */
  readonly request: string | null;
}

export interface AuditRow extends NewAuditRow {
  readonly at: number;
}

export interface AuditFilter {
  readonly env: string;
  readonly by?: string;
  readonly action?: string;
  readonly object?: string;
}

export interface AuditPage {
  readonly rows: readonly AuditRow[];
  /** Pass as `before` to get the next page; null at the end. */
  readonly next: string | null;
}

export interface AuditStore {
  /**
   * Calls `change`, which calls operations of this store. The first statement that writes in it also writes the row: no change is
   * visible without its row. A change that wrote nothing and did not fail leaves the row alone; one that failed before it wrote
   * leaves none.
   */
  record<Answer>(row: NewAuditRow, change: () => Promise<Answer>): Promise<Answer>;

  /** Newest first, by pages. */
  list(filter: AuditFilter, page: { readonly limit: number; readonly before?: string }): Promise<AuditPage>;
}
