// What a command knows of the process around it: where it writes, what it is run under, how it is interrupted.

export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  /** As wide as the window; undefined or 0 when nobody knows. */
  readonly columns: number | undefined;
  readonly isTTY: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts at the first ctrl-c after this was asked for; until then ctrl-c ends the process. */
  interrupted(): AbortSignal;
}

/** What tables must fit when nobody says how wide the window is. */
const DEFAULT_COLUMNS = 100;
const NARROWEST = 60;

export function widthOf({ isTTY, columns }: Terminal): number {
  return isTTY && columns ? Math.max(columns, NARROWEST) : DEFAULT_COLUMNS;
}
