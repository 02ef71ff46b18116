// Checks overflow: only a run that never began is skipped, only under a policy that says so, and its journal has the
// reason.

import type { EndedState } from "../../kernel/run/run-state.js";
import type { Tables } from "../../store/memory/table/tables.js";
import type { ModelEntry, ModelRun } from "./model.js";

/** What it looks at: the history. */
interface Watched {
  readonly tables: Tables;
  expect(holds: boolean, invariant: string, run: ModelRun, detail: string): void;
  append(run: ModelRun, token: string | null, entry: Pick<ModelEntry, "kind" | "name" | "key" | "payload">): void;
  end(run: ModelRun, state: EndedState): void;
}

/** Whatever operation admits may skip: called after each for runs that were held, and for new ones. True: it was skipped. */
export function foundSkipped(history: Watched, run: ModelRun): boolean {
  const row = history.tables.runs.get(run.id);
  if (row?.state !== "skipped" || row.epoch !== run.epoch) return false;
  const reason = history.tables.journal.get(run.id)?.get(row.seq)?.payload ?? null;
  history.expect(run.epoch === 0, "S15", run, "was begun, and skipped for want of a place");
  const mayBe = run.limits.some(({ overflow }) => overflow !== undefined);
  history.expect(mayBe, "S15", run, "was skipped, and none of its limits says so");
  history.append(run, null, { kind: "skipped", name: "", key: null, payload: reason });
  history.end(run, "skipped");
  return true;
}
