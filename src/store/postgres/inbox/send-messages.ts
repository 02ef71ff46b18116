// Puts messages into inboxes, each key once per run.

import type { EndedState, RunState } from "../../../kernel/run/run-state.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import type { Message, MessageKind, NewMessage, SendAnswer } from "../../contract/inbox/inbox.js";
import type { Transaction } from "../../contract/transaction.js";
import { unnest } from "../connection/batch.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { ENDED } from "../run/ended-states.js";
import { ring } from "./ring.js";

/**
 * Only INSERTs: it may stand in a caller's transaction. Sorted, so that two senders of the same keys never deadlock;
 * numbered before that, in the order in which they were sent.
 */
export const sendMessages = statement(
  "send_messages",
  ({ schema: s, now }) => `
with m as materialized (
  select nextval('${s}.inbox_id') as id, m.*
  from ${unnest(1, ["uuid", "text", "uuid", "text", "text", "text", "text", "text"])}
    as m(run_id, key, message_id, kind, name, codec, data, sender)
)
insert into ${s}.inbox (id, run_id, key, message_id, kind, name, codec, data, sender, at)
select m.id, m.run_id, m.key, m.message_id, m.kind, m.name, m.codec, m.data, m.sender, ${now}
from m
join ${s}.runs r on r.id = m.run_id and r.state not in ${ENDED}
order by m.run_id, m.key, m.id
on conflict do nothing
returning run_id, key, message_id`,
);

const whyNotSent = statement(
  "why_not_sent",
  ({ schema: s }) => `
select r.state, i.message_id, i.kind, i.sender
from ${unnest(1, ["uuid", "text"])} with ordinality as m(run_id, key, ord)
left join lateral (select state from ${s}.runs r where r.id = m.run_id limit 1) r on true
left join lateral (select * from ${s}.inbox i where i.run_id = m.run_id and i.key = m.key limit 1) i on true
order by m.ord`,
);

const unreadMessages = statement(
  "unread_messages",
  ({ schema: s }) => `
select run_id, key, message_id, kind, name, codec, data, sender, ${ms("at")} as at
from ${s}.inbox where run_id = $1 and taken_seq is null order by id`,
);

interface WhyRow {
  state: RunState | null;
  message_id: string | null;
  kind: MessageKind;
  sender: string | null;
}

interface MessageRow extends Omit<WhyRow, "state"> {
  run_id: string;
  key: string;
  message_id: string;
  name: string;
  codec: string | null;
  data: string | null;
  at: number;
}

export async function send(
  db: Database,
  messages: readonly NewMessage[],
  tx?: Transaction,
): Promise<readonly SendAnswer[]> {
  const rows = await db.run<{ run_id: string; key: string; message_id: string }>(sendMessages, columnsOf(messages), {
    tx,
  });
  // In the caller's transaction nobody else can see the message yet: the ring would come too early.
  if (!tx && rows.length > 0)
    await ring(
      db,
      rows.map((row) => row.run_id),
    );
  const accepted = new Set(rows.map((row) => `${row.run_id} ${row.message_id} ${row.key}`));
  const open = messages.filter((m) => !accepted.has(`${m.runId} ${m.messageId} ${m.key}`));
  const reasons = new Map<NewMessage, SendAnswer>();
  if (open.length > 0) {
    const why = await db.run<WhyRow>(whyNotSent, [open.map((m) => m.runId), open.map((m) => m.key)], { tx });
    open.forEach((message, i) => {
      reasons.set(message, reasonOf(message, why[i]!));
    });
  }
  return messages.map((message) => reasons.get(message) ?? { outcome: "accepted" });
}

function reasonOf(message: NewMessage, row: WhyRow): SendAnswer {
  if (row.message_id === message.messageId) return { outcome: "accepted" };
  if (row.state === null) return { outcome: "unknown" };
  if (isEnded(row.state)) return { outcome: "ended", state: row.state satisfies EndedState };
  return { outcome: "already", by: { messageId: row.message_id!, kind: row.kind, sender: row.sender } };
}

export async function unread(db: Database, runId: string): Promise<readonly Message[]> {
  const rows = await db.run<MessageRow>(unreadMessages, [runId]);
  return rows.map((row) => ({
    runId: row.run_id,
    key: row.key,
    messageId: row.message_id,
    kind: row.kind,
    name: row.name,
    payload: row.codec === null ? null : { codec: row.codec, data: row.data ?? "" },
    sender: row.sender,
    at: row.at,
  }));
}

function columnsOf(messages: readonly NewMessage[]): unknown[][] {
  return [
    messages.map((m) => m.runId),
    messages.map((m) => m.key),
    messages.map((m) => m.messageId),
    messages.map((m) => m.kind),
    messages.map((m) => m.name),
    messages.map((m) => m.payload?.codec ?? null),
    messages.map((m) => m.payload?.data ?? null),
    messages.map((m) => m.sender),
  ];
}
