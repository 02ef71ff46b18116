// The two things that vary in our SQL text: the schema's name and what "now" is.

import { schemaName } from "../../../kernel/name.js";

export interface Dialect {
  /** Quoted, ready to stand before a dot. */
  readonly schema: string;
  /** The database's clock. Only the differential test, which moves time, uses another expression. */
  readonly now: string;
}

export function dialect(schema: string, now = "clock_timestamp()"): Dialect {
  return { schema: `"${schemaName(schema)}"`, now };
}

/** A named statement: the name serves preparing, tracing and pg_stat_statements. */
export interface Statement {
  readonly name: string;
  /** What it is for, in one sentence. */
  readonly purpose: string;
  readonly text: (dialect: Dialect) => string;
}

const registry = new Map<string, Statement>();

export function statement(name: string, purpose: string, text: Statement["text"]): Statement {
  const made: Statement = { name, purpose, text };
  registry.set(name, made);
  return made;
}

/** Every statement of the modules that are loaded, in the order of their names. */
export function allStatements(): readonly Statement[] {
  return [...registry.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
