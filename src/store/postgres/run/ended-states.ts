// Ended runs, as SQL: their states as a list, and the part of the index runs_ended that each is in.

import { ENDED_STATES } from "../../../kernel/run/run-state.js";

export const ENDED = `(${ENDED_STATES.map((state) => `'${state}'`).join(", ")})`;

/** Ended well or by request, ended in trouble, archived. */
export const ENDED_PARTS = { ended: 0, trouble: 1, archived: 2 } as const;

/** The expression must be the index's own, to the letter. */
export const endedPartOf = (row: string) =>
  `(case when ${row}.archived_at is not null then 2 when ${row}.state in ('failed', 'dead', 'quarantined') then 1 else 0 end)`;
