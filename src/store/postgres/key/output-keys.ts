// Keys of outputs: dedupe keys in a scope of their own, reserved for a time by one call of a run.

import { OUTPUT_SCOPE, type OutputAnswer, type OutputCall } from "../../contract/run/outputs.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { hashText } from "./run-keys.js";

/**
 * The row is written in any case: only the answer of the conflicting insert shows a holder that committed while this statement
 * waited for it.
 */
export const takeOutputKey = statement(
  "take_output_key",
  "Reserves the key of an output for a call, or shows which call has it.",
  ({ schema: s, now }) => {
    const put = (column: string) =>
      `${column} = case when k.expires_at <= excluded.expires_at - ${interval("$6::float8")} then excluded.${column} else k.${column} end`;
    return `
insert into ${s}.run_keys as k (hash, env, scope, key, run_id, payload_hash, lifetime, expires_at)
values ($1, $2, '${OUTPUT_SCOPE}', $3, $4, $5, 'timed', ${now} + ${interval("$6::float8")})
on conflict (hash) do update set
  ${["run_id", "payload_hash", "expires_at"].map(put).join(",\n  ")}
returning run_id, payload_hash = $5 as taken`;
  },
);

async function takeOutput(
  db: Database,
  { env, key, runId, call, keepMs }: OutputCall,
  { tx }: { readonly tx?: Transaction } = {},
): Promise<OutputAnswer> {
  const values = [hashText(env, OUTPUT_SCOPE, key), env, key, runId, call, keepMs];
  const [row] = await db.run<{ run_id: string; taken: boolean }>(takeOutputKey, values, { tx });
  return row!.taken ? { outcome: "taken" } : { outcome: "held", runId: row!.run_id };
}

export const outputOperations = { takeOutput };
