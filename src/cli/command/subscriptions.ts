// `holdfast subscriptions`: which events start which programs.

import { formatDuration } from "../../kernel/duration.js";
import { isPerStack, type Subscription } from "../../store/contract/event/events.js";
import type { Call, Command, Report } from "../command.js";
import { tableLines } from "../text/table.js";
import { visible } from "../text/visible.js";

export const subscriptions: Command = {
  name: "subscriptions",
  takes: ["[EVENT]"],
  summary: "which events start which programs, as declared by the nodes",
  details:
    "WHERE: what the payload must contain; with several, one of them. DEBOUNCE: how long a subject must be quiet.\n" +
    "ONCE: how long a repeated event starts nothing. BREAKER: failures in a row after which events start nothing.",
  options: {},
  run: listSubscriptions,
};

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
  const columns = [
    { title: "EVENT", flexible: true },
    { title: "PROGRAM", flexible: true },
    { title: "STACK" },
    { title: "WHERE", flexible: true },
    { title: "DEBOUNCE", flexible: true },
    { title: "ONCE" },
    { title: "BREAKER" },
  ];
  const rows = found.map((one) => [
    visible(one.event),
    one.version === null ? one.program : `${one.program}@${one.version}`,
    one.stack ?? "",
    visible(one.where.map((filter) => JSON.stringify(filter)).join(" ")),
    debounceText(one),
    [onceText(one), ...(isPerStack(one) ? ["per stack"] : [])].filter((text) => text !== "").join(", "),
    one.breaker ? String(one.breaker.threshold) : "",
  ]);
  return { text: `${tableLines({ columns, rows }, width, paint).join("\n")}\n`, json };
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
