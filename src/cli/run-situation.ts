// Describes in a few words what a run is doing: its holder, what it waits for, when it continues.

import { lacksCapableNode, liveBuilds } from "../client/capable-node.js";
import { isEnded } from "../kernel/run/run-state.js";
import type { NodeRecord } from "../store/contract/node/nodes.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import { NO_REASONS, type RunReasons, waitOf, workOf } from "./run-reasons.js";
import { span, timeAgo } from "./text/time-ago.js";

/** The part of a run that its description is made from. */
export type Described = Pick<
  RunRecord,
  | "id"
  | "group"
  | "state"
  | "availableAt"
  | "wakeAt"
  | "epoch"
  | "owner"
  | "leaseUntil"
  | "failures"
  | "crashes"
  | "deferred"
  | "misfit"
  | "pending"
  | "endedAt"
>;

/** What is known about the nodes that could hold a run. */
export interface Surroundings {
  /** A node's name by its incarnation; the beginning of the incarnation if the node is not registered. */
  readonly holder: (incarnation: string) => string;
  readonly lacksNode: (run: Described) => boolean;
  /** Builds of the live nodes that claim from the run's group. */
  readonly builds: (run: Described) => readonly string[];
  readonly reasons: RunReasons;
}

export function surroundings(nodes: readonly NodeRecord[], reasons: RunReasons = NO_REASONS): Surroundings {
  const names = new Map(nodes.map(({ incarnation, name }) => [incarnation, name]));
  return {
    holder: (incarnation) => names.get(incarnation) ?? incarnation.slice(0, 8),
    lacksNode: (run) => lacksCapableNode(run, nodes),
    builds: (run) => liveBuilds(run, nodes),
    reasons,
  };
}

/** Whether describing this run needs the list of nodes. */
export function needsNodes({ owner, state, deferred, misfit }: RunRecord): boolean {
  return owner !== null || misfit !== null || state === "waiting" || (deferred?.takenBy ?? null) !== null;
}

export function situation(run: Described, around: Surroundings, now: number): string {
  return [doing(run, around, now), ...troubles(run)].filter((part) => part !== "").join(", ");
}

export function doing(run: Described, around: Surroundings, now: number): string {
  const { holder, lacksNode, reasons } = around;
  if (isExpired(run)) return `expired ${timeAgo(run.endedAt!, now)}: no node took it, asked for by ${run.deferred!.by}`;
  if (isEnded(run.state)) return run.endedAt === null ? "" : `ended ${timeAgo(run.endedAt, now)}`;
  switch (run.state) {
    case "running":
      // The step first: a narrow window cuts the end.
      return [
        workOf(reasons.last.get(run.id) ?? [], now),
        `claim ${run.epoch} by ${run.owner === null ? "no node" : holder(run.owner)}`,
        lease(run, now),
      ]
        .filter((part) => part !== null)
        .join(", ");
    case "held":
      return reasons.limits.has(run.id) ? `waits for limit ${reasons.limits.get(run.id)}` : "waits for a limit";
    case "blocked":
      return `waits for ${run.pending} ${run.pending === 1 ? "task" : "tasks"}`;
    case "parked":
      if (run.pending > 0) return `${run.pending} of its tasks ${run.pending === 1 ? "is" : "are"} open`;
      return (
        [waitOf(reasons.last.get(run.id) ?? []), run.wakeAt === null ? null : `wakes ${timeAgo(run.wakeAt, now)}`]
          .filter((part) => part !== null)
          .join(", ") || "waits for a message"
      );
    case "waiting":
      return [
        run.availableAt > now ? `due ${timeAgo(run.availableAt, now)}` : ready(run, reasons),
        ...(run.deferred && run.deferred.takenBy === null ? [`asked for by ${run.deferred.by}`] : []),
        ...(run.misfit !== null ? [fitting(run, around)] : lacksNode(run) ? ["no capable node"] : []),
      ].join(", ");
    case "quarantined":
      if (run.misfit !== null) return fitting(run, around);
      return run.endedAt === null ? "" : `since ${timeAgo(run.endedAt, now)}`;
    default:
      return "";
  }
}

/** Deferred, and cancelled because no node took it in time. */
function isExpired({ state, deferred, endedAt }: Described): boolean {
  if (state !== "cancelled" || endedAt === null || (deferred?.expiresAt ?? null) === null) return false;
  return deferred!.takenBy === null && endedAt >= deferred!.expiresAt!;
}

function ready({ group }: Described, { pausedQueues }: RunReasons): string {
  const by = pausedQueues.get(group.queue);
  return by === undefined ? "ready to be claimed" : `its queue ${group.queue} is paused by ${by}`;
}

/** Why no live node claims it. */
function fitting(run: Described, { builds }: Surroundings): string {
  const { builds: tried, wanted } = run.misfit!;
  const live = builds(run);
  const node = wanted === null || tried.includes(wanted) ? "a node whose code fits" : `a node of build ${wanted}`;
  return `waits for ${node}; does not fit: ${tried.join(", ")}; live builds: ${live.join(", ") || "none"}`;
}

function lease({ leaseUntil }: Described, now: number): string {
  if (leaseUntil === null) return "no lease";
  return leaseUntil > now ? `${span(leaseUntil - now)} of lease left` : `lease expired ${timeAgo(leaseUntil, now)}`;
}

/** A running claim counts as a crash until it has made progress. */
export function troubles({ failures, crashes, state }: Described): string[] {
  const earlier = state === "running" ? crashes - 1 : crashes;
  return [
    ...(failures > 0 ? [`${failures} failed ${failures === 1 ? "attempt" : "attempts"}`] : []),
    ...(earlier > 0 ? [`${earlier} ${earlier === 1 ? "crash" : "crashes"} in a row`] : []),
  ];
}
