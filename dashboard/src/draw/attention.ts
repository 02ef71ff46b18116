// Where a line of "Needs attention" leads.

import type { Attention } from "../live/model.js";

const q = encodeURIComponent;

export function attentionLink({ kind, object }: Attention): { readonly to: string; readonly label: string } {
  switch (kind) {
    case "no capable node":
      return { to: `/runs?state=waiting&program=${q(object)}`, label: "waiting runs" };
    case "dead letters":
      return { to: `/dead?program=${q(object)}`, label: "dead letters" };
    case "silent node":
      return { to: `/nodes/${q(object)}`, label: "node" };
    case "approval":
      return { to: "/approvals", label: "inbox" };
    case "breaker":
      return { to: "/triggers", label: "triggers" };
    case "paused queue":
      return { to: `/queues/${q(object)}`, label: "queue" };
    default:
      return { to: "/timers", label: "timers" };
  }
}

export function severityOf({ kind }: Pick<Attention, "kind">): "bad" | "warn" | "note" {
  if (kind === "no capable node" || kind === "dead letters") return "bad";
  return kind === "approval" ? "note" : "warn";
}
