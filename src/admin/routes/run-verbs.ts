// Routes that change runs. Each is written to the audit in the transaction of its change.

import * as z from "zod";
import { env, id, json, name, note, outcome, route, time } from "../route.js";

const stopped = outcome.extend({
  /** No further step or task of the run begins. False: its holder did not answer in time. */
  acknowledged: z.boolean().optional(),
  /** No live node has the program: the run ends when one starts. */
  noCapableNode: z.boolean().optional(),
  /** The state of a run that had already ended. */
  state: z.string().optional(),
});

export const RUN_VERB_ROUTES = {
  "runs.start": route({
    method: "POST",
    path: "/runs",
    may: ["operate"],
    says: "Starts a run of a program.",
    input: z.strictObject({
      env,
      program: name,
      input: json.optional(),
      /** Instead: the input of this run, as it is stored. */
      inputOf: id.optional(),
      queue: name.optional(),
      version: name.optional(),
      stack: name.optional(),
      key: name.optional(),
      priority: z.number().int().optional(),
      delayMs: z.number().int().min(0).optional(),
      note,
    }),
    output: z.object({ id: z.string(), outcome: z.enum(["started", "existing"]) }),
  }),
  "runs.signal": route({
    method: "POST",
    path: "/runs/:id/signal",
    may: ["operate"],
    says: "Sends a signal to a run.",
    input: z.strictObject({ id, name, payload: json.optional(), signalId: name.optional(), note }),
    output: outcome,
  }),
  "runs.decide": route({
    method: "POST",
    path: "/runs/:id/decide",
    may: ["approve"],
    says: "Decides an approval. Only the first decision counts.",
    input: z.strictObject({
      id,
      approval: name,
      nth: z.string().max(300).default("1"),
      choice: name,
      /** Structured data with the choice: the answer to a question without choices. */
      data: json.optional(),
      note,
      /** The hash of the question as it was shown. */
      shown: z.string().max(200).optional(),
    }),
    output: outcome,
  }),
  "runs.cancel": route({
    method: "POST",
    path: "/runs/:id/cancel",
    may: ["operate"],
    says: "Ends a run and its tasks.",
    input: z.strictObject({ id, reason: z.string().max(500).optional(), note }),
    output: stopped,
  }),
  "runs.pause": route({
    method: "POST",
    path: "/runs/:id/pause",
    may: ["operate"],
    says: "Stops a run and its tasks until it is resumed.",
    input: z.strictObject({ id, note }),
    output: stopped,
  }),
  "runs.resume": route({
    method: "POST",
    path: "/runs/:id/resume",
    may: ["operate"],
    says: "Resumes a paused run.",
    input: z.strictObject({ id, note }),
    output: stopped,
  }),
  "runs.retry": route({
    method: "POST",
    path: "/runs/:id/retry",
    may: ["operate"],
    says: "Retries a failed, dead or quarantined run where it failed, or from the start.",
    input: z.strictObject({ id, from: z.enum(["last", "start"]).default("last"), note }),
    output: stopped.extend({ of: z.string().optional() }),
  }),
  "runs.fork": route({
    method: "POST",
    path: "/runs/:id/fork",
    may: ["operate"],
    says: "Starts a new run of a graph at a node that this run visited.",
    input: z.strictObject({ id, from: name, state: z.record(z.string(), json).optional(), note }),
    output: z.object({ id: z.string() }),
  }),
  "runs.rewind": route({
    method: "POST",
    path: "/runs/:id/rewind",
    may: ["operate"],
    says: "Resumes a failed graph run at a node that it visited.",
    input: z.strictObject({
      id,
      to: name,
      state: z.record(z.string(), json).optional(),
      why: z.string().min(1).max(500),
      note,
    }),
    output: outcome,
  }),
  "runs.diff": route({
    method: "GET",
    path: "/runs/:id/diff",
    may: ["read"],
    says: "Compares the paths of two graph runs.",
    input: z.strictObject({ id, with: id }),
    output: z.object({ diff: json, at: time }),
  }),
};
