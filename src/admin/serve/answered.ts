// What is reported of an answered request.

/** What is logged of a request: never a payload, never a header. */
export interface Answered {
  readonly requestId: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  readonly by: string | null;
  /** Of a failed request: the code of its error, or the name of one that is not ours. */
  readonly error: string | null;
}
