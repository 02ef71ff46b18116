// One call of a function's to its context: answered by an entry of the journal, sooner or later.

import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { CallId } from "./recorded.js";

export interface Call {
  readonly id: CallId;
  /** For people: `step "charge"`. */
  readonly title: string;
  /** Whether it was made in this round. */
  readonly started: boolean;
  /** Made, and at work in this process; a call that only waits for the outside is not. */
  readonly running: boolean;
  /** When it ends by itself or goes on, on the database's clock. */
  readonly deadline: number | null;
  /** Its deadline is so near that the run is not given back for it. */
  readonly lingers?: boolean;
  /** While it is being recorded nothing else is told: its answer depends on what the log has beyond it. */
  readonly first?: boolean;
  /** Set on a wait for a signal: it is ended by the next message of that name. */
  readonly signalName?: string;
  start(): void;
  /** The deadline has come: writes the ending that says so, or goes on. */
  expire(): void;
  /** A message was taken into the journal. */
  hear?(message: JournalEntry): void;
  /** How many ended children are worth waking for. */
  wakeAfter?(): number;
  /** The ending, as the journal has it. */
  tell(entry: JournalEntry): void;
}
