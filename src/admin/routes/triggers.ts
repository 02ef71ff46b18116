// Routes of schedules, subscriptions and events: what starts runs without a call.

import * as z from "zod";
import { env, json, name, note, outcome, route, time } from "../route.js";

const scheduleRow = z.object({
  id: z.string(),
  program: z.string(),
  stack: z.string().nullable(),
  schedule: z.string(),
  catchUp: json,
  nextFires: z.array(time),
  last: time,
  paused: z.object({ at: time, by: z.string() }).nullable(),
  declared: z.boolean(),
});

const triggerRow = z.object({
  id: z.string(),
  event: z.string(),
  program: z.string(),
  queue: z.string(),
  stack: z.string().nullable(),
  version: z.string().nullable(),
  where: json,
  subject: z.array(z.string()).nullable(),
  debounceMs: z.number().nullable(),
  breaker: z
    .object({ state: z.enum(["closed", "open", "half-open"]), failures: z.number(), threshold: z.number() })
    .nullable(),
});

export const TRIGGER_ROUTES = {
  "schedules.list": route({
    method: "GET",
    path: "/schedules",
    may: ["see"],
    says: "Lists schedules with their next fires.",
    input: z.strictObject({ env, next: z.coerce.number().int().min(0).max(100).default(5) }),
    output: z.object({ rows: z.array(scheduleRow) }),
  }),
  "schedules.pause": route({
    method: "POST",
    path: "/schedules/:schedule/pause",
    may: ["operate"],
    says: "Pauses a schedule by id, or all schedules of a program by name.",
    input: z.strictObject({ env, schedule: name, note }),
    output: outcome,
  }),
  "schedules.resume": route({
    method: "POST",
    path: "/schedules/:schedule/resume",
    may: ["operate"],
    says: "Resumes a schedule.",
    input: z.strictObject({ env, schedule: name, note }),
    output: outcome,
  }),
  "schedules.fire": route({
    method: "POST",
    path: "/schedules/:schedule/fire",
    may: ["operate"],
    says: "Starts a run of a schedule now.",
    input: z.strictObject({ env, schedule: name, note }),
    output: z.object({ id: z.string() }),
  }),
  "triggers.list": route({
    method: "GET",
    path: "/triggers",
    may: ["see"],
    says: "Lists subscriptions with their filters and breakers.",
    input: z.strictObject({ env }),
    output: z.object({ rows: z.array(triggerRow) }),
  }),
  "events.emit": route({
    method: "POST",
    path: "/events",
    may: ["operate"],
    says: "Emits an event and returns the runs it started.",
    input: z.strictObject({
      env,
      event: name,
      payload: z.record(z.string(), json).default({}),
      id: name.optional(),
      stack: name.optional(),
      note,
    }),
    output: z.object({
      runs: z.array(z.object({ program: z.string(), outcome: z.string(), runId: z.string().nullable() })),
    }),
  }),
};
