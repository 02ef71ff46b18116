// Routes of approvals and dead letters: what people have to look at.

import * as z from "zod";
import { counted, env, id, json, limit, many, name, note, outcome, pageOf, route, time } from "../route.js";

const approvalRow = z.object({
  runId: z.string(),
  program: z.string(),
  approval: z.string(),
  nth: z.string(),
  askedAt: time,
  deadline: time.nullable(),
  to: z.string().nullable(),
  choices: z.array(z.string()),
  /** Null under a codec that this server does not know, and without the permission `read` or `approve`. */
  ask: z.string().nullable(),
  plan: json.optional(),
  /** The decision carries it: it is bound to what was shown. */
  hash: z.string().nullable(),
});

export const deadStates = z.enum(["failed", "dead", "quarantined"]);

const deadLetter = z.object({
  runId: z.string(),
  program: z.string(),
  queue: z.string(),
  state: deadStates,
  endedAt: time.nullable(),
  code: z.string().nullable(),
  /** Only with the permission `read`. */
  message: z.string().nullable(),
});

const deadFilter = { env, program: name.optional(), queue: name.optional(), state: many(deadStates).optional() };

export const APPROVAL_ROUTES = {
  "approvals.list": route({
    method: "GET",
    path: "/approvals",
    may: ["see", "approve"],
    says: "Lists open approvals, newest run first.",
    input: z.strictObject({ env, to: name.optional(), before: z.string().max(100).optional(), limit }),
    output: pageOf(approvalRow),
  }),
  "dead.list": route({
    method: "GET",
    path: "/dead",
    may: ["see"],
    says: "Lists dead letters, the last to end first.",
    input: z.strictObject({ ...deadFilter, code: name.optional(), before: z.string().max(100).optional(), limit }),
    output: pageOf(deadLetter),
  }),
  "dead.groups": route({
    method: "GET",
    path: "/dead/groups",
    may: ["see"],
    says: "Groups the last dead letters (up to 1,000) by program, state and error code.",
    input: z.strictObject(deadFilter),
    output: z.object({
      groups: z.array(
        z.object({
          program: z.string(),
          state: deadStates,
          code: z.string().nullable(),
          n: z.number(),
          newest: time.nullable(),
          oldest: time.nullable(),
          /** The newest runs of the group, up to five. */
          examples: z.array(z.string()),
        }),
      ),
      looked: counted,
    }),
  }),
  "dead.retry": route({
    method: "POST",
    path: "/dead/retry",
    may: ["operate"],
    says: "Retries up to 200 runs by id.",
    input: z.strictObject({
      env,
      ids: z.array(id).min(1).max(200),
      from: z.enum(["last", "start"]).default("last"),
      note,
    }),
    output: z.object({ answers: z.array(outcome.extend({ id: z.string() })) }),
  }),
};
