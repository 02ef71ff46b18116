// The inbox of a run: signals, decisions, ends of children, a cancel request. Senders insert here and never touch the run's
// journal; its holder moves messages into the journal in its own commit.

import type { Payload } from "../../../kernel/codec/payload.js";
import type { HoldfastError } from "../../../kernel/error.js";
import type { EndedState } from "../../../kernel/run/run-state.js";
import type { Transaction } from "../transaction.js";

/** `pause` is sent by the store alone: it asks the holder to hand the run back, and the row decides which state the run gets. */
export type MessageKind = "signal" | "decision" | "timeout" | "cancel" | "child" | "pause";

export interface NewMessage {
  readonly runId: string;
  /**
   * Accepted once per run: `signal:<id>`, `wait:<name>` (a decision, its timeout and a cancel of the wait share one
   * key: the first wins), `cancel`, `child:<id>`.
   */
  readonly key: string;
  /** Drawn by the sender: sending the same message again is answered `accepted` again. */
  readonly messageId: string;
  readonly kind: MessageKind;
  readonly name: string;
  readonly payload: Payload | null;
  readonly sender: string | null;
}

export interface Message extends NewMessage {
  readonly at: number;
}

export type SendAnswer =
  | { readonly outcome: "accepted" }
  /** The key was taken by another message. */
  | {
      readonly outcome: "already";
      readonly by: { readonly messageId: string; readonly kind: MessageKind; readonly sender: string | null };
    }
  | { readonly outcome: "ended"; readonly state: EndedState }
  | { readonly outcome: "unknown" }
  /** It cannot be stored; the other messages of the call are not affected. */
  | { readonly outcome: "refused"; readonly error: HoldfastError };

export interface InboxStore {
  /** Stores messages, also before the run waits for them, and wakes a parked run. With a transaction: only INSERTs, wakes after. */
  send(messages: readonly NewMessage[], options?: { readonly tx?: Transaction }): Promise<readonly SendAnswer[]>;

  /** The messages that the holder has not moved into the journal yet, in order of acceptance. */
  unread(runId: string): Promise<readonly Message[]>;
}

/** Its holder begins nothing more of the run. */
export function isStopRequest({ kind }: Pick<Message, "kind">): boolean {
  return kind === "cancel" || kind === "pause";
}
