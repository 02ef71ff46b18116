// Handlers of the audit and of tokens.

import type { TokenRecord } from "../../store/contract/audit/tokens.js";
import type { RouteName } from "../api.js";
import { newSecret } from "../auth/token-secret.js";
import type { Call, Handlers } from "../call.js";
import type { Permission } from "../permission.js";
import { ApiProblem, notFound } from "../problem.js";
import type { AUDIT_ROUTES } from "../routes/audit.js";
import { iso } from "../view/iso.js";
import { redacted } from "../view/redact.js";

function parsed(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown);
}

function tokenView({ by, may, envs, groups, createdAt, expiresAt, lastUsedAt, revokedAt, ...token }: TokenRecord) {
  return {
    ...token,
    createdBy: by,
    may: [...may] as Permission[],
    envs: envs && [...envs],
    groups: groups && [...groups],
    createdAt: iso(createdAt),
    expiresAt: iso(expiresAt),
    lastUsedAt: iso(lastUsedAt),
    revokedAt: iso(revokedAt),
  };
}

/** A token allows no more than its creator may do, in no other env. */
function expectNoMore(call: Call, may: readonly Permission[], envs: readonly string[] | undefined): void {
  const missing = may.find((one) => !call.may(one));
  if (missing) throw new ApiProblem(403, "FORBIDDEN", `You lack the permission ${missing} yourself.`, missing);
  const { envs: own } = call.principal;
  if (own !== undefined && (envs === undefined || envs.some((env) => !own.includes(env)))) {
    throw new ApiProblem(403, "ENV_FORBIDDEN", `The token must be limited to your own envs: ${own.join(", ")}.`);
  }
}

export const auditHandlers: Handlers<RouteName & keyof typeof AUDIT_ROUTES> = {
  "audit.list": async (call, { by, action, object, before, limit }) => {
    const filter = {
      env: call.env,
      ...(by !== undefined && { by }),
      ...(action !== undefined && { action }),
      ...(object !== undefined && { object }),
    };
    const page = { limit, ...(before !== undefined && { before }) };
    const { rows, next } = await call.store.audit.list(filter, page);
    const shown = rows.map((row) => {
      const shown = (text: string | null) => redacted(parsed(text), call.admin.redact);
      return { ...row, at: iso(row.at), before: shown(row.before), after: shown(row.after) };
    });
    return { rows: shown, next };
  },
  "tokens.list": async (call) => ({ rows: (await call.store.tokens.list()).map(tokenView) }),
  "tokens.create": async (call, { name, may, envs, groups, expiresInMs, note }) => {
    expectNoMore(call, may, envs);
    const { secret, hash } = newSecret(call.admin.world);
    const token = {
      id: call.admin.world.id(),
      hash,
      name,
      may,
      envs: envs ?? null,
      groups: groups ?? null,
      by: call.by,
      expiresInMs: expiresInMs ?? null,
    };
    const change = { action: "tokens.create" as const, object: token.id, after: { name, may, envs, groups }, note };
    const made = await call.change(change, () => call.store.tokens.create(token));
    return { ...tokenView(made), secret };
  },
  "tokens.revoke": async (call, { id, note }) => {
    const change = { action: "tokens.revoke" as const, object: id, after: { revoked: true }, note };
    if (!(await call.change(change, () => call.store.tokens.revoke(id)))) throw notFound(`The token ${id}`);
    return { outcome: "revoked" };
  },
};
