// `holdfast diff`: compares the paths of two graph runs.

import type { StepDiff } from "../../../client/graph/diff-histories.js";
import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Report } from "../../command.js";
import { findRun } from "../../find-run.js";
import { tableLines } from "../../text/table.js";

export const diff = defineCommand({
  name: "diff",
  takes: ["RUN", "RUN"],
  summary: "compare the paths of two graph runs and what their nodes changed",
  options: {},
  run: diffRuns,
});

const COLUMNS = [
  { title: "" },
  { title: "LEFT" },
  { title: "RIGHT" },
  { title: "FIELD" },
  { title: "LEFT VALUE", flexible: true },
  { title: "RIGHT VALUE", flexible: true },
];

async function diffRuns(call: Call): Promise<Report> {
  const [left, right] = await Promise.all(call.arguments.map((text) => findRun(call, text)));
  const compared = await (await openGraphs(call)).diff(left!.id, right!.id);
  const json = { left: left!.id, right: right!.id, ...compared };
  if (compared.steps.length === 0) return { text: "Neither run has visited a node of a graph.\n", json };
  const lines = tableLines({ columns: COLUMNS, rows: compared.steps.flatMap(rowsOf) }, call.width, call.paint);
  const summary = `The first ${compared.common} of ${compared.steps.length} nodes are the same.`;
  return { text: [...lines, "", summary, ""].join("\n"), json };
}

/** One line per differing field; one line for a node that is the same. */
function rowsOf({ same, left, right, fields }: StepDiff): string[][] {
  const [a, b] = [left?.position ?? "", right?.position ?? ""];
  if (same || fields.length === 0) return [[same ? "=" : "≠", a, b, "", "", ""]];
  return fields.map(({ field, left: one, right: other }, i) => {
    const nodes = i === 0 ? ["≠", a, b] : ["", "", ""];
    return [...nodes, field, short(one), short(other)];
  });
}

function short(value: unknown): string {
  return value === undefined ? "" : (JSON.stringify(value) ?? String(value));
}
