// Routes of nodes: list, one, what they hold, takeovers; mode, override, drain.

import * as z from "zod";
import { NODE_MODES } from "../../kernel/node-mode.js";
import { env, flag, limit, name, note, pageOf, route, time } from "../route.js";
import { holder, runRow } from "./runs.js";

const group = z.object({
  stack: z.string().nullable(),
  queue: z.string(),
  program: z.string(),
  version: z.string().nullable(),
});

export const nodeRow = z.object({
  incarnation: z.string(),
  identity: z.string(),
  name: z.string(),
  env: z.string(),
  stack: z.string().nullable(),
  build: z.string().nullable(),
  mode: z.enum(NODE_MODES),
  overrides: z.record(z.string(), z.enum(NODE_MODES)),
  drain: z.enum(["stay", "exit"]).nullable(),
  alone: z.boolean(),
  alive: z.boolean(),
  holds: z.number(),
  executors: z.array(z.object({ name: z.string(), slots: z.number(), queues: z.array(z.string()) })),
  serves: z.array(group),
  claims: z.array(group),
  overruled: z.array(group),
  startedAt: time,
  seenAt: time,
  stoppedAt: time.nullable(),
  heartbeatMs: z.number().nullable(),
  leaseMs: z.number().nullable(),
  /** How its process fares; null: it has not reported it. */
  vitals: z.object({ loopP99Ms: z.number(), rssBytes: z.number(), busy: z.record(z.string(), z.number()) }).nullable(),
});

const modeState = z.object({
  mode: z.enum(NODE_MODES),
  overrides: z.record(z.string(), z.enum(NODE_MODES)),
  drain: z.enum(["stay", "exit"]).nullable(),
});

/** A node by its identity, name, incarnation, or the first 8 characters of the incarnation. */
const node = { env, node: name };
const change = { ...node, keep: z.boolean().default(false), note };

export const NODE_ROUTES = {
  "nodes.list": route({
    method: "GET",
    path: "/nodes",
    may: ["see"],
    says: "Lists nodes, newest start first.",
    input: z.strictObject({ env, stopped: flag.optional() }),
    output: z.object({ rows: z.array(nodeRow) }),
  }),
  "nodes.get": route({
    method: "GET",
    path: "/nodes/:node",
    may: ["see"],
    says: "Returns one node with the runs it holds.",
    input: z.strictObject(node),
    output: nodeRow.extend({ held: z.array(runRow) }),
  }),
  "nodes.mode": route({
    method: "POST",
    path: "/nodes/:node/mode",
    may: ["operate"],
    says: "Sets the mode of a node.",
    input: z.strictObject({ ...change, mode: z.enum(NODE_MODES) }),
    output: modeState,
  }),
  "nodes.override": route({
    method: "POST",
    path: "/nodes/:node/override",
    may: ["operate"],
    says: "Sets the mode of a node for one program; null removes it.",
    input: z.strictObject({ ...change, program: name, mode: z.enum(NODE_MODES).nullable() }),
    output: modeState,
  }),
  "nodes.drain": route({
    method: "POST",
    path: "/nodes/:node/drain",
    may: ["operate"],
    says: "Makes a node finish its steps and release its claims.",
    input: z.strictObject({ ...change, exit: z.boolean().default(false) }),
    output: modeState,
  }),
  "takeovers.list": route({
    method: "GET",
    path: "/takeovers",
    may: ["see"],
    says: "Lists reclaimed claims, newest first.",
    input: z.strictObject({ env, before: z.string().max(100).optional(), limit }),
    output: pageOf(
      z.object({
        runId: z.string(),
        program: z.string(),
        epoch: z.number(),
        at: time,
        from: holder.nullable(),
        by: holder.nullable(),
        outcome: z.string(),
      }),
    ),
  }),
};
