// Takes what others said to a run into its journal, whenever there is news.

import type { Effect } from "../kernel/run/effect.js";
import { isStopRequest, type Message } from "../store/contract/inbox/inbox.js";
import type { Replay } from "./replay.js";
import type { Mail } from "./stop-gate.js";

/** Everything unread goes into the journal at once, also what nobody waits for yet. `onTaking` is told before it is sent. */
export function messageTaker(replay: Replay, onTaking: (messages: readonly Message[]) => void = () => {}): Mail {
  const { session } = replay;
  let mailUpTo = session.run.hasMessages ? -1 : session.run.inboxSeq;
  let ownUpTo = 0;
  return {
    get isDue() {
      return session.inboxSeq !== mailUpTo || session.ownMail > ownUpTo;
    },
    async take() {
      mailUpTo = session.inboxSeq;
      ownUpTo = session.ownMail;
      const messages = await session.unread();
      if (messages.length === 0) return;
      // Before it is sent: who asked knows from the journal that nothing more begins.
      if (messages.some(isStopRequest)) replay.gate.close();
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
      at,
    };
    replay.received(entry);
  });
}
