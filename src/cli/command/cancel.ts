// `holdfast cancel`: cancels a run, or asks its holder to.

import { askToCancel } from "../../client/ask-to-stop.js";
import { RunEnded, RunUnknown } from "../../client/run-handle.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { findRun } from "../find-run.js";

const OPTIONS = {
  reason: { type: "string", value: "TEXT", description: "recorded in the run's journal" },
} as const satisfies Options;

export const cancel = defineCommand({
  name: "cancel",
  takes: ["RUN"],
  summary: "cancel a run; one that has begun cleans up on its node first",
  options: OPTIONS,
  run: cancelRun,
});

async function cancelRun(call: Call<typeof OPTIONS>): Promise<Report> {
  const reason = call.values.reason;
  const store = await call.store();
  const run = await findRun(call, call.arguments[0]!);
  const answer = await askToCancel({ store, world: call.world, runId: run.id, by: call.actor }, reason);
  const report = (text: string) => ({ text: `${text}\n`, json: { ...answer, runId: run.id } });
  switch (answer.outcome) {
    case "cancelled":
      return report(`Run ${run.id} is cancelled.`);
    case "requested":
      if (answer.noCapableNode)
        return report(
          `Run ${run.id} was asked to end, but no live node has the program ${run.group.program}: it cleans up and ends when one starts.`,
        );
      return report(
        answer.acknowledged
          ? `The node of run ${run.id} has accepted the request: nothing more of it begins, except its clean-up.`
          : `Run ${run.id} was asked to end, but no node has answered yet.`,
      );
    case "ended":
      throw new RunEnded(run.id, answer.state);
    case "unknown":
      throw new RunUnknown(run.id);
  }
}
