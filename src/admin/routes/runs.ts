// Routes that read runs: list, one, journal, payloads, inbox, tasks, claims.

import * as z from "zod";
import { RUN_STATES } from "../../kernel/run/run-state.js";
import { counted, env, flag, id, instant, json, limit, many, name, pageOf, route, time } from "../route.js";

export const holder = z.object({
  incarnation: z.string(),
  identity: z.string().nullable(),
  name: z.string().nullable(),
});

/** A journal entry without its payload. */
export const outlineEntry = z.object({
  seq: z.number(),
  epoch: z.number(),
  kind: z.string(),
  name: z.string(),
  key: z.string().nullable(),
  at: time,
  /** Of the payload; null: it has none. */
  bytes: z.number().nullable(),
  codec: z.string().nullable(),
});

export const runRow = z.object({
  id: z.string(),
  env: z.string(),
  stack: z.string().nullable(),
  queue: z.string(),
  program: z.string(),
  version: z.string().nullable(),
  state: z.enum(RUN_STATES),
  priority: z.number(),
  createdAt: time,
  availableAt: time,
  wakeAt: time.nullable(),
  endedAt: time.nullable(),
  archivedAt: time.nullable(),
  epoch: z.number(),
  /** The incarnation that holds it, and its name while it is registered. */
  owner: z.string().nullable(),
  ownerName: z.string().nullable(),
  leaseUntil: time.nullable(),
  seq: z.number(),
  baseSeq: z.number(),
  generation: z.number(),
  failures: z.number(),
  crashes: z.number(),
  crashLimit: z.number(),
  recoveries: z.number(),
  parentId: z.string().nullable(),
  /** Tasks that it waits for. */
  pending: z.number(),
  misfit: z.object({ builds: z.array(z.string()), wanted: z.string().nullable() }).nullable(),
  /** It waits, and no live node can claim it. */
  noCapableNode: z.boolean(),
  /** The key under which it was started, while it holds it. */
  key: z.string().nullable(),
  /** The last journal entry, without its payload; of a parked run, the one that began what it waits for. */
  last: outlineEntry.nullable(),
});

export const runFilter = {
  env,
  state: many(z.enum(RUN_STATES)).optional(),
  program: name.optional(),
  queue: name.optional(),
  stack: name.optional(),
  /** Held by this node: its incarnation, identity or name. */
  node: name.optional(),
  /** Started by this run: its children and tasks. */
  parent: id.optional(),
  /** Started under a key that begins with this. */
  key: name.optional(),
  /** Created from (inclusive) and to (exclusive). */
  from: instant.optional(),
  to: instant.optional(),
  archived: flag.optional(),
};

export const claimRow = z.object({
  epoch: z.number(),
  holder: holder.nullable(),
  /** The first and the last entry that was written under it; null: none was. */
  from: time.nullable(),
  to: time.nullable(),
  /** The kind of the first entry: one that ends a call was worked on before it was written. */
  begins: z.string().nullable(),
  /** Of a reclaimed one: when its holder was last heard of; null: not known, or it lives. */
  heard: time.nullable(),
  entries: z.number(),
  /** `held`, `reclaimed`, or how it was released: `parked`, `completed`, … */
  ended: z.string(),
  /** `refused`: how many late writes of its holder the fence refused. */
  reclaimed: z.object({ at: time, by: holder.nullable(), outcome: z.string(), refused: z.number() }).nullable(),
});

export const RUN_ROUTES = {
  "runs.list": route({
    method: "GET",
    path: "/runs",
    may: ["see"],
    says: "Lists the newest runs that fit the filter.",
    input: z.strictObject({ ...runFilter, before: id.optional(), limit }),
    output: pageOf(runRow),
  }),
  "runs.count": route({
    method: "GET",
    path: "/runs/count",
    may: ["see"],
    says: "Counts the runs that fit the filter, up to 10,000.",
    input: z.strictObject(runFilter),
    output: counted,
  }),
  "runs.many": route({
    method: "GET",
    path: "/runs/many",
    may: ["see"],
    says: "Returns up to 200 runs by id; unknown ids are left out.",
    input: z.strictObject({ env, ids: many(id) }),
    output: z.object({ rows: z.array(runRow) }),
  }),
  "runs.find": route({
    method: "GET",
    path: "/runs/find",
    may: ["see"],
    says: "Finds runs by the beginning of an id, from 8 characters.",
    input: z.strictObject({ env, id: z.string().min(8).max(36) }),
    output: z.object({ rows: z.array(runRow) }),
  }),
  "runs.get": route({
    method: "GET",
    path: "/runs/:id",
    may: ["see"],
    says: "Returns one run.",
    input: z.strictObject({ id }),
    output: runRow.extend({
      scope: z.string().nullable(),
      recoveredFrom: z.string().nullable(),
      liveBuilds: z.array(z.string()),
      /** Of a held run: the key of the limit that it waits for. */
      waitsFor: z.string().nullable(),
      deferred: z
        .object({
          by: z.string(),
          expiresAt: time.nullable(),
          takenBy: z.string().nullable(),
          takenAt: time.nullable(),
        })
        .nullable(),
      unread: z.number(),
      /** Of a run that failed, died or is quarantined; the message only with the permission `read`. */
      error: z.object({ code: z.string().nullable(), message: z.string().nullable() }).nullable(),
    }),
  }),
  "runs.journal": route({
    method: "GET",
    path: "/runs/:id/journal",
    may: ["see"],
    says: "Lists journal entries without payloads, from the start or from the end.",
    input: z.strictObject({
      id,
      after: z.coerce.number().int().min(0).optional(),
      before: z.coerce.number().int().min(1).optional(),
      /** The last entries instead of the first. */
      last: flag.optional(),
      limit: z.coerce.number().int().min(1).max(500).default(200),
    }),
    output: z.object({
      state: z.enum(RUN_STATES),
      seq: z.number(),
      baseSeq: z.number(),
      entries: z.array(outlineEntry),
    }),
  }),
  "runs.payload": route({
    method: "GET",
    path: "/runs/:id/journal/:seq",
    may: ["read"],
    says: "Returns one payload. The look is written to the audit.",
    input: z.strictObject({ id, seq: z.coerce.number().int().min(1) }),
    output: outlineEntry.extend({
      /** False: the codec is not known to this server; only its name and length are shown. */
      readable: z.boolean(),
      value: json,
    }),
  }),
  "runs.inbox": route({
    method: "GET",
    path: "/runs/:id/inbox",
    may: ["see"],
    says: "Lists the messages that the run has not taken yet, without payloads.",
    input: z.strictObject({ id }),
    output: z.object({
      messages: z.array(
        z.object({
          key: z.string(),
          kind: z.string(),
          name: z.string(),
          sender: z.string().nullable(),
          at: time,
          bytes: z.number().nullable(),
        }),
      ),
    }),
  }),
  "runs.tasks": route({
    method: "GET",
    path: "/runs/:id/tasks",
    may: ["see"],
    says: "Lists the tasks of a run by name, with their runs.",
    input: z.strictObject({ id, after: z.coerce.number().int().min(0).default(0), limit }),
    output: z.object({
      tasks: z.array(z.object({ seq: z.number(), name: z.string(), run: runRow.nullable() })),
      next: z.number().nullable(),
    }),
  }),
  "runs.claims": route({
    method: "GET",
    path: "/runs/:id/claims",
    may: ["see"],
    says: "Returns the owner lane: each claim with its holder, its times and how it ended.",
    input: z.strictObject({ id, limit }),
    output: z.object({ claims: z.array(claimRow), earlier: z.boolean() }),
  }),
  "runs.visits": route({
    method: "GET",
    path: "/runs/:id/visits",
    may: ["read"],
    says: "Returns the visits of a graph run, with what each changed.",
    input: z.strictObject({ id }),
    output: z.object({
      position: z.string().nullable(),
      visits: z.array(
        z.object({
          position: z.string(),
          next: z.string().nullable(),
          updates: z.record(z.string(), json),
          failure: z.object({ name: z.string(), message: z.string(), code: z.string().nullable() }).nullable(),
          from: time,
          to: time.nullable(),
        }),
      ),
    }),
  }),
};
