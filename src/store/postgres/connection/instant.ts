// Times leave the database as whole milliseconds and enter it as distances from the database's own clock:
// a timestamptz that goes through a JavaScript Date loses its microseconds and is no longer equal to itself.

/** SQL for a timestamptz expression as milliseconds since 1970, whole, as a JavaScript number. */
export function ms(expression: string): string {
  return `floor(extract(epoch from ${expression}) * 1000)::float8`;
}

/** SQL for a distance given as a float8 expression in milliseconds. */
export function interval(expression: string): string {
  return `(${expression}) * interval '1 millisecond'`;
}

/** SQL for the timestamptz of whole milliseconds since 1970, given as a float8 expression: for windows, which are computed and not measured. */
export function instant(expression: string): string {
  return `to_timestamp(${expression} / 1000)`;
}
