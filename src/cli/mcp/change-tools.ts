// The tools that change something: decide, retry, cancel, pause, resume. The admin API writes an audit row for each.

import { DEAD_STATES } from "../../store/contract/view/dead-letters.js";
import { array, oneOf, strictObject, string, unknown } from "../library/mcp.js";
import { defineTool, note, run, runId, type ToolCall } from "./tool.js";

const from = oneOf(["last", "start"]).default("last").describe("last: recorded steps stay done; start: all again");

/** The id of the run and the note of the change. */
async function target(call: ToolCall, asked: { readonly run: string; readonly note?: string | undefined }) {
  const id = await runId(call, asked.run);
  const text = call.place.note(asked.note);
  return { id, ...(text !== undefined && { note: text }) };
}

const decide = defineTool({
  name: "decide_approval",
  says:
    "Decides what a run asks a person. Only the first decision counts. Give the hash of list_approvals: a question or plan that " +
    "has changed since is refused.",
  needs: ["approve"],
  changes: "ends",
  input: strictObject({
    run,
    approval: string().min(1).max(300),
    nth: string().max(300).default("1"),
    choice: string().min(1).max(300).describe("one of its choices, like approved or denied"),
    hash: string().min(1).max(200).describe("of the question as list_approvals showed it"),
    data: unknown().optional().describe("the answer to a question that asks for data"),
    note,
  }),
  call: async (call, { approval, nth, choice, hash, data, ...asked }) => {
    const decision = { approval, nth, choice, shown: hash, ...(data !== undefined && { data }) };
    return call.place.api.call("runs.decide", { ...(await target(call, asked)), ...decision });
  },
});

const retry = defineTool({
  name: "retry_run",
  says: "Retries a failed, dead or quarantined run.",
  needs: ["operate"],
  changes: "again",
  input: strictObject({ run, from, note }),
  call: async (call, { from, ...asked }) => call.place.api.call("runs.retry", { ...(await target(call, asked)), from }),
});

const retryGroup = defineTool({
  name: "retry_dead_letters",
  says:
    "Retries the dead letters of a group, in two calls. Without `digest` nothing is done: the answer has the count, examples and a " +
    "digest. With it, up to 100 runs are retried; while the answer has `next`, call again with it as `before`.",
  needs: ["operate"],
  changes: "again",
  input: strictObject({
    program: string().min(1).max(300),
    state: array(oneOf(DEAD_STATES)).max(DEAD_STATES.length).optional(),
    code: string().max(300).optional().describe("only with this error code; empty: those without one"),
    from,
    digest: string().max(200).optional().describe("of the preview"),
    before: string().max(100).optional(),
    note,
  }),
  call: async ({ place }, { program, state, code, from, digest, before, note }) => {
    const action = from === "start" ? ("retry from start" as const) : ("retry" as const);
    const filter = {
      program,
      ...(place.env !== undefined && { env: place.env }),
      state: state ?? [...DEAD_STATES],
      ...(code !== undefined && { code }),
    };
    if (digest === undefined) {
      const { count, examples, digest } = await place.api.call("bulk.preview", { action, filter });
      return { count, examples: examples.map(({ id }) => id), digest, done: "nothing; call again with the digest" };
    }
    const text = place.note(note);
    const step = { digest, ...(before !== undefined && { before }), ...(text !== undefined && { note: text }) };
    const { answers, next } = await place.api.call("bulk.step", { action, filter, ...step });
    const outcomes: Record<string, number> = {};
    for (const { outcome } of answers) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    return { outcomes, next };
  },
});

const cancel = defineTool({
  name: "cancel_run",
  says: "Ends a run and its tasks. A workflow cleans up first.",
  needs: ["operate"],
  changes: "ends",
  input: strictObject({ run, reason: string().max(500).optional(), note }),
  call: async (call, { reason, ...asked }) => {
    const given = await target(call, asked);
    return call.place.api.call("runs.cancel", { ...given, ...(reason !== undefined && { reason }) });
  },
});

const pause = defineTool({
  name: "pause_run",
  says: "Stops a run and its tasks until it is resumed.",
  needs: ["operate"],
  changes: "again",
  input: strictObject({ run, note }),
  call: async (call, asked) => call.place.api.call("runs.pause", await target(call, asked)),
});

const resume = defineTool({
  name: "resume_run",
  says: "Resumes a paused run.",
  needs: ["operate"],
  changes: "again",
  input: strictObject({ run, note }),
  call: async (call, asked) => call.place.api.call("runs.resume", await target(call, asked)),
});

export const CHANGE_TOOLS = [decide, retry, retryGroup, cancel, pause, resume];
