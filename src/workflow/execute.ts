// Works on one claimed run of a workflow: replay, then go on, then give the claim back with what came of it.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codecs.js";
import type { Effect } from "../kernel/effect.js";
import { storeError } from "../kernel/stored-error.js";
import { type Outcome, Replay } from "../replay/replay.js";
import type { JournalEntry } from "../store/contract/journal.js";
import { createContext } from "./context.js";
import type { AnyWorkflow } from "./workflow.js";

export function workflowProgram(workflow: AnyWorkflow, codecs: Codecs): Program {
  const { kind, name, version, queue } = workflow;
  return { kind, name, version, queue, execute: (session) => execute(workflow, codecs, session) };
}

async function execute(workflow: AnyWorkflow, codecs: Codecs, session: Session): Promise<void> {
  const history = await session.history();
  const replay = new Replay(session, history);
  let mailUpTo = session.run.hasMessages ? -1 : session.inboxSeq;
  const takeMessages = async () => {
    if (session.inboxSeq <= mailUpTo) return;
    mailUpTo = session.inboxSeq;
    await take(session, replay);
  };
  await takeMessages();
  const body = start(workflow, codecs, replay);
  const outcome = await replay.run(body, takeMessages);
  await session.commit([settlement(outcome, codecs, session)]);
}

/** A function that throws before its first await fails its run like any other. */
async function start(workflow: AnyWorkflow, codecs: Codecs, replay: Replay): Promise<unknown> {
  const input = codecs.decode(replay.recorded.input.payload!);
  return workflow.run(createContext(replay, codecs), input);
}

/** Everything unread goes into the journal at once, also what nobody waits for yet. */
async function take(session: Session, replay: Replay): Promise<void> {
  const messages = await session.unread();
  if (messages.length === 0) return;
  const { seq } = await session.commit(messages.map(({ key }): Effect => ({ kind: "take", messageKey: key })));
  messages.forEach((message, i) => {
    const entry: JournalEntry = {
      seq: seq - messages.length + 1 + i,
      epoch: session.run.epoch,
      kind: "take",
      name: message.name,
      key: message.key,
      payload: message.payload,
      at: message.at,
    };
    if (message.kind === "cancel") replay.cancelled(entry);
    else if (message.kind === "signal") replay.signalled(entry);
  });
}

function settlement(outcome: Outcome, codecs: Codecs, session: Session): Effect {
  switch (outcome.kind) {
    case "returned":
      return complete(outcome.value, codecs);
    case "threw":
      return { kind: "fail", as: "failed", reason: storeError(codecs, outcome.error) };
    case "handBack":
      return { kind: "handBack" };
    case "cancelled":
      return { kind: "fail", as: "cancelled", reason: outcome.entry.payload ?? codecs.encode(null) };
    case "waits": {
      const wakeInMs = outcome.wakeAt === null ? null : Math.max(Math.ceil(outcome.wakeAt - session.databaseNow()), 0);
      return { kind: "park", wakeInMs, wakeAfter: 1, seenInboxSeq: session.inboxSeq };
    }
    case "mismatch":
      return { kind: "fail", as: "quarantined", reason: codecs.encode(differenceOf(outcome)) };
  }
}

/** A result that cannot be stored fails the run: it must not be lost in silence. */
function complete(value: unknown, codecs: Codecs): Effect {
  try {
    return { kind: "complete", output: codecs.encode(value, "result") };
  } catch (error) {
    return { kind: "fail", as: "failed", reason: storeError(codecs, error) };
  }
}

function differenceOf({ missing, asked }: Extract<Outcome, { kind: "mismatch" }>) {
  return {
    code: "JOURNAL_MISMATCH",
    message: "The code no longer asks for what the journal has recorded. Deploy code that does, then resume the run.",
    recorded: missing.map(({ seq, kind, name, key }) => ({ seq, kind, name, key })),
    asked,
  };
}
