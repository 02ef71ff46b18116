// A schema as text, from the catalog: tables with columns, constraints, indexes, triggers and functions, in order.

import type pg from "pg";

const QUERIES = {
  tables: `
    select c.relname as name, array_to_string(c.reloptions, ', ') as options,
      array(select a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end
              || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
              || case a.attidentity when 'a' then ' identity always' when 'd' then ' identity' else '' end
            from pg_attribute a left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
      array(select conname || ': ' || pg_get_constraintdef(oid) from pg_constraint
            where conrelid = c.oid and contype <> 'n' order by conname) as constraints,
      array(select pg_get_indexdef(indexrelid) from pg_index where indrelid = c.oid order by 1) as indexes,
      array(select pg_get_triggerdef(oid) from pg_trigger where tgrelid = c.oid and not tgisinternal order by tgname) as triggers
    from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'r' order by c.relname`,
  functions: `select pg_get_functiondef(oid) as text from pg_proc where pronamespace = $1::regnamespace order by proname`,
};

export async function describeSchema(client: pg.ClientBase, schema: string): Promise<string> {
  const tables = await client.query(QUERIES.tables, [schema]);
  const functions = await client.query(QUERIES.functions, [schema]);
  const parts = tables.rows.map((table) =>
    [
      `table ${table.name}${table.options ? ` (${table.options})` : ""}`,
      ...table.columns.map((column: string) => `  ${column}`),
      ...table.constraints.map((text: string) => `  constraint ${text}`),
      ...table.indexes.map((text: string) => `  ${text}`),
      ...table.triggers.map((text: string) => `  ${text}`),
    ].join("\n"),
  );
  return `${[...parts, ...functions.rows.map((row) => row.text.trimEnd())].join("\n\n")}\n`.replaceAll(
    `${schema}.`,
    "",
  );
}
