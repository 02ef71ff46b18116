// Checks a graph run by its journal alone (S13): each node of a frame begins where the last one led, no approval is
// passed without a decision, and the run's result is what its nodes recorded, each once and in order.

import { codecs } from "../../kernel/codec/codecs.js";
import type { History } from "./history.js";
import { decidedIn, type ModelEntry, type ModelRun } from "./model.js";

interface Recorded {
  readonly update?: { readonly log?: readonly string[] };
  readonly gather?: { readonly count?: number; readonly branches?: readonly string[] };
  readonly next?: string;
}

const { decode } = codecs();

export function checkGraph(history: History, run: ModelRun): void {
  const entries = run.journal.slice(run.baseSeq);
  const nodes = entries.filter(({ kind }) => kind === "node");
  const roots = nodes.filter(({ name }) => !name.includes("/"));
  let at = "plan:1";
  for (const entry of roots) {
    const here = `${entry.name}:${entry.key}`;
    history.expect(here === at, "S13", run, `${here} was left, the run was at ${at}`);
    at = recordOf(entry).next!;
  }
  for (const gate of roots.filter(({ name }) => name === "gate")) {
    const key = `wait:gate:${gate.key}`;
    const decision = entries.find((entry) => entry.kind === "take" && isKey(entry.key!, key, run.baseSeq));
    // It may have been decided before the run reached the approval.
    const isOpen = decision !== undefined && decision.seq < gate.seq;
    history.expect(isOpen, "S13", run, `gate:${gate.key} was passed without a decision`);
  }
  if (run.state !== "completed") return;
  history.expect(at === "end", "S13", run, `it is completed and at ${at}`);
  const { log } = decode(entries.at(-1)!.payload!) as { log: readonly string[] };
  const recorded = roots.flatMap((entry) => resultsOf(entries, entry));
  history.expect(
    log.join() === recorded.join(),
    "S13",
    run,
    `it answered ${log.join()}, recorded is ${recorded.join()}`,
  );
}

/** What a node added to the log: its own words, those of its items in their order, those of its branches in theirs. */
function resultsOf(entries: readonly ModelEntry[], entry: ModelEntry): readonly string[] {
  const { update, gather } = recordOf(entry);
  if (!gather) return update?.log ?? [];
  const { name, key } = entry;
  const find = (kind: string, path: string, visit: string) =>
    entries.find((one) => one.kind === kind && one.name === path && one.key === visit);
  if (gather.count !== undefined) {
    return Array.from({ length: gather.count }, (_, i) => {
      const item = find("item", name, `${key}.${i}`);
      return item ? (decode(item.payload!) as string) : "missing";
    });
  }
  return gather.branches!.flatMap((branch) => {
    const inner = find("node", `${name}/${branch}`, `${key}.1`);
    return inner ? resultsOf(entries, inner) : ["missing"];
  });
}

function recordOf({ payload }: ModelEntry): Recorded {
  return decode(payload!) as Recorded;
}

function isKey(key: string, wanted: string, baseSeq: number): boolean {
  return key.split("@")[0] === wanted && decidedIn(key) === baseSeq;
}
