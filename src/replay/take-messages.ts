// Takes new messages to a run into its journal.

import { buggify } from "../kernel/buggify.js";
import type { Effect } from "../kernel/run/effect.js";
import { isStopRequest, type Message } from "../store/contract/inbox/inbox.js";
import type { Replay } from "./replay.js";
import type { Mail } from "./stop-gate.js";

/**
 * All unread messages go into the journal at once, even those no call waits for yet. `onTaking` is called before they
 * are sent, and returns what is written before them in their commit.
 */
export class MessageTaker implements Mail {
  readonly #replay: Replay;
  readonly #onTaking: (messages: readonly Message[]) => readonly Effect[];
  #mailUpTo: number;
  #ownUpTo = 0;

  constructor(replay: Replay, onTaking: (messages: readonly Message[]) => readonly Effect[] = () => []) {
    const { run } = replay.session;
    this.#replay = replay;
    this.#onTaking = onTaking;
    this.#mailUpTo = run.hasMessages ? -1 : run.inboxSeq;
  }

  get isDue(): boolean {
    const { inboxSeq, newsCount } = this.#replay.session;
    return inboxSeq !== this.#mailUpTo || newsCount > this.#ownUpTo;
  }

  async take(): Promise<void> {
    const { session } = this.#replay;
    this.#mailUpTo = session.inboxSeq;
    this.#ownUpTo = session.newsCount;
    if (buggify(session.world, "inbox.read-again")) await session.unread();
    const messages = await session.unread();
    if (messages.length === 0) return;
    // Close before the write: once the entry is in the journal, the caller may rely on nothing more beginning.
    if (messages.some(isStopRequest)) this.#replay.closeGate(messages);
    await takeAll(this.#replay, messages, this.#onTaking(messages));
  }
}

async function takeAll(replay: Replay, messages: readonly Message[], ahead: readonly Effect[]): Promise<void> {
  const { session } = replay;
  const takes = messages.map(({ key, messageId }): Effect => ({ kind: "take", messageKey: key, messageId }));
  const { seq } = await session.commit([...ahead, ...takes]);
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
