// Routes of live updates: one stream per browser, topics that change while it is open.

import * as z from "zod";
import { env, id, many, outcome, route, time } from "../route.js";
import { nodeRow } from "./nodes.js";
import { outlineEntry, runRow } from "./runs.js";

/**
 * `run:<id>` or `run:<id>@41`: a run with its entries after 41. `rows:<id>+<id>`: the state of listed runs. `newest`: ids of runs that are newer than
 * the stream. `nodes`: the list of nodes. `inbox`: the number of open approvals.
 */
export const topic = z.string().min(1).max(8000);

/** The `data` of one event of the stream, by its `event` name. */
export const liveEvents = {
  hello: z.object({ connection: z.string(), now: time, topics: z.array(z.string()) }),
  patch: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("run"), topic: z.string(), run: runRow, entries: z.array(outlineEntry) }),
    z.object({ kind: z.literal("rows"), topic: z.string(), rows: z.array(runRow) }),
    z.object({ kind: z.literal("newest"), topic: z.string(), ids: z.array(z.string()) }),
    z.object({ kind: z.literal("nodes"), topic: z.string(), rows: z.array(nodeRow) }),
    z.object({ kind: z.literal("inbox"), topic: z.string(), open: z.number() }),
  ]),
  /** The topic was dropped: read it again and subscribe again. */
  gone: z.object({ topic: z.string(), why: z.string() }),
};

export const LIVE_ROUTES = {
  "live.open": route({
    method: "GET",
    path: "/live",
    may: ["see"],
    says: "Opens a stream of server-sent events for these topics.",
    input: z.strictObject({ env, topics: many(topic).default([]) }),
    output: z.unknown(),
    streams: true,
  }),
  "live.topics": route({
    method: "POST",
    path: "/live/:connection/topics",
    may: ["see"],
    says: "Replaces the topics of an open stream.",
    input: z.strictObject({ connection: id, topics: z.array(topic).max(50) }),
    output: outcome,
  }),
};
