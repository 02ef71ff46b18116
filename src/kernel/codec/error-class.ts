// The class of a stored error, readable without the application's codecs: its code, or its name.

import type { Payload } from "./payload.js";

/** Null: there is none, or it was written by a codec other than `json`. */
export function errorClass(payload: Payload | null): string | null {
  if (payload?.codec !== "json") return null;
  try {
    const { code, name } = (JSON.parse(payload.data) ?? {}) as { code?: unknown; name?: unknown };
    const found = code ?? name;
    return typeof found === "string" ? found : null;
  } catch {
    return null;
  }
}
