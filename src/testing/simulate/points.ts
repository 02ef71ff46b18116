// The points of a history at which a process can be interrupted in the store: before and after each request that counts.

import type { Commit } from "../../store/contract/claim/commits.js";
import type { OperationName } from "../../store/operation.js";
import type { Passage } from "../node/life-store.js";

/** Requests that move a run or an instance. Heartbeats, renewals and looks come at any time and are not counted. */
const COUNTED: ReadonlySet<OperationName> = new Set<OperationName>([
  "runs.insert",
  "runs.claim",
  "runs.commit",
  "runs.transact",
  "runs.cancelTasks",
  "inbox.send",
  "events.start",
  "machines.create",
  "machines.append",
  "machines.tell",
  "machines.claimTimers",
  "machines.settleTimers",
]);
/** Those that mostly find nothing: a point only when they found something. */
const LOOKS: ReadonlySet<OperationName> = new Set<OperationName>(["runs.claim", "machines.claimTimers"]);

type Request = Parameters<Passage>[0];

export function isCounted({ name }: Request): boolean {
  return COUNTED.has(name);
}

export function isLook({ name }: Request): boolean {
  return LOOKS.has(name);
}

export function hasFound(answer: unknown): boolean {
  return Array.isArray(answer) ? answer.length > 0 : answer !== null && answer !== undefined;
}

export function labelOf({ name, args }: Request): string {
  if (name !== "runs.commit") return name;
  const commits = (args[0] ?? []) as readonly Commit[];
  const effects = commits.flatMap((commit) => commit.effects);
  const told = effects.map((effect) =>
    effect.kind === "append" ? `${effect.entry.kind} ${effect.entry.name}`.trim() : effect.kind,
  );
  return `commit ${told.join(", ")}`;
}
