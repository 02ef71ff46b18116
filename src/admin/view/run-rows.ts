// Runs as the API shows them: with the names of their holders and their last entries, in two more statements per page.

import type * as z from "zod";
import { lacksCapableNode } from "../../client/capable-node.js";
import { openWaits, WAIT_ENTRIES } from "../../client/open-waits.js";
import type { NodeRecord } from "../../store/contract/node/nodes.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";
import type { Outline, OutlineEntry } from "../../store/contract/view/views.js";
import type { outlineEntry, runRow } from "../routes/runs.js";
import { iso } from "./iso.js";

export type RunRowView = z.output<typeof runRow>;
export type EntryView = z.output<typeof outlineEntry>;

export async function runRows(store: Store, runs: readonly RunRecord[]): Promise<RunRowView[]> {
  if (runs.length === 0) return [];
  const asked = runs.map((run) => ({ runId: run.id, limit: entriesFor(run), last: true }));
  const [nodes, outlines] = await Promise.all([nodesFor(store, runs), store.views.outline(asked)]);
  return runs.map((run, i) => runView(run, nodes, outlines[i] ?? null));
}

/** Only for runs that a node holds, or that wait for one. */
export async function nodesFor(store: Store, runs: readonly RunRecord[]): Promise<readonly NodeRecord[]> {
  const envs = new Set(
    runs.filter(({ owner, state }) => owner !== null || state === "waiting").map(({ group }) => group.env),
  );
  return (await Promise.all([...envs].map((env) => store.nodes.list({ env })))).flat();
}

/** How many of its last entries show what a run does: that of a parked one only says that it is parked. */
export function entriesFor({ state, pending }: Pick<RunRecord, "state" | "pending">): number {
  return state === "parked" && pending === 0 ? WAIT_ENTRIES : 1;
}

/** `outline`: ends with the last entries of the run. */
export function runView(run: RunRecord, nodes: readonly NodeRecord[], outline: Outline | null): RunRowView {
  const entries = outline?.entries ?? [];
  const last = (run.state === "parked" ? openWaits(entries).at(-1) : undefined) ?? entries.at(-1) ?? null;
  const { group, availableAt, wakeAt, leaseUntil, createdAt, endedAt, archivedAt, misfit, ...rest } = run;
  return {
    ...rest,
    ...group,
    misfit: misfit && { builds: [...misfit.builds], wanted: misfit.wanted },
    ownerName: nodes.find(({ incarnation }) => incarnation === run.owner)?.name ?? null,
    noCapableNode: lacksCapableNode(run, nodes),
    availableAt: iso(availableAt),
    wakeAt: iso(wakeAt),
    leaseUntil: iso(leaseUntil),
    createdAt: iso(createdAt),
    endedAt: iso(endedAt),
    archivedAt: iso(archivedAt),
    key: outline?.key ?? null,
    last: last && entryView(last),
  };
}

export function entryView({ at, ...entry }: OutlineEntry): EntryView {
  return { ...entry, at: iso(at) };
}
