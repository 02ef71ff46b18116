// `holdfast subscriptions`: which events start which programs.

import { formatDuration } from "../../kernel/duration.js";
import { isPerStack, type Subscription } from "../../store/contract/event/events.js";
import { type Call, defineCommand, type Report } from "../command.js";
import { WATCH_OPTION } from "../options.js";
import { listText } from "../text/table.js";
import { visible } from "../text/visible.js";

export const subscriptions = defineCommand({
  name: "subscriptions",
  takes: ["[EVENT]"],
  summary: "which events start which programs, as declared by the nodes",
  details:
    "WHERE: what the payload must contain; with several, one of them. DEBOUNCE: how long a subject must be quiet.\n" +
    "ONCE: how long a repeated event starts nothing. BREAKER: failures in a row after which events start nothing.",
  options: { watch: WATCH_OPTION },
  run: listSubscriptions,
});

async function listSubscriptions({ store, env, arguments: words, width, paint }: Call): Promise<Report> {
  const all = await (await store()).events.subscriptions(env);
  const found = all.filter(({ event }) => words[0] === undefined || event === words[0]);
  const json = { subscriptions: found };
  if (found.length === 0) {
    const what = words[0] === undefined ? `No subscriptions` : `No program is started by ${visible(words[0])}`;
    return {
      text: `${what} in env ${env}. A node declares the subscriptions of its programs: on: [on(event)].\n`,
      json,
    };
  }
  const records = found.map((one) => ({
    EVENT: visible(one.event),
    PROGRAM: one.version === null ? one.program : `${one.program}@${one.version}`,
    STACK: one.stack ?? "",
    WHERE: visible(one.where.map((filter) => JSON.stringify(filter)).join(" ")),
    DEBOUNCE: debounceText(one),
    ONCE: [onceText(one), ...(isPerStack(one) ? ["per stack"] : [])].filter((text) => text !== "").join(", "),
    BREAKER: one.breaker ? String(one.breaker.threshold) : "",
  }));
  return { text: listText(records, ["EVENT", "PROGRAM", "WHERE", "DEBOUNCE"], { width, paint }), json };
}

function debounceText({ debounceMs, subject }: Subscription): string {
  return debounceMs === null ? "" : `${formatDuration(debounceMs)} by ${visible((subject ?? []).join("."))}`;
}

/** A debounced trigger does not deduplicate. */
function onceText({ lifetime, debounceMs }: Subscription): string {
  if (debounceMs !== null) return "";
  if (typeof lifetime === "object") return formatDuration(lifetime.forMs);
  return lifetime === "live" ? "while live" : "until archived";
}
