// Pages and bounded counts, as views answer them.

/** Counted up to a bound: `atLeast` means that there are more. */
export interface Counted {
  readonly n: number;
  readonly atLeast: boolean;
}

/** `next` is the `after` of the following page; null at the end. */
export interface ViewPage<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

export interface ViewRequest {
  readonly env: string;
  readonly limit: number;
  /** The `next` of the page before. */
  readonly after?: string;
}
