// Where an ended run stands in the index runs_ended, as SQL: the expression must be the index's own, to the word.

/** Ended well, ended in trouble, put aside. */
export const SHELVES = { ended: 0, trouble: 1, archived: 2 } as const;

export const shelf = (row: string) =>
  `(case when ${row}.archived_at is not null then 2 when ${row}.state in ('failed', 'dead', 'quarantined') then 1 else 0 end)`;
