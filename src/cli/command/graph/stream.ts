// `holdfast stream`: prints what the nodes of a graph run write, until it ends.

import type { StreamEvent } from "../../../client/graph/stream-run.js";
import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { findRun } from "../../find-run.js";
import { visible } from "../../text/visible.js";

const OPTIONS = { tokens: { type: "boolean", description: "tokens only" } } as const satisfies Options;

export const stream = defineCommand({
  name: "stream",
  takes: ["RUN"],
  summary: "print the tokens and updates of a graph run until it ends",
  details: "Tokens are not kept for long: of a run that wrote them before, only the last ones are there.",
  options: OPTIONS,
  run: streamTo,
});

async function streamTo(call: Call<typeof OPTIONS>): Promise<Report> {
  const run = await findRun(call, call.arguments[0]!);
  const modes = call.values.tokens ? (["tokens"] as const) : (["tokens", "custom", "updates"] as const);
  const events: StreamEvent[] = [];
  let wrote = false;
  const isQuiet = call.values.json === true;
  for await (const event of (await openGraphs(call)).streamRun(run.id, { modes })) {
    if (isQuiet) events.push(event);
    else {
      call.terminal.write(textOf(event));
      wrote = true;
    }
  }
  return {
    text: wrote ? "\n" : "The run has ended; none of its tokens and updates is kept.\n",
    json: { runId: run.id, events },
  };
}

function textOf(event: StreamEvent): string {
  if (event.mode === "tokens") return visible(event.text);
  if (event.mode === "state") return "";
  const said = event.mode === "custom" ? event.value : event.update;
  return `\n[${visible(event.node)}:${event.visit}] ${visible(JSON.stringify(said))}\n`;
}
