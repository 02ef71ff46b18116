// Search attributes of runs: written when a run is inserted, and changed by its holder.

import { type Attribute, attributeData, MOST_ATTRIBUTES } from "../../../kernel/run/attribute.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { AttributeAnswer, AttributeChange } from "../../contract/run/attributes.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { type Dialect, statement } from "../connection/dialect.js";
import { type HasColumns, int, oneOf, rowset, text } from "../connection/rowset.js";

interface RunAttribute {
  readonly run: number;
  readonly name: string;
  readonly value: Attribute;
}

/** `run` is the place of the run in its batch, counted from 1. */
export const ATTRIBUTES = rowset<RunAttribute>()({
  run: int(({ run }) => run),
  name: text(({ name }) => name),
  value: text(({ value }) => attributeData(value)),
});

export const hasAttributes = ({ attributes }: Pick<NewRun, "attributes">): boolean =>
  attributes !== undefined && Object.keys(attributes).length > 0;

export function attributeColumns(runs: readonly Pick<NewRun, "attributes">[]): unknown[] {
  return ATTRIBUTES.arrays(
    runs.flatMap(({ attributes = {} }, i) =>
      Object.entries(attributes).map(([name, value]) => ({ run: i + 1, name, value })),
    ),
  );
}

/** Only for runs that this statement inserted (`r`). */
export const intoAttributes = ({ schema: s }: Dialect, runs: HasColumns<"id" | "claim_group">, from: number) => `
  insert into ${s}.run_attributes (run_id, name, value, claim_group)
  select ${runs.at("id", "a.run")}, a.name, a.value, ${runs.at("claim_group", "a.run")}
  from ${ATTRIBUTES.from(from).as("a")}
  where ${oneOf(runs.at("id", "a.run"), "select id from r")}`;

/** Only the holder of a run changes its attributes: the count cannot change between reading and writing. */
export const setRunAttributes = statement(
  "set_run_attributes",
  "Sets and removes attributes of a run.",
  ({ schema: s }) => `
with r as materialized (select id, claim_group from ${s}.runs where id = $1
), given as materialized (
  select * from unnest((select $2::text[]), (select $3::text[])) as g(name, value)
), fits as materialized (
  select ${MOST_ATTRIBUTES} >= (select count(*) from given where value is not null)
    + (select count(*) from ${s}.run_attributes a where a.run_id = $1 and a.name <> all($2)) as fits
), removed as (
  delete from ${s}.run_attributes a
  where a.run_id = $1 and a.name = any(array(select name from given where value is null)) and (select fits from fits)
), put as (
  insert into ${s}.run_attributes (run_id, name, value, claim_group)
  select r.id, g.name, g.value, r.claim_group from r, given g where g.value is not null and (select fits from fits)
  on conflict (run_id, name) do update set value = excluded.value
)
select fits from fits, r`,
);

async function setAttributes(
  db: Database,
  { runId, attributes }: AttributeChange,
  { tx }: { readonly tx?: Transaction } = {},
): Promise<AttributeAnswer> {
  const names = Object.keys(attributes);
  const values = Object.values(attributes).map((value) => (value === null ? null : attributeData(value)));
  const [row] = await db.run<{ fits: boolean }>(setRunAttributes, [runId, names, values], { tx });
  if (!row) return { outcome: "unknown" };
  return { outcome: row.fits ? "set" : "too many" };
}

export const attributeOperations = { setAttributes };
