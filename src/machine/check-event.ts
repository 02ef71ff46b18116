// Checks an event sent to an instance: it has a type, and is not one of XState's own, which are its timers.

import { InvalidInput } from "../kernel/error.js";

const OWN = "xstate.";

/** Checked first: an invalid event must not affect the events sent with it. */
export function checkEvent(event: unknown): void {
  const type = typeof event === "object" && event !== null ? (event as { readonly type?: unknown }).type : undefined;
  if (typeof type !== "string" || type === "" || type === "*") {
    throw new InvalidInput("event", 'must be an object with a type, as { type: "PAY" }');
  }
  if (type.startsWith(OWN)) {
    throw new InvalidInput("event.type", `begins with "${OWN}", which is for XState's own events; use another name`);
  }
}
