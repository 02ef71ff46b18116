// Attendance: an attending node is notified of work at once, and other nodes notice its death at once.

import type { Overflow } from "../../../kernel/run/new-run.js";

export interface Attendee {
  readonly incarnation: string;
  /** There may be work in these groups. Losing every such call costs latency, never work. */
  readonly onWake: (groupIds: readonly number[]) => void;
  /** These runs were asked to stop: their holder reads their inboxes now. A lost call costs latency only. */
  readonly onCalled?: (runIds: readonly string[]) => void;
  /** A caller's transaction has stored something that housekeeping finds: a message to a parked run, a run to be admitted. */
  readonly onNews?: () => void;
  /** Its presence was lost, or is back: in between it counts as missing. */
  readonly onPresence?: (held: boolean) => void;
  /** Runs that found no place under a limit and could not wait; reported once, in the process whose call found it. */
  readonly onSkipped?: (runs: readonly SkippedRun[]) => void;
}

/** A run that its overflow policy did not let wait. */
export interface SkippedRun {
  /** The id of the run. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** The policy. */
  readonly overflow: Overflow;
}

export interface Attendance {
  /** Whether its death is noticed before its lease expires. False behind a transaction pooler. */
  readonly seen: boolean;
  /** After its registration was repeated, because the store had lost it, or when the store does not know its presence. */
  again(): Promise<void>;
  leave(): Promise<void>;
}
