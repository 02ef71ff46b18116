// Reads the path of a graph run from the store, and that of the runs it was forked from before it.

import { type Position, placeOf, positionsIn } from "../../graph/position.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import type { Store } from "../../store/contract/store.js";
import { RunUnknown } from "../run-handle.js";
import { type GraphHistory, historyOf } from "./graph-history.js";

interface Place {
  readonly store: Store;
  readonly codecs: Codecs;
}

/** Of the run alone. */
export async function readHistory({ store, codecs }: Place, runId: string): Promise<GraphHistory> {
  const page = await store.journal.read(runId);
  if (!page) throw new RunUnknown(runId);
  return historyOf(page.entries, codecs);
}

/** Starting with what it inherited. */
export async function wholeHistory(place: Place, runId: string): Promise<Pick<GraphHistory, "visits" | "steps">> {
  const { visits, steps, forkedFrom } = await readHistory(place, runId);
  if (!forkedFrom) return { visits, steps };
  if (!(await place.store.runs.get(forkedFrom.run))) return { visits, steps }; // The run it was forked from was pruned.
  const inherited = await wholeHistory(place, forkedFrom.run);
  const from = outermostOf(forkedFrom.from);
  // It began at the whole step: nodes that were side by side with that one begin again, too.
  const step = inherited.steps.findIndex((one) => positionsIn(one).includes(from));
  const together = positionsIn(inherited.steps[step] ?? from);
  const upTo = inherited.visits.findIndex(({ position }) => together.includes(position as Position));
  if (upTo === -1) return { visits, steps }; // That run was retried from its start.
  return {
    visits: [...inherited.visits.slice(0, upTo), ...visits],
    steps: [...inherited.steps.slice(0, step), ...steps],
  };
}

/** The visit of the graph's own node that a position lies in. */
function outermostOf(position: string): Position {
  const { path, visit } = placeOf(position);
  return `${path.split("/")[0]!}:${Number(visit.split(".")[0])}`;
}
