// One call of a program to its context; a journal entry answers it, sooner or later.

import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { CallId } from "./recorded.js";

export interface Call {
  readonly id: CallId;
  /** For people: `step "charge"`. */
  readonly title: string;
  /** Whether the call was made in this session. */
  readonly started: boolean;
  /** Working in this process; false for a call that only waits for an outside event. */
  readonly running: boolean;
  /** When the call times out or resumes, on the database's clock. */
  readonly deadline: number | null;
  /** The deadline is so near that the run keeps its claim until then. */
  readonly lingers?: boolean;
  /**
   * While this call is being recorded, no ending is delivered: its answer depends on whether the journal continues
   * beyond it.
   */
  readonly first?: boolean;
  /** It only waits, for a time or a signal: nothing is done when it begins. */
  readonly isWait?: boolean;
  /** It waits for a time only. */
  readonly isSleep?: boolean;
  /** How long it waits from its first entry, while that is not written. */
  readonly owedMs?: number | null;
  /** Set on a wait for a signal: the next message of that name ends it. */
  readonly signalName?: string;
  /** The call of a child, which is a run of its own. */
  readonly isChild?: boolean;
  /** Made by clean-up: a cancel of the run does not touch it. */
  readonly isCleanup: boolean;
  start(): void;
  /** Called at the deadline: writes the ending that says so, or resumes. */
  expire(): void;
  /** Called when a message was taken into the journal. */
  onMessage?(message: JournalEntry): void;
  /** How many children must end before waking is useful. */
  wakeAfter?(): number;
  /** Asks its work to stop, because the run is cancelled: a result that comes later does not count. */
  abort?(reason: unknown): void;
  /** The call is over without an ending: rejects it and stops what it has begun outside. */
  withdraw(error: Error): Promise<void> | null;
  /** Delivers the ending, as the journal has it. */
  deliver(entry: JournalEntry): void;
}
