// The rules for names and keys. An invalid name is rejected, never changed; names that differ only in case are
// different names.

import { InvalidInput, LimitExceeded } from "./error.js";

/** Returns the name if it follows its rule. `path` is the caller's name for it. */
export type NameCheck = (name: unknown, path?: string) => string;

interface NameRule {
  /** Counted like `String.length`. */
  readonly max: number;
  readonly pattern: RegExp;
  readonly says: string;
}

/** Segments of only dots are excluded because browsers resolve `/queues/..` before they send the request. */
const SEGMENTS: NameRule = {
  max: 128,
  pattern: /^(?!\.+(?:::|$))[\w.-]+(?:::(?!\.+(?:::|$))[\w.-]+)*$/,
  says: "must be segments of A-Z a-z 0-9 _ . - joined by '::' (like 'orders' or 'ml::train'), none of which consists only of dots",
};
/** A name that people write as the key of an object. */
const WORD: NameRule = {
  max: 63,
  pattern: /^[A-Za-z0-9_][\w.-]*$/,
  says: "must be letters, digits, '_', '.' and '-', and start with a letter, a digit or '_'",
};
const SLUG: NameRule = {
  max: 63,
  pattern: /^[a-z0-9][a-z0-9_-]*$/,
  says: "must be lower-case letters, digits, '_' and '-', and start with a letter or digit",
};
/**
 * PostgreSQL cannot store a NUL or a lone surrogate; other control characters make different names look the same in a
 * log.
 */
const TEXT: NameRule = {
  max: 200,
  pattern: /^[^\p{Cc}\p{Surrogate}]+$/u,
  says: "must not contain control characters (such as NUL or a line break) or half of a surrogate pair",
};
/**
 * 512 UTF-16 units are at most 1,536 bytes: with a scope (200, so 600) and an env (63) they fit the 2,704 bytes of a
 * btree entry.
 */
const KEY: NameRule = { ...TEXT, max: 512 };
/** PostgreSQL silently cuts identifiers at 63 bytes; 49 leave room for the suffixes we append. */
const IDENTIFIER: NameRule = {
  max: 49,
  pattern: /^(?!pg_|information_schema$)[a-z_][a-z0-9_]*$/,
  says: "must be lower-case letters, digits and '_', not start with a digit or 'pg_', and not be 'information_schema'",
};

export const programName = nameCheck("program name", SEGMENTS);
export const queueName = nameCheck("queue name", SEGMENTS);
export const stepName = nameCheck("step name", TEXT);
export const stepKey = nameCheck("step key", TEXT);
export const signalName = nameCheck("signal name", TEXT);
export const eventName = nameCheck("event name", TEXT);
export const waitName = nameCheck("wait name", TEXT);
export const nodeName = nameCheck("node name", TEXT);
export const executorName = nameCheck("executor name", WORD);
export const envName = nameCheck("env", SLUG);
export const stackName = nameCheck("stack", SLUG);
export const versionName = nameCheck("version", TEXT);
export const attributeName = nameCheck("attribute name", WORD);
export const attributeText = nameCheck("value of an attribute", TEXT);
export const codecName = nameCheck("codec name", SLUG);
/** Part of the name of its steps, which have 200 characters. */
export const outputKey = nameCheck("output key", { ...TEXT, max: 180 });
export const dedupeKey = nameCheck("key", KEY);
export const keyScope = nameCheck("scope", TEXT);
export const limitKey = nameCheck("limit's key", KEY);
export const leaseKey = nameCheck("lease name", KEY);
export const schemaName = nameCheck("schema", IDENTIFIER);

function nameCheck(what: string, rule: NameRule): NameCheck {
  return (name, path = what) => {
    if (typeof name !== "string") {
      const type = name === null ? "null" : typeof name;
      throw new InvalidInput(path, `a ${what} must be a string of 1 to ${rule.max} characters, not ${type}`);
    }
    if (name === "") throw new InvalidInput(path, `a ${what} must have 1 to ${rule.max} characters; it is empty`);
    if (name.length > rule.max) throw new LimitExceeded(path, `the length of a ${what}`, rule.max, name.length);
    if (!rule.pattern.test(name)) {
      throw new InvalidInput(path, `a ${what} ${rule.says}; it is ${JSON.stringify(name)}`);
    }
    return name;
  };
}
