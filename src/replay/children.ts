// The children of a run: how many were started of each program, and what was last reported of each.

import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Recorded } from "./recorded.js";

/** The child that a message is about: `child:<id>`, or `child:<id>:<generation>` when it was retried or continued as new. */
export function childOf(key: string | null): string | null {
  return key?.startsWith("child:") ? key.split(":")[1]! : null;
}

export class Children {
  readonly #started: Map<string, number>;
  readonly #ends = new Map<string, JournalEntry>();

  constructor({ children, messages }: Pick<Recorded, "children" | "messages">) {
    this.#started = new Map(children);
    for (const entry of messages.values()) this.received(entry);
  }

  /** Which child of this program is started next: an entry names its call when the two numbers differ. */
  next(program: string): number {
    const n = (this.#started.get(program) ?? 0) + 1;
    this.#started.set(program, n);
    return n;
  }

  received(message: JournalEntry): void {
    const childId = childOf(message.key);
    if (childId !== null) this.#ends.set(childId, message);
  }

  /** The last message about the end of a child. */
  endOf(childId: string): JournalEntry | undefined {
    return this.#ends.get(childId);
  }
}
