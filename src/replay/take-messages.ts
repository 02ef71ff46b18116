// Takes new messages to a run into its journal.

import type { Effect } from "../kernel/run/effect.js";
import { isStopRequest, type Message } from "../store/contract/inbox/inbox.js";
import type { Replay } from "./replay.js";
import type { Mail } from "./stop-gate.js";

/**
 * All unread messages go into the journal at once, even those no call waits for yet. `onTaking` is called before they
 * are sent.
 */
export function messageTaker(replay: Replay, onTaking: (messages: readonly Message[]) => void = () => {}): Mail {
  const { session } = replay;
  let mailUpTo = session.run.hasMessages ? -1 : session.run.inboxSeq;
  let ownUpTo = 0;
  return {
    get isDue() {
      return session.inboxSeq !== mailUpTo || session.newsCount > ownUpTo;
    },
    async take() {
      mailUpTo = session.inboxSeq;
      ownUpTo = session.newsCount;
      const messages = await session.unread();
      if (messages.length === 0) return;
      // Close before the write: once the entry is in the journal, the caller may rely on nothing more beginning.
      if (messages.some(isStopRequest)) replay.closeGate(messages);
      onTaking(messages);
      await takeAll(replay, messages);
    },
  };
}

async function takeAll(replay: Replay, messages: readonly Message[]): Promise<void> {
  const { session } = replay;
  const { seq } = await session.commit(
    messages.map(({ key, messageId }): Effect => ({ kind: "take", messageKey: key, messageId })),
  );
  messages.forEach(({ name, key, payload, at }, i) => {
    const entry = {
      seq: seq - messages.length + 1 + i,
      epoch: session.run.epoch,
      kind: "take",
      name,
      key,
      payload,
      // As the journal has it: the clean-up of a cancelled run is limited from here.
      at: key === "cancel" ? session.databaseNow() : at,
    };
    replay.received(entry);
  });
}
