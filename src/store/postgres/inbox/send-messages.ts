// Inserts messages into inboxes, each key once per run.

import type { EndedState, RunState } from "../../../kernel/run/run-state.js";
import { isEnded } from "../../../kernel/run/run-state.js";
import type { Message, MessageKind, NewMessage, SendAnswer } from "../../contract/inbox/inbox.js";
import type { Transaction } from "../../contract/transaction.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { ms } from "../connection/instant.js";
import { type Columns, rowset, text, uuid } from "../connection/rowset.js";
import { payloadOf } from "../journal/read-journal.js";
import { ENDED } from "../run/ended-states.js";
import { wakeRuns } from "./wake-runs.js";

const KEY = {
  run_id: uuid(({ runId }) => runId),
  key: text(({ key }) => key),
} satisfies Columns<NewMessage>;
const KEYS = rowset<NewMessage>()(KEY);
const MESSAGES = rowset<NewMessage>()({
  ...KEY,
  message_id: uuid(({ messageId }) => messageId),
  kind: text(({ kind }) => kind),
  name: text(({ name }) => name),
  codec: text(({ payload }) => payload?.codec ?? null),
  data: text(({ payload }) => payload?.data ?? null),
  sender: text(({ sender }) => sender),
});

/**
 * Only INSERTs: it may run in a caller's transaction. Sorted, so that two senders of the same keys never deadlock;
 * numbered before that, in the order in which they were sent.
 */
export const sendMessages = statement(
  "send_messages",
  "Inserts messages into inboxes, each key once per run.",
  ({ schema: s, now }) => `
with m as materialized (
  select nextval('${s}.inbox_id') as id, m.*
  from ${MESSAGES.from(1).as("m")}
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
  "Finds out why messages were not accepted.",
  ({ schema: s }) => `
select r.state, i.message_id, i.kind, i.sender
from ${KEYS.from(1).as("m", "ord")}
left join lateral (select state from ${s}.runs r where r.id = m.run_id limit 1) r on true
left join lateral (select * from ${s}.inbox i where i.run_id = m.run_id and i.key = m.key limit 1) i on true
order by m.ord`,
);

const unreadMessages = statement(
  "unread_messages",
  "Reads the unread messages of a run, the oldest first.",
  ({ schema: s }) => `
select run_id as "runId", key, message_id as "messageId", kind, name, codec, data, sender, ${ms("at")} as at
from ${s}.inbox where run_id = $1 and taken_seq is null order by id`,
);

interface WhyRow {
  state: RunState | null;
  message_id: string | null;
  kind: MessageKind;
  sender: string | null;
}

interface MessageRow extends Omit<Message, "payload"> {
  codec: string | null;
  data: string | null;
}

export async function send(
  db: Database,
  messages: readonly NewMessage[],
  tx?: Transaction,
): Promise<readonly SendAnswer[]> {
  const rows = await db.run<{ run_id: string; key: string; message_id: string }>(
    sendMessages,
    MESSAGES.arrays(messages),
    { tx },
  );
  // In the caller's transaction no other can see the message yet: it is too early to wake the run.
  if (!tx)
    await wakeRuns(
      db,
      rows.map((row) => row.run_id),
    );
  const accepted = new Set(rows.map((row) => `${row.run_id} ${row.message_id} ${row.key}`));
  const open = messages.filter((m) => !accepted.has(`${m.runId} ${m.messageId} ${m.key}`));
  const reasons = new Map<NewMessage, SendAnswer>();
  if (open.length > 0) {
    const why = await db.run<WhyRow>(whyNotSent, KEYS.arrays(open), { tx });
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
  return rows.map(({ codec, data, ...message }) => ({ ...message, payload: payloadOf(codec, data) }));
}
