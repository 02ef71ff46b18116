// What is sent to an instance: an event with a type, and none of XState's own, which are its timers.

import { InvalidInput } from "../kernel/error.js";

const OWN = "xstate.";

/** Before anything else: one that is none must not trouble those that are sent together with it. */
export function checkEvent(event: unknown): void {
  const type = typeof event === "object" && event !== null ? (event as { readonly type?: unknown }).type : undefined;
  if (typeof type !== "string" || type === "" || type === "*") {
    throw new InvalidInput("event", 'must be an object with a type, as { type: "PAY" }');
  }
  if (type.startsWith(OWN)) {
    throw new InvalidInput("event.type", `begins with "${OWN}", which is for XState's own events; use another name`);
  }
}
