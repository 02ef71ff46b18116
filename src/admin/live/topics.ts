// The topics of live streams, parsed: which runs, rows and lists a stream follows.

import { isUuid } from "../../kernel/id.js";

export type Topic =
  /** `after`: the last entry that the page has. */
  | { readonly kind: "run"; readonly id: string; readonly after: number | null }
  | { readonly kind: "rows"; readonly ids: readonly string[] }
  | { readonly kind: "newest" | "nodes" | "inbox" };

const MOST_ROWS = 200;

/** `run:<id>`, `run:<id>@41`, `rows:<id>+<id>`, `newest`, `nodes`, `inbox`. Null: not a topic. */
export function parseTopic(text: string): Topic | null {
  if (text === "newest" || text === "nodes" || text === "inbox") return { kind: text };
  const [kind, rest = ""] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (kind === "rows") {
    const ids = rest.split("+");
    return ids.length <= MOST_ROWS && ids.every(isUuid) ? { kind, ids } : null;
  }
  const [id, after] = rest.split("@") as [string, string | undefined];
  if (kind !== "run" || !isUuid(id)) return null;
  if (after === undefined) return { kind, id, after: null };
  return /^\d{1,15}$/.test(after) ? { kind, id, after: Number(after) } : null;
}
