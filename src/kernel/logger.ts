// The interface of a logger, as most logging libraries have it.

/** Where a node logs: a message and fields, as `console` takes them. */
export interface Logger {
  /** Details for finding a cause. */
  debug(message: string, fields: Readonly<Record<string, unknown>>): void;
  /** What happens in the normal course. */
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
  /** What deserves attention; the node continues. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  /** What needs a person. */
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}
