// The place of a row in a list, as text: the cursor of the page that it ends.

import { InvalidInput } from "../../../kernel/error.js";
import type { ViewRequest } from "../../contract/view/views.js";

const PART = /^(-?\d{1,18}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The parts of a cursor: whole numbers and ids. */
export function placeOf(after: string, parts: number): readonly string[] {
  const found = after.split("/");
  if (found.length === parts && found.every((part) => PART.test(part))) return found;
  throw new InvalidInput("after", "must be the `next` of the page before");
}

/** SQL for the timestamptz of microseconds since 1970. */
export function microseconds(parameter: string): string {
  return `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;
}

export const VIEW_SAMPLES = (after: string): Readonly<Record<string, ViewRequest>> => ({
  "the first page": { env: "e", limit: 10 },
  "the next page": { env: "e", limit: 10, after },
});
