// Routes of the audit and of tokens.

import * as z from "zod";
import { PERMISSIONS } from "../permission.js";
import { env, id, json, limit, name, note, outcome, pageOf, route, time } from "../route.js";

const auditRow = z.object({
  id: z.string(),
  at: time,
  env: z.string(),
  by: z.string(),
  /** `admin`, `cli`, `client`. */
  via: z.string(),
  /** The name of the route or command. */
  action: z.string(),
  object: z.string(),
  before: json,
  after: json,
  note: z.string().nullable(),
  request: z.string().nullable(),
});

const tokenRow = z.object({
  id: z.string(),
  name: z.string(),
  may: z.array(z.enum(PERMISSIONS)),
  envs: z.array(z.string()).nullable(),
  groups: z.array(z.string()).nullable(),
  createdAt: time,
  createdBy: z.string(),
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
  revokedAt: time.nullable(),
});

export const AUDIT_ROUTES = {
  "audit.list": route({
    method: "GET",
    path: "/audit",
    may: ["see"],
    says: "Lists audit rows, newest first.",
    input: z.strictObject({
      env,
      by: name.optional(),
      action: name.optional(),
      object: name.optional(),
      before: id.optional(),
      limit,
    }),
    output: pageOf(auditRow),
  }),
  "tokens.list": route({
    method: "GET",
    path: "/tokens",
    may: ["administer"],
    says: "Lists tokens; their secrets are not stored.",
    input: z.strictObject({}),
    output: z.object({ rows: z.array(tokenRow) }),
  }),
  "tokens.create": route({
    method: "POST",
    path: "/tokens",
    may: ["administer"],
    says: "Creates a token. Its secret is in this answer only.",
    input: z.strictObject({
      name,
      may: z.array(z.enum(PERMISSIONS)).min(1),
      envs: z.array(z.string()).min(1).optional(),
      groups: z.array(z.string()).optional(),
      expiresInMs: z.number().int().min(1000).optional(),
      note,
    }),
    output: tokenRow.extend({ secret: z.string() }),
  }),
  "tokens.revoke": route({
    method: "POST",
    path: "/tokens/:id/revoke",
    may: ["administer"],
    says: "Revokes a token at once.",
    input: z.strictObject({ id, note }),
    output: outcome,
  }),
};
