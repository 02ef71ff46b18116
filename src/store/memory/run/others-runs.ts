// The operations on runs left by others: orphaned and deferred runs.

import type { Admission, RunStore } from "../../contract/run/runs.js";
import { findOrphans, recoverRuns } from "../claim/recover-runs.js";
import { compareText } from "../table/compare-text.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";
import { expireDeferred, keyOf, unservedGroups } from "./deferred-runs.js";
import { reviewMisfits } from "./misfits.js";

interface After {
  /** Admits the runs woken by the operation. */
  readonly withWakes: <T>(answer: T) => T;
  readonly announceReady: (runs: readonly RunRow[]) => void;
  readonly admit: (whom: Admission) => number;
}

type Operations = Pick<
  RunStore,
  "orphans" | "recover" | "expireDeferred" | "unservedGroups" | "keyOf" | "reviewMisfits"
>;

export function othersRuns(tables: Tables, { withWakes, announceReady, admit }: After): Operations {
  return {
    orphans: async (filter) => findOrphans(tables, filter),
    recover: async (decisions, options) => {
      const reclaimed = withWakes(recoverRuns(tables, decisions, options));
      const rows = reclaimed.flatMap(({ runId }) => tables.runs.get(runId) ?? []);
      announceReady(rows.filter(({ state }) => state === "waiting"));
      return reclaimed;
    },
    expireDeferred: async (options) => {
      const ended = withWakes(expireDeferred(tables, options)).sort((a, b) => compareText(a.id, b.id));
      admit({ runIds: ended.map(({ id }) => id) });
      return ended.map(({ id: runId, group: { program, stack } }) => {
        return { runId, program, stack, by: tables.deferred.get(runId)!.by };
      });
    },
    reviewMisfits: async (review) => withWakes(reviewMisfits(tables, review)),
    unservedGroups: async (query) => unservedGroups(tables, query),
    keyOf: async (runId) => keyOf(tables, runId),
  };
}
