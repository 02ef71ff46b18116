// The reviews of runs that some code does not fit.

import { randomUUID } from "node:crypto";
import type { Store } from "../../../src/store/contract/store.js";
import { commitOf, json, newRun } from "../scene.js";
import { ids, type Operation, ownGroup } from "./unanswered-operation.js";

const node = { identity: "i", name: "n", env: "test", stack: null, heartbeatMs: 600_000 };

/** A run that was quarantined, and then a node of another build. */
async function quarantined(
  store: Store,
  run: ReturnType<typeof newRun>,
  drawn: ReturnType<typeof ids>,
  newcomer: string,
) {
  await store.runs.insert([run]);
  const serves = await store.runs.groupIds([run.group]);
  const [claim] = await store.runs.claim({ ...drawn, groupIds: serves, limit: 1, leaseMs: 60_000 });
  await store.runs.commit([commitOf(claim!, { kind: "misfit", build: "v1", reason: json("unfit") })]);
  await store.nodes.register({ ...node, incarnation: newcomer, build: "v2", serves });
}

export function misfitOperations(): readonly Operation[] {
  return ["review_misfits", "review_misfits_for"].map((statement) => {
    const [run, drawn, incarnation] = [newRun({ group: ownGroup() }), ids(), randomUUID()];
    const newcomer = statement === "review_misfits" ? {} : { newcomer: incarnation };
    return {
      name: `reviewMisfits, at ${statement}`,
      statement,
      answersWhatItDid: true,
      prepare: async (store) => {
        await quarantined(store, run, drawn, incarnation);
        return () => store.runs.reviewMisfits({ env: "test", limit: 100, ...newcomer });
      },
    };
  });
}
