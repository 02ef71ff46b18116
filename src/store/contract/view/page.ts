// Pages and bounded counts, as views answer them.

/** Counted up to a bound: `atLeast` means that there are more. */
export interface Counted {
  /** How many. */
  readonly n: number;
  /** Whether there are more than `n`. */
  readonly atLeast: boolean;
}

/** `next` is the `after` of the following page; null at the end. */
export interface ViewPage<Row> {
  /** The rows of this page. */
  readonly rows: readonly Row[];
  /** Pass it on to get the next page; null at the end. */
  readonly next: string | null;
}

export interface ViewRequest {
  readonly env: string;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string;
}
