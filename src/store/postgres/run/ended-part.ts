// The part of the index runs_ended that an ended run is in, as SQL: the expression must be the index's own, to the letter.

/** Ended well or by request, ended in trouble, archived. */
export const ENDED_PARTS = { ended: 0, trouble: 1, archived: 2 } as const;

export const endedPartOf = (row: string) =>
  `(case when ${row}.archived_at is not null then 2 when ${row}.state in ('failed', 'dead', 'quarantined') then 1 else 0 end)`;
