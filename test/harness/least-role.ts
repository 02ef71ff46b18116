// A role that has the rights which SECURITY.md names and no others: the document's own statements are executed.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { afterAll } from "vitest";

const DOCUMENT = join(import.meta.dirname, "..", "..", "SECURITY.md");

/** The grants of the document, for this schema and role. */
export function grants(schema: string, role: string): string[] {
  const [, block] = readFileSync(DOCUMENT, "utf8").match(/```sql\n([\s\S]*?)```/)!;
  const statements = block!.trim().split("\n");
  return statements.map((text) => text.replace(/\bholdfast\b/, schema).replace(/\bapp;$/, `${role};`));
}

/** Made when first asked for its URL, which must be after the schema was migrated; dropped at the end. */
export function leastRole(pool: pg.Pool, databaseUrl: string, schema: string) {
  const name = `least_${randomBytes(4).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  let made: Promise<string> | null = null;
  const make = async (): Promise<string> => {
    await pool.query(`create role ${name} login password '${password}'`);
    for (const grant of grants(schema, name)) await pool.query(grant);
    const url = new URL(databaseUrl);
    url.username = name;
    url.password = password;
    return url.href;
  };
  afterAll(async () => {
    if (made) await pool.query(`drop owned by ${name}; drop role ${name}`);
  });
  return {
    name,
    url: (): Promise<string> => {
      made ??= make();
      return made;
    },
  };
}
