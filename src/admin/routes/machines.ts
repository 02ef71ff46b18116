// Routes of state machines: instances, their events and timers.

import * as z from "zod";
import { INSTANCE_STATUSES } from "../../store/contract/machine/machines.js";
import { env, json, limit, many, name, note, outcome, pageOf, route, time } from "../route.js";

const instanceRow = z.object({
  id: z.string(),
  machine: z.string(),
  stack: z.string().nullable(),
  version: z.string().nullable(),
  status: z.enum(INSTANCE_STATUSES),
  seq: z.number(),
  /** The active states. */
  value: json,
  problem: z.string().nullable(),
  createdAt: time,
  updatedAt: time,
  endedAt: time.nullable(),
});

export const timerRow = z.object({
  id: z.string(),
  machine: z.string(),
  instance: z.string(),
  kind: z.string(),
  name: z.string(),
  dueAt: time,
  tryAt: time,
  attempts: z.number(),
  state: z.enum(["pending", "dead"]),
  problem: z.string().nullable(),
});

const instance = { env, machine: name, instance: name, stack: name.optional() };

export const MACHINE_ROUTES = {
  "machines.list": route({
    method: "GET",
    path: "/machines",
    may: ["see"],
    says: "Lists instances, newest first.",
    input: z.strictObject({
      env,
      machine: name.optional(),
      status: many(z.enum(INSTANCE_STATUSES)).optional(),
      before: z.string().max(200).optional(),
      limit,
    }),
    output: pageOf(instanceRow),
  }),
  "machines.get": route({
    method: "GET",
    path: "/machines/:machine/:instance",
    may: ["see"],
    says: "Returns an instance with its events (without payloads) and timers.",
    input: z.strictObject({ ...instance, after: z.coerce.number().int().min(0).default(0) }),
    output: instanceRow.extend({
      events: z.array(
        z.object({ seq: z.number(), type: z.string(), by: z.string().nullable(), at: time, bytes: z.number() }),
      ),
      timers: z.array(timerRow),
    }),
  }),
  "machines.send": route({
    method: "POST",
    path: "/machines/:machine/:instance/send",
    may: ["operate"],
    says: "Stores an event for an instance; a node applies it.",
    input: z.strictObject({
      ...instance,
      type: name,
      fields: z.record(z.string(), json).default({}),
      key: name.optional(),
      note,
    }),
    output: outcome,
  }),
  "machines.retryTimers": route({
    method: "POST",
    path: "/machines/:machine/:instance/retry-timers",
    may: ["operate"],
    says: "Makes dead timers of an instance pending again.",
    input: z.strictObject({ ...instance, note }),
    output: z.object({ retried: z.number() }),
  }),
  "timers.list": route({
    method: "GET",
    path: "/timers",
    may: ["see"],
    says: "Lists timers by deadline, or the dead ones.",
    input: z.strictObject({
      env,
      state: z.enum(["pending", "dead"]).default("pending"),
      after: z.string().max(100).optional(),
      limit,
    }),
    output: pageOf(timerRow),
  }),
};
