// Routes of programs and of definitions, the programs that are data.

import * as z from "zod";
import { DEFINITION_KINDS } from "../../store/contract/definition/definitions.js";
import { env, json, name, note, outcome, route, time } from "../route.js";

const programRow = z.object({
  name: z.string(),
  queues: z.array(z.string()),
  versions: z.array(z.string().nullable()),
  stacks: z.array(z.string().nullable()),
  builds: z.array(z.string()),
  /** Live nodes that have it, and those of them that claim its runs now. */
  servedBy: z.array(z.string()),
  claimedBy: z.array(z.string()),
  limits: json,
  /** Events and schedules that start it. */
  triggers: z.number(),
  schedules: z.number(),
  /** As its nodes reported it; null: an older one has not. */
  kind: z.string().nullable(),
  shape: json,
  inputSchema: json,
});

const definitionRow = z.object({
  kind: z.enum(DEFINITION_KINDS),
  name: z.string(),
  version: z.number(),
  enabled: z.boolean(),
  by: z.string(),
  at: time,
  body: z.record(z.string(), json),
});

const definition = { env, kind: z.enum(DEFINITION_KINDS), name };

export const PROGRAM_ROUTES = {
  "programs.list": route({
    method: "GET",
    path: "/programs",
    may: ["see"],
    says: "Lists the programs that registered nodes have.",
    input: z.strictObject({ env }),
    output: z.object({ rows: z.array(programRow) }),
  }),
  "programs.get": route({
    method: "GET",
    path: "/programs/:program",
    may: ["see"],
    says: "Returns one program.",
    input: z.strictObject({ env, program: name }),
    output: programRow,
  }),
  "definitions.list": route({
    method: "GET",
    path: "/definitions",
    may: ["see"],
    says: "Lists definitions with their current bodies.",
    input: z.strictObject({ env }),
    output: z.object({ rows: z.array(definitionRow) }),
  }),
  "definitions.save": route({
    method: "PUT",
    path: "/definitions/:kind/:name",
    may: ["administer"],
    says: "Saves a definition; `over` is the version that was read.",
    input: z.strictObject({
      ...definition,
      body: z.record(z.string(), json),
      over: z.number().int().min(0).optional(),
      note,
    }),
    output: z.object({ version: z.number() }),
  }),
  "definitions.enable": route({
    method: "POST",
    path: "/definitions/:kind/:name/enable",
    may: ["administer"],
    says: "Enables or disables a definition.",
    input: z.strictObject({ ...definition, enabled: z.boolean(), note }),
    output: outcome,
  }),
  "definitions.remove": route({
    method: "DELETE",
    path: "/definitions/:kind/:name",
    may: ["administer"],
    says: "Removes a definition that no live run needs.",
    input: z.strictObject({ ...definition, note }),
    output: outcome,
  }),
};
