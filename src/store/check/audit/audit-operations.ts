// The operations on the audit and on tokens as values.

import type { AuditFilter, AuditStore, NewAuditRow } from "../../contract/audit/audit.js";
import type { NewToken, TokenStore } from "../../contract/audit/tokens.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { checkPage } from "../filter.js";
import { checkDelay, checkText, checkUuid, listOf, optional, shape, whole } from "../value.js";

const checkRow = whole(
  shape<NewAuditRow>("row", {
    id: checkUuid,
    env: checkText,
    by: checkText,
    via: checkText,
    action: checkText,
    object: checkText,
    before: optional(checkText),
    after: optional(checkText),
    note: optional(checkText),
    request: optional(checkText),
  }),
);
const names = listOf("names", checkText);
const checkToken = whole(
  shape<NewToken>("token", {
    id: checkUuid,
    hash: checkText,
    name: checkText,
    by: checkText,
    may: names,
    envs: optional(names),
    groups: optional(names),
    expiresInMs: optional(checkDelay),
  }),
);
const checkListed = whole(
  shape<AuditFilter>("filter", {
    env: checkText,
    by: optional(checkText),
    action: optional(checkText),
    object: optional(checkText),
  }),
);

export const AUDIT_OPERATIONS = {
  record: { ...CHANGES, changes: "an audit row, with the change that it is about", callsBack: true, check: checkRow },
  list: {
    ...READS,
    check: (filter, page) => checkListed(filter) ?? checkPage("page", page),
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
