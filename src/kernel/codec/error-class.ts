// The class of a stored error, for those who have no codecs: its code, or its name.

import type { Payload } from "./payload.js";

/** Null: it has none, or it stands there in a codec that only its owner can read. */
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
