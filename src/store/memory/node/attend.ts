// Wake-ups within this process: operations that make runs claimable notify the nodes that may execute them. A node is
// present until it leaves.

import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { World } from "../../../kernel/world.js";
import type { Attendance, Attendee } from "../../contract/node/attend.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export type NodeListeners = Set<Attendee>;

export function attend(listeners: NodeListeners, tables: Tables, attendee: Attendee): Attendance {
  const { incarnation } = attendee;
  const announce = () => {
    tables.presence.held.add(incarnation);
    const row = tables.nodes.get(incarnation);
    if (row) Object.assign(row, { attends: true, absentSinceUs: null });
  };
  listeners.add(attendee);
  announce();
  return {
    seen: true,
    again: async () => announce(),
    leave: async () => {
      listeners.delete(attendee);
      tables.presence.held.delete(incarnation);
    },
  };
}

export function hint(listeners: NodeListeners, tables: Tables, runs: readonly NewRun[]): void {
  if (listeners.size === 0) return;
  const known = runs.filter((run) => tables.runs.has(run?.id));
  tell(listeners, new Set(known.map(({ group }) => tables.groups.idOf(group))));
}

export function hintGroups(listeners: NodeListeners, tables: Tables, groups: readonly RunGroup[]): void {
  tell(listeners, new Set(groups.map((group) => tables.groups.idOf(group))));
}

/** Announces runs that are or will be claimable to the nodes listening for them, at the right time. */
export function wakeReady(listeners: NodeListeners, tables: Tables, world: World, runs: readonly RunRow[]): void {
  const nowUs = tables.nowUs();
  const groupsAt = new Map<number, Set<number>>();
  for (const { groupId, availableAtUs } of runs) {
    const inMs = Math.max(Math.ceil((availableAtUs - nowUs) / 1000), 0);
    groupsAt.set(inMs, (groupsAt.get(inMs) ?? new Set()).add(groupId));
  }
  for (const [inMs, groups] of groupsAt) {
    if (inMs === 0) tell(listeners, groups);
    else world.after(inMs, () => tell(listeners, groups));
  }
}

function tell(listeners: NodeListeners, groups: ReadonlySet<number>): void {
  if (groups.size > 0) for (const { onWake } of listeners) onWake([...groups]);
}

/** One listener is enough: it is the process that is notified. */
export function reportSkipped(listeners: NodeListeners, tables: Tables): void {
  const skipped = tables.skipped.splice(0);
  if (skipped.length > 0) [...listeners][0]?.onSkipped?.(skipped);
}

/** The runs were asked to stop: their holders read the inboxes. */
export function tellCalled(listeners: NodeListeners, runIds: readonly string[]): void {
  if (runIds.length > 0) for (const { onCalled } of listeners) onCalled?.(runIds);
}

/** There is work for housekeeping, on any node. */
export function sendNews(listeners: NodeListeners): void {
  for (const { onNews } of listeners) onNews?.();
}
