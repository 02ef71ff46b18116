// The debounce data of a run that gathers events, stored as the key of its first journal entry until it begins.

export interface DebounceTicket {
  /** The scope of the subscription. */
  readonly subscription: string;
  /** Which events are gathered together. */
  readonly subject: string;
  /** How long the subject must be quiet. */
  readonly windowMs: number;
}

const MARK = "debounce ";

export function writeTicket({ subscription, subject, windowMs }: DebounceTicket): string {
  return MARK + JSON.stringify([subscription, subject, windowMs]);
}

/** Null for any other run. */
export function readTicket(key: string | null | undefined): DebounceTicket | null {
  if (!key?.startsWith(MARK)) return null;
  const [subscription, subject, windowMs] = JSON.parse(key.slice(MARK.length)) as [string, string, number];
  return { subscription, subject, windowMs };
}
