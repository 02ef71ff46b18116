// Named statements, and the two things that vary in their text: the schema's name and the clock.

import { schemaName } from "../../../kernel/name.js";

export interface Dialect {
  /** Quoted, ready for a dot. */
  readonly schema: string;
  /** The database's clock. Only the differential test, which moves time, uses another expression. */
  readonly now: string;
}

/** The database's clock. */
export const NOW = "clock_timestamp()";

export function dialect(schema: string, now = NOW): Dialect {
  return { schema: `"${schemaName(schema)}"`, now };
}

/** A named statement: the name serves preparing, tracing and pg_stat_statements. */
export interface Statement {
  readonly name: string;
  /** What it is for, in one sentence. */
  readonly purpose: string;
  readonly text: (dialect: Dialect) => string;
}

/** A statement as the snapshot of all statements shows it; of a query, one of its samples. */
export interface RegisteredStatement extends Statement {
  readonly sample?: string;
}

const registry: RegisteredStatement[] = [];

export function statement(name: string, purpose: string, text: Statement["text"]): Statement {
  const made: Statement = { name, purpose, text };
  registry.push(made);
  return made;
}

export interface QueryText {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A statement whose text depends on what is asked for: it is planned for its values, and never prepared. */
export interface Query<Asked> {
  readonly name: string;
  readonly purpose: string;
  readonly text: (dialect: Dialect, asked: Asked) => QueryText;
  /** What may be asked for, by a name: enough to show every part of the text. */
  readonly samples: Readonly<Record<string, Asked>>;
}

export function query<Asked>(made: Query<Asked>): Query<Asked> {
  const { name, purpose, samples } = made;
  for (const [sample, asked] of Object.entries(samples)) {
    registry.push({ name, purpose, sample, text: (dialect) => made.text(dialect, asked).text });
  }
  return made;
}

/** Every statement of the modules that are loaded, in the order of their names. */
export function allStatements(): readonly RegisteredStatement[] {
  return registry.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
