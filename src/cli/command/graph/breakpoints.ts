// `holdfast breakpoints`: sets where a live graph run pauses.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { CommandMisused } from "../../error.js";
import { findRun } from "../../find-run.js";

export const BREAKPOINT_OPTIONS = {
  before: { type: "string", value: "NODES", description: "pause before these nodes, separated by commas" },
  after: { type: "string", value: "NODES", description: "pause after these nodes, separated by commas" },
} as const satisfies Options;

const OPTIONS = {
  ...BREAKPOINT_OPTIONS,
  clear: { type: "boolean", description: "pause nowhere" },
} as const satisfies Options;

export const breakpoints = defineCommand({
  name: "breakpoints",
  takes: ["RUN"],
  summary: "set where a live graph run pauses",
  details: "They replace those it had. The run pauses there, and `holdfast resume` lets it continue.",
  options: OPTIONS,
  run: setBreakpoints,
});

async function setBreakpoints(call: Call<typeof OPTIONS>): Promise<Report> {
  const wanted = breakpointsOf(call.values);
  const isClear = call.values.clear === true;
  if ((wanted === null) !== isClear) throw new CommandMisused("breakpoints needs --before or --after, or --clear");
  const run = await findRun(call, call.arguments[0]!);
  const { before = [], after = [] } = wanted ?? {};
  await (await openGraphs(call)).breakRun(run.id, { before, after }, call.actor);
  const text = isClear ? `Run ${run.id} has no breakpoints from its next node on.\n` : `Run ${run.id} pauses there.\n`;
  return { text, json: { runId: run.id, before, after } };
}

/** Null: none were given. */
export function breakpointsOf({
  before,
  after,
}: Partial<Record<"before" | "after", string | undefined>>): { before: string[]; after: string[] } | null {
  if (before === undefined && after === undefined) return null;
  const list = (text = "") => text.split(",").filter((node) => node !== "");
  return { before: list(before), after: list(after) };
}
