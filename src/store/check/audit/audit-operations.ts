// The operations on the audit and on tokens as values.

import type { AuditStore, NewAuditRow } from "../../contract/audit/audit.js";
import type { NewToken, TokenStore } from "../../contract/audit/tokens.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkPage } from "../filter.js";
import { checkDelay, checkObject, checkText, checkUuid, firstProblem, optional, type Problem } from "../value.js";

function checkRow(row: NewAuditRow): Problem {
  const texts = ["env", "by", "via", "action", "object"] as const;
  const maybe = ["before", "after", "note", "request"] as const;
  return (
    checkObject("row", row) ??
    checkUuid("id", row.id) ??
    firstProblem(texts, (name) => checkText(name, row[name])) ??
    firstProblem(maybe, (name) => optional(checkText)(name, row[name]))
  );
}

function checkToken(token: NewToken): Problem {
  const { id, hash, name, by, may, envs, groups, expiresInMs } = token;
  return (
    checkUuid("id", id) ??
    checkText("hash", hash) ??
    checkText("name", name) ??
    checkText("by", by) ??
    firstProblem([...may, ...(envs ?? []), ...(groups ?? [])], (one) => checkText("token", one)) ??
    optional(checkDelay)("expiresInMs", expiresInMs)
  );
}

export const AUDIT_OPERATIONS = {
  record: { ...CHANGES, changes: "an audit row, with the change that it is about", callsBack: true, check: checkRow },
  list: {
    ...READS,
    check: (filter, page) =>
      checkObject("filter", filter) ??
      checkText("env", filter.env) ??
      optional(checkText)("by", filter.by) ??
      optional(checkText)("action", filter.action) ??
      optional(checkText)("object", filter.object) ??
      checkPage(page),
  },
} satisfies OperationsOf<AuditStore>;

export const TOKEN_OPERATIONS = {
  create: { ...CHANGES, changes: "a token", check: checkToken },
  use: { ...CHANGES, changes: "a token: when it was last used", check: (hash) => checkText("hash", hash) },
  list: READS,
  revoke: {
    ...CHANGES,
    changes: "a token: revoked",
    check: (id) => checkUuid("id", id),
  },
} satisfies OperationsOf<TokenStore>;
