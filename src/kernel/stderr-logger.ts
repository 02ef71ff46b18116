// The default logger of nodes and clients: warnings and errors as lines on standard error.

import { withoutSecrets } from "./error.js";
import type { Logger } from "./logger.js";

const LONGEST_VALUE = 300;
const ignore = () => {};

/** Prints what a person may have to act on. */
export const stderrLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: (message, fields) => print("warn", message, fields),
  error: (message, fields) => print("error", message, fields),
};

/** The logger that an option asks for. Omitted: standard error, unless HOLDFAST_LOG is `off`. */
export function loggerOf(option: Logger | false | undefined, environment = process.env): Logger | null {
  if (option !== undefined) return option || null;
  return environment["HOLDFAST_LOG"] === "off" ? null : stderrLogger;
}

function print(level: string, message: string, fields: Readonly<Record<string, unknown>>): void {
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  process.stderr.write(`holdfast ${level} ${[message, ...facts].join(" ")}\n`);
}

/** On one line: an error as its code and message, a node as its name. */
function shown(value: unknown): string {
  if (value instanceof Error) return shown(`${(value as { code?: unknown }).code ?? value.name}: ${value.message}`);
  if (typeof value === "object" && value !== null && "incarnation" in value && "name" in value)
    return shown(value.name);
  const text = typeof value === "string" && /^[\w.:@/-]+$/.test(value) ? value : JSON.stringify(value);
  return withoutSecrets(text ?? "undefined").slice(0, LONGEST_VALUE);
}
