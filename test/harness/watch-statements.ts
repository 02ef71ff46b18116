// Watches which statements a store sends to the server, and reads the snapshot of all statements to compare them with.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { NOW } from "../../src/store/postgres/connection/dialect.js";

const SNAPSHOT = join(import.meta.dirname, "..", "..", "src", "store", "postgres", "statements.snapshot.sql");

const withoutSpace = (text: string) => text.replace(/\s/g, "");

/** The first statement of an audited change is another one of the snapshot, with the audit row in front. */
function withoutAudit(text: string): string {
  if (text.endsWith("select from audited")) return text;
  return text.replace(
    /^\s*with( recursive)? audited as \([\s\S]*?returning id\s*\)(, )?/,
    (_, recursive: string | undefined, more: string | undefined) => (more ? `with${recursive ?? ""} ` : ""),
  );
}

/** The texts without white space, and the names. */
export function snapshotStatements() {
  const [, ...entries] = readFileSync(SNAPSHOT, "utf8").split(/^-- (?=.* · .*$)/m);
  const found = entries.map((entry) => {
    const [title, , ...lines] = entry.split("\n");
    return { name: title!.split(/[, ]/)[0]!, text: withoutSpace(lines.join("\n")).replace(/;$/, "") };
  });
  return { names: new Set(found.map(({ name }) => name)), texts: new Set(found.map(({ text }) => text)) };
}

/** From now on: the texts that a store's own connections send, as the snapshot has them; queries that vary by their names. */
export function watchStatements({ schema, now }: { readonly schema: string; readonly now: string }) {
  const texts = new Set<string>();
  const named = new Set<string>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [asked] = args as [string | { readonly text?: string }];
    const text = typeof asked === "string" ? asked : (asked.text ?? "");
    const ours = (this as unknown as { connectionParameters: { application_name?: string } }).connectionParameters;
    if (ours.application_name === "holdfast" && text.includes(`"${schema}"`)) {
      const name = /^\/\* (\w+) \*\//.exec(text)?.[1];
      if (name !== undefined) named.add(name);
      else if (!/^\s*(?:listen|create schema) |\.migrations'?\)?\b/.test(text)) {
        texts.add(
          withoutSpace(
            withoutAudit(text)
              .replaceAll(now, NOW)
              .replaceAll(`"${schema}"`, '"holdfast"')
              .replaceAll(schema, "holdfast"),
          ),
        );
      }
    }
    return Reflect.apply(query, this, args);
  } as typeof query;
  const stop = () => {
    pg.Client.prototype.query = query;
  };
  return { texts, named, stop };
}
