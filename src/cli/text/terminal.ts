// The process around a command: its streams, environment, width and interrupts.

export interface Terminal {
  write(text: string): void;
  writeError(text: string): void;
  /** Width of the window; undefined or 0 if unknown. */
  readonly columns: number | undefined;
  readonly isTTY: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Aborts at the first ctrl-c after this call; before it, ctrl-c ends the process. */
  interrupted(): AbortSignal;
  /** Reports each key until the returned function is called. Absent: there is no keyboard. */
  readonly keys?: (onKey: (key: string) => void) => () => void;
}

/** The width of tables when the window's width is unknown. */
const DEFAULT_COLUMNS = 100;
const NARROWEST = 60;

export function widthOf({ isTTY, columns }: Terminal): number {
  return isTTY && columns ? Math.max(columns, NARROWEST) : DEFAULT_COLUMNS;
}
