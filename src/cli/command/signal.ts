// `holdfast signal`: sends a signal to a run.

import { RunEnded, RunUnknown } from "../../client/run-handle.js";
import { codecs } from "../../kernel/codec/codecs.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { findRun } from "../find-run.js";
import { parseJson } from "../options.js";
import { visible } from "../text/visible.js";

const OPTIONS = {
  id: { type: "string", value: "ID", description: "identifies the signal; sending it again does nothing" },
} as const satisfies Options;

export const signal = defineCommand({
  name: "signal",
  takes: ["RUN", "NAME", "[JSON]"],
  summary: "send a signal to a run, with or without a value",
  details: "The signal is stored if the run does not wait for it yet. A signal with the same --id is accepted once.",
  options: OPTIONS,
  run: sendSignal,
});

async function sendSignal(call: Call<typeof OPTIONS>): Promise<Report> {
  const [runText, name, json] = call.arguments;
  const value = json === undefined ? undefined : parseJson(json, "The value", `'"like this"', with both quotes`);
  const payload = codecs().encode(value, "JSON");
  const store = await call.store();
  const run = await findRun(call, runText!);
  const messageId = call.world.token();
  const key = `signal:${call.values.id ?? messageId}`;
  const message = { runId: run.id, key, messageId, kind: "signal", name: name!, payload, sender: call.actor } as const;
  const [answer] = await store.inbox.send([message]);
  const report = (outcome: string, text: string) => ({
    text: `${text}\n`,
    json: { outcome, runId: run.id, name, key },
  });
  switch (answer!.outcome) {
    case "accepted":
      return report("accepted", `Run ${run.id} has the signal ${visible(name!)}.`);
    case "already":
      return report("already", `Run ${run.id} already had a signal with this id; nothing was sent.`);
    case "ended":
      throw new RunEnded(run.id, answer!.state);
    case "unknown":
      throw new RunUnknown(run.id);
    case "refused":
      throw answer!.error;
  }
}
