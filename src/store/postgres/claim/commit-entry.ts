// Commits one journal entry of one run: what a node with a single run at work does after every step.
//
// The batch statement prepares for messages, ends and parents before it reads its first row, which takes as long as all the rest of
// such a commit. This one has the same fence and skips a locked row as well. What it does not accept is left to the batch statement.

import { entryOf } from "../../../kernel/run/effect.js";
import type { Commit, CommitAnswer } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { isQuestion } from "./commit-columns.js";

export const commitEntry = statement(
  "commit_entry",
  "Commits one entry to the journal of one run that stays claimed.",
  ({ schema: s, now }) => `
with free as materialized (
  select id from ${s}.runs where id = $1::uuid for no key update skip locked
), ok as (
  update ${s}.runs r set seq = r.seq + 1, crashes = 0, ended_at = null
  where r.id = $1::uuid and r.epoch = $2::bigint and r.token = $3::uuid and r.seq = $4::bigint and exists (select from free)
  returning r.seq, r.inbox_seq
), written as (
  insert into ${s}.journal (run_id, seq, epoch, token, kind, name, key, codec, data, at)
  select $1::uuid, ok.seq, $2::bigint, $3::uuid, $5::text, $6::text, $7::text, $8::text, $9::text, ${now} from ok
)
select seq, inbox_seq from ok`,
);

/** Null: the batch statement is needed, or finds out why it was not accepted. */
export async function commitOneEntry(
  db: Database,
  commits: readonly Commit[],
): Promise<readonly CommitAnswer[] | null> {
  const [commit] = commits;
  if (commits.length !== 1 || !isOneEntry(commit!)) return null;
  const { claim, expectedSeq, effects } = commit!;
  const { kind, name, key, payload } = entryOf(effects[0]!);
  const fence = [claim.runId, claim.epoch, claim.token, expectedSeq];
  const entry = [kind, name, key, payload?.codec ?? null, payload?.data ?? null];
  const [row] = await db.run<{ seq: string; inbox_seq: string }>(commitEntry, [...fence, ...entry]);
  return row ? [{ outcome: "accepted", seq: Number(row.seq), inboxSeq: Number(row.inbox_seq) }] : null;
}

function isOneEntry({ effects }: Commit): boolean {
  return effects.length === 1 && effects[0]!.kind === "append" && !isQuestion(effects[0]!);
}
