// Access tokens of the memory store, by id; found by the hash of their secret.

import { omit } from "../../../kernel/omit.js";
import { TOKEN_USE_MS, type TokenRecord, type TokenStore } from "../../contract/audit/tokens.js";
import { toMs, toUs } from "../table/micros.js";
import { compareText } from "../table/names.js";
import type { TokenRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export function memoryTokens(tables: Tables): TokenStore {
  return {
    async create(token) {
      const { expiresInMs, ...row } = token;
      const nowUs = tables.nowUs();
      const expiresAtUs = expiresInMs === null ? null : nowUs + toUs(expiresInMs);
      const made: TokenRow = { ...row, createdAtUs: nowUs, expiresAtUs, lastUsedAtUs: null, revokedAtUs: null };
      const stored = tables.tokens.get(token.id) ?? made;
      tables.tokens.set(token.id, stored);
      return tokenRecord(stored);
    },
    async use(hash) {
      const nowUs = tables.nowUs();
      const row = [...tables.tokens.values()].find((one) => one.hash === hash);
      if (!row || row.revokedAtUs !== null || (row.expiresAtUs !== null && row.expiresAtUs <= nowUs)) return null;
      if (row.lastUsedAtUs === null || row.lastUsedAtUs <= nowUs - toUs(TOKEN_USE_MS)) {
        tables.tokens.set(row.id, { ...row, lastUsedAtUs: nowUs });
      }
      return tokenRecord(row);
    },
    async list() {
      return [...tables.tokens.values()]
        .sort((a, b) => b.createdAtUs - a.createdAtUs || compareText(b.id, a.id))
        .map(tokenRecord);
    },
    async revoke(id) {
      const row = tables.tokens.get(id);
      if (row) tables.tokens.set(id, { ...row, revokedAtUs: row.revokedAtUs ?? tables.nowUs() });
      return row !== undefined;
    },
  };
}

function tokenRecord(row: TokenRow): TokenRecord {
  const { createdAtUs, expiresAtUs, lastUsedAtUs, revokedAtUs, may, envs, groups, ...rest } = omit(row, "hash");
  return {
    ...rest,
    may: [...may],
    envs: envs && [...envs],
    groups: groups && [...groups],
    createdAt: toMs(createdAtUs),
    expiresAt: toMs(expiresAtUs),
    lastUsedAt: toMs(lastUsedAtUs),
    revokedAt: toMs(revokedAtUs),
  };
}
