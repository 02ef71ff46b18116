// What a run is up to, in a few words, from its row alone.

import type { RunRow } from "../live/model.js";
import { duration, plural } from "./words.js";

type Known = Pick<
  RunRow,
  | "state"
  | "last"
  | "wakeAt"
  | "availableAt"
  | "leaseUntil"
  | "noCapableNode"
  | "pending"
  | "misfit"
  | "createdAt"
  | "endedAt"
  | "failures"
  | "crashes"
  | "recoveries"
>;

export function doing(run: Known, now: number): string {
  const again = run.recoveries > 0 ? ` · reclaimed ${run.recoveries === 1 ? "once" : `${run.recoveries} times`}` : "";
  return sentence(run, now) + (run.state === "running" || run.endedAt !== null ? again : "");
}

function sentence(run: Known, now: number): string {
  switch (run.state) {
    case "waiting":
      return waiting(run, now);
    case "running":
      return `${after(run)}${leaseLeft(run.leaseUntil, now)}`;
    case "parked":
      return parked(run, now);
    case "blocked":
      return `waits for ${plural(run.pending, "task")}`;
    case "held":
      return "held by a limit";
    case "paused":
      return "stopped by a person";
    case "quarantined":
      return run.misfit === null
        ? "a person has to decide"
        : `journal does not fit build ${run.misfit.builds.join(", ")}`;
    default:
      return ended(run);
  }
}

function waiting({ noCapableNode, availableAt, failures }: Known, now: number): string {
  if (noCapableNode) return "no capable node";
  const ms = Date.parse(availableAt) - now;
  if (ms > 0) return failures > 0 ? `attempt ${failures + 1} in ${duration(ms)}` : `due in ${duration(ms)}`;
  return "waits for a slot";
}

function after({ last }: Known): string {
  if (last === null || last.kind === "start") return "at work";
  const [kind, outcome] = last.kind.split(".") as [string, string?];
  if (outcome === "begun") return `${kind} ${last.name}`;
  if (outcome === "tried") return `${kind} ${last.name}, tried`;
  return last.name === "" ? `after ${kind}` : `after ${kind} ${last.name}`;
}

function leaseLeft(until: string | null, now: number): string {
  if (until === null) return "";
  const ms = Date.parse(until) - now;
  return ms > 0 ? ` · ${duration(ms)} of lease` : " · lease expired";
}

const WAITS: Readonly<Record<string, string>> = {
  "approval.begun": "approval",
  "sleep.begun": "sleep",
  "wait.begun": "signal",
  enqueue: "child",
};

function parked({ last, wakeAt, pending }: Known, now: number): string {
  if (pending > 0) return `waits for ${plural(pending, "task")}`;
  const kind = last === null ? undefined : WAITS[last.kind];
  const what = kind === undefined ? "waits for a message" : `${kind} ${last?.name ?? ""}`.trim();
  if (wakeAt === null) return what;
  const ms = Date.parse(wakeAt) - now;
  return `${what} · ${ms > 0 ? `${duration(ms)} left` : "due"}`;
}

function ended({ state, createdAt, endedAt, failures, crashes }: Known): string {
  const took = endedAt === null ? "" : ` after ${duration(Date.parse(endedAt) - Date.parse(createdAt))}`;
  const tries = failures + crashes > 0 ? `, ${plural(failures + crashes, "failed attempt")}` : "";
  return `${state}${took}${state === "completed" ? "" : tries}`;
}
