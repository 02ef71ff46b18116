// What is reported of an answered request.

/** What is logged of a request: never a payload, never a header. */
export interface Answered {
  /** Names the request in logs. */
  readonly requestId: string;
  /** The name of the route. */
  readonly route: string;
  /** The HTTP status. */
  readonly status: number;
  /** How long it took. */
  readonly ms: number;
  /** Who sent it; null: not known. */
  readonly by: string | null;
  /** Of a failed request: the code of its error, or the name of one that is not ours. */
  readonly error: string | null;
}
