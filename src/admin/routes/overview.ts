// Routes of the first page and of the doctor: figures, what needs attention, findings.

import * as z from "zod";
import { counted, env, route, time } from "../route.js";
import { queueRow } from "./queues.js";

const attention = z.object({
  kind: z.enum(["no capable node", "dead letters", "silent node", "approval", "breaker", "paused queue", "late timer"]),
  /** One sentence, without payloads. */
  text: z.string(),
  /** The program, node, queue or run that it is about. */
  object: z.string(),
  since: time.nullable(),
  n: z.number().nullable(),
});

/** Figures of the statistics keeper for one step of time. */
const figure = z.object({
  at: time,
  started: z.number(),
  completed: z.number(),
  failed: z.number(),
  p95Ms: z.number().nullable(),
  waiting: z.number().nullable(),
  running: z.number().nullable(),
  oldestMs: z.number().nullable(),
});

/** Sums over the range. */
const programFigures = z.object({
  program: z.string(),
  started: z.number(),
  completed: z.number(),
  failed: z.number(),
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
});

export const OVERVIEW_ROUTES = {
  "overview.get": route({
    method: "GET",
    path: "/overview",
    may: ["see"],
    says: "Returns nodes, queues and open questions in numbers, and what needs attention.",
    input: z.strictObject({ env }),
    output: z.object({
      nodes: z.object({ alive: z.number(), silent: z.number() }),
      slots: z.number(),
      held: z.number(),
      queues: z.array(queueRow),
      dead: counted,
      approvals: counted,
      attention: z.array(attention),
    }),
  }),
  "figures.list": route({
    method: "GET",
    path: "/figures",
    may: ["see"],
    says: "Returns starts, ends, durations and depths over time, and their sums by program, as a node counted them.",
    input: z.strictObject({
      env,
      range: z.enum(["1h", "24h", "7d"]).default("1h"),
      program: z.string().optional(),
      queue: z.string().optional(),
    }),
    output: z.object({
      stepSeconds: z.number(),
      figures: z.array(figure),
      programs: z.array(programFigures),
      /** When figures were last counted; null: never. */
      at: time.nullable(),
    }),
  }),
  "doctor.get": route({
    method: "GET",
    path: "/doctor",
    may: ["see"],
    says: "Returns findings about the store and the nodes, with what to do.",
    input: z.strictObject({ env }),
    output: z.object({
      findings: z.array(
        z.object({
          check: z.string(),
          level: z.enum(["ok", "warning", "problem"]),
          text: z.string(),
          remedy: z.string().nullable(),
        }),
      ),
    }),
  }),
};
