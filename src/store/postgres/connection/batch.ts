// How a batch enters a statement: arrays that are unnested, in a form that keeps the planner from guessing.
//
// Seen as `unnest($1)`, an array's length decides the plan: prepared statements were planned for 10 rows and looped
// n × n (17 ms instead of 4 for 200 commits), plans for the real length hashed the whole table of runs instead of looking
// rows up (32 ms for 250). Behind a sub-select every plan, at any batch size and with any statistics, is the same: 10 rows
// expected, each looked up by its key. So nothing in a batch statement may be *joined* to another part of the batch:
// parts find each other by array subscript (constant time for types of fixed width) or by `oneOf`, a hashed look-up.

/** `unnest` of parameters `from`, `from + 1`, … with these types. */
export function unnest(from: number, types: readonly string[]): string {
  return `unnest(${types.map((type, i) => `(select $${from + i}::${type}[])`).join(", ")})`;
}

/** The element of a parameter array of fixed-width values at an index expression, counted from 1. */
export function at(parameter: number, type: "uuid" | "bigint" | "int" | "float8", index: string): string {
  return `($${parameter}::${type}[])[${index}]`;
}

/** True when the expression is in the first column of the query. Wrapped, because as a bare IN it becomes a join. */
export function oneOf(expression: string, query: string): string {
  return `((${expression} in (${query})) is not false)`;
}
