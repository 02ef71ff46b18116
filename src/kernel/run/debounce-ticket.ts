// What a run that gathers events knows of it: it stands as the key of its first journal entry until it has begun.

export interface DebounceTicket {
  /** The scope of the subscription. */
  readonly subscription: string;
  /** Which events belong together. */
  readonly subject: string;
  /** How long no other may come. */
  readonly windowMs: number;
}

const MARK = "debounce ";

export function writeTicket({ subscription, subject, windowMs }: DebounceTicket): string {
  return MARK + JSON.stringify([subscription, subject, windowMs]);
}

/** Null for the start of any other run. */
export function readTicket(key: string | null | undefined): DebounceTicket | null {
  if (!key?.startsWith(MARK)) return null;
  const [subscription, subject, windowMs] = JSON.parse(key.slice(MARK.length)) as [string, string, number];
  return { subscription, subject, windowMs };
}
