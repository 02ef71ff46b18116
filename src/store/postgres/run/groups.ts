// Claim groups: env, stack, queue, program and version pin as one number, cached here once known.
//
// The number is a hash of these names. With a counter, a failover that loses the last groups would give their numbers to others,
// and a node that still claims by its old numbers would get runs of another program.

import { hash } from "node:crypto";
import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { type Columns, int, rowset, text } from "../connection/rowset.js";

/** '' means "any" in the table: NULLs are not unique before PostgreSQL 15. */
const GROUP = {
  env: text(({ env }) => env),
  stack: text(({ stack }) => stack ?? ""),
  queue: text(({ queue }) => queue),
  program: text(({ program }) => program),
  version: text(({ version }) => version ?? ""),
} satisfies Columns<RunGroup>;
const GROUPS = rowset<RunGroup>()(GROUP);
const NUMBERED_GROUPS = rowset<RunGroup & { readonly number: number }>()({ ...GROUP, id: int(({ number }) => number) });

/** A group as the contract has it, read from a row with these columns. */
export const groupJson = (row: string) =>
  `json_build_object('env', ${row}.env, 'stack', nullif(${row}.stack, ''), 'queue', ${row}.queue, 'program', ${row}.program,
    'version', nullif(${row}.version, ''))`;

const insertGroups = statement(
  "insert_groups",
  "Numbers claim groups that have no number yet.",
  ({ schema: s }) => `
insert into ${s}.claim_groups (env, stack, queue, program, version, id)
select * from ${NUMBERED_GROUPS.from(1).as("g")}
order by 1, 2, 3, 4, 5
on conflict do nothing`,
);

const selectGroups = statement(
  "select_groups",
  "Reads the numbers of claim groups.",
  ({ schema: s }) => `
select c.id, g.ord::int
from ${GROUPS.from(1).as("g", "ord")}
join ${s}.claim_groups c using (env, stack, queue, program, version)`,
);

/** Always on a connection of the store: a number that a caller's transaction creates would vanish with its rollback. */
export class Groups {
  readonly #db: Database;
  readonly #known = new Map<string, number>();

  constructor(db: Database) {
    this.#db = db;
    // After a failover that lost its last commits, a group may be gone.
    db.onNewConnection(() => this.#known.clear());
  }

  async ids(groups: readonly RunGroup[]): Promise<number[]> {
    const texts = new Map([...new Set(groups)].map((group) => [group, textOf(group)]));
    const missing = new Map(
      [...texts].filter(([, text]) => !this.#known.has(text)).map(([group, text]) => [text, group]),
    );
    if (missing.size > 0) await this.#find([...missing]);
    const ids = groups.map((group) => this.#known.get(texts.get(group)!));
    // A new connection has emptied the memory meanwhile: ask again.
    return ids.includes(undefined) ? this.ids(groups) : (ids as number[]);
  }

  /** The same, and the groups are there afterwards, whatever was remembered: behind a pooler a failover is not seen. */
  declared(groups: readonly RunGroup[]): Promise<number[]> {
    for (const group of groups) this.#known.delete(textOf(group));
    return this.ids(groups);
  }

  /** The groups in which runs were really inserted. */
  async idsOf(runs: readonly NewRun[], answers: readonly InsertAnswer[]): Promise<Set<number>> {
    const inserted = runs.filter((_, i) => answers[i]?.outcome === "inserted");
    return new Set(await this.ids(inserted.map(({ group }) => group)));
  }

  async #find(missing: [string, RunGroup][]): Promise<void> {
    await this.#look(missing);
    // A group whose number belongs to another group takes the next number that its names produce. (500 groups: once in 17,000 databases.)
    for (let nth = 0; ; nth++) {
      const unknown = missing.filter(([text]) => !this.#known.has(text));
      if (unknown.length === 0) return;
      const numbered = unknown.map(([text, group]) => ({ ...group, number: groupNumber(text, nth) }));
      await this.#db.run(insertGroups, NUMBERED_GROUPS.arrays(numbered), { line: "aside" });
      await this.#look(unknown);
    }
  }

  async #look(entries: [string, RunGroup][]): Promise<void> {
    const values = GROUPS.arrays(entries.map(([, group]) => group));
    const rows = await this.#db.run<{ id: number; ord: number }>(selectGroups, values, { line: "aside" });
    for (const row of rows) this.#known.set(entries[row.ord - 1]![0], row.id);
  }
}

export function textOf(group: RunGroup): string {
  return JSON.stringify([group.env, group.stack, group.queue, group.program, group.version]);
}

/** 31 bits: a positive int. */
export function groupNumber(text: string, nth: number): number {
  return Number.parseInt(hash("sha256", `${nth} ${text}`).slice(0, 8), 16) >>> 1;
}
