// One text per distinct value, independent of key order; payload hashes are computed from it.

import { hash } from "node:crypto";
import { HIGHEST_LIMITS } from "./codec-limits.js";
import { prepareJson } from "./json-prepare.js";
import { TAG, type Tagged } from "./json-tag.js";

/**
 * Keys of objects and Maps and members of Sets are sorted; -0 and 0, a missing key and an undefined one, a Map and an
 * object stay distinct. Only the highest limits apply here: configured sizes are the codec's business.
 */
export function canonicalText(value: unknown, path = "value"): string {
  return writeSorted(prepareJson(value, HIGHEST_LIMITS, path));
}

/** SHA-256 of the canonical text, in hex. The same for a value before it is stored and after it is read. */
export function payloadHash(value: unknown, path = "value"): string {
  return hash("sha256", canonicalText(value, path), "hex");
}

function writeSorted(node: unknown): string {
  if (typeof node !== "object" || node === null) return JSON.stringify(node);
  if (Array.isArray(node)) return `[${node.map(writeSorted).join()}]`;
  return Object.hasOwn(node, TAG) ? writeTagged(node as Tagged) : writeProperties(node);
}

function writeTagged(node: Tagged): string {
  const kind = JSON.stringify(node.$hf);
  switch (node.$hf) {
    case "map":
    case "set":
      return `{"${TAG}":${kind},"v":[${(node.v as unknown[]).map(writeSorted).sort().join()}]}`;
    case "object":
    case "bare":
      return `{"${TAG}":${kind},"v":${writeProperties(node.v as object)}}`;
    default:
      return JSON.stringify(node);
  }
}

function writeProperties(object: object): string {
  const keys = Object.keys(object).sort();
  const values = object as Record<string, unknown>;
  return `{${keys.map((key) => `${JSON.stringify(key)}:${writeSorted(values[key])}`).join()}}`;
}
