// Finds a run that has not ended. A condition on several states fits none of the partial indexes: behind a million ended runs that one
// query read the whole table, for a third of a second after each drain of W6.

/** Without sequential scans: an estimate of many matches would make one look cheap. `own`: a condition on the rows. */
export const pendingSql = (schema: string, own = "true") =>
  ["state = 'waiting'", "state = 'running'", "state = 'parked'", "state in ('held', 'blocked', 'paused')"]
    .map((state) => `(select 1 from ${schema}.runs where ${state} and ${own} limit 1)`)
    .join(" union all ");
