// Row ids derived from names, so that a row is found without a lookup.

import { createHash } from "node:crypto";

/** The key of an instance. The same id in two machines is two instances. */
export function instanceKey(env: string, machine: string, id: string): string {
  return uuidOf(["instance", env, machine, id]);
}

/** The id of a timer: set again by the same instance under the same name, it is the same timer. */
export function timerId(key: string, name: string): string {
  return uuidOf(["timer", key, name]);
}

/** 122 bits of SHA-256 as a UUID of version 8, the version for custom ids. */
function uuidOf(parts: readonly string[]): string {
  const hex = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
