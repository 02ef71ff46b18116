// Attending: a node that is there is told of work at once, and is missed at once when it dies.

export interface Attendee {
  readonly incarnation: string;
  /** There may be work in these groups. A hint: losing all of them costs latency, never work. */
  readonly onHint: (groupIds: readonly number[]) => void;
  /** Somebody's own transaction has left something that housekeeping finds: a message to a parked run, a run to be admitted. */
  readonly onNews?: () => void;
}

export interface Attendance {
  /** Whether its death is seen before its lease is over. False behind a transaction pooler, and in memory. */
  readonly seen: boolean;
  /** After it had to register anew, because the store had lost that. */
  again(): Promise<void>;
  leave(): Promise<void>;
}
