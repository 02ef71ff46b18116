// Routes of queues, limits and breakers, and how many slots waiting work would fill.

import * as z from "zod";
import { RUN_STATES } from "../../kernel/run/run-state.js";
import { env, limit, name, note, outcome, pageOf, route, time } from "../route.js";

export const queueRow = z.object({
  queue: z.string(),
  counts: z.partialRecord(z.enum(RUN_STATES), z.number()),
  oldestWaitingMs: z.number().nullable(),
  paused: z.object({ at: time, by: z.string() }).nullable(),
  /** Names of the live nodes that claim from it. */
  servedBy: z.array(z.string()),
  slots: z.number(),
});

export const QUEUE_ROUTES = {
  "queues.list": route({
    method: "GET",
    path: "/queues",
    may: ["see"],
    says: "Lists queues with live runs, and paused queues.",
    input: z.strictObject({ env }),
    output: z.object({ rows: z.array(queueRow) }),
  }),
  "queues.pause": route({
    method: "POST",
    path: "/queues/:queue/pause",
    may: ["operate"],
    says: "Stops claims from a queue; running work continues.",
    input: z.strictObject({ env, queue: name, note }),
    output: outcome,
  }),
  "queues.resume": route({
    method: "POST",
    path: "/queues/:queue/resume",
    may: ["operate"],
    says: "Lets nodes claim from a queue again.",
    input: z.strictObject({ env, queue: name, note }),
    output: outcome,
  }),
  "limits.list": route({
    method: "GET",
    path: "/limits",
    may: ["see"],
    says: "Lists limits by key with the number of runs that hold and wait for each.",
    input: z.strictObject({ env, before: z.string().max(1000).optional(), limit }),
    output: pageOf(
      z.object({
        key: z.string(),
        /** Admitted runs that count now, and runs that are held by it; counted up to 1,000. */
        granted: z.number(),
        waiting: z.number(),
      }),
    ),
  }),
  "scale.get": route({
    method: "GET",
    path: "/scale",
    may: ["see"],
    says: "Returns how many slots and nodes the waiting work would fill, for autoscalers.",
    input: z.strictObject({ env, queue: name.optional() }),
    output: z.object({
      waiting: z.number(),
      running: z.number(),
      slots: z.number(),
      nodes: z.number(),
      /** Nodes that the waiting and running work would fill. */
      wantedNodes: z.number(),
    }),
  }),
};
