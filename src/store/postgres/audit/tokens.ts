// Access tokens by the hash of their secret; the last use is noted at most once a minute.

import { TOKEN_USE_MS, type TokenRecord, type TokenStore } from "../../contract/audit/tokens.js";
import type { Database } from "../connection/database.js";
import { statement } from "../connection/dialect.js";
import { interval, ms } from "../connection/instant.js";

const COLUMNS = `t.id, t.name, t.may, t.envs, t.groups, t.created_by as by, ${ms("t.created_at")} as created_at,
  ${ms("t.expires_at")} as expires_at, ${ms("t.last_used_at")} as last_used_at, ${ms("t.revoked_at")} as revoked_at`;

const createToken = statement(
  "create_token",
  "Stores a token by its hash.",
  ({ schema: s, now }) => `
with n as materialized (select ${now} as now
), made as (
  insert into ${s}.tokens as t (id, hash, name, may, envs, groups, created_by, created_at, expires_at)
  select $1::uuid, $2, $3, $4::text[], $5::text[], $6::text[], $7, n.now, n.now + ${interval("$8::float8")} from n
  on conflict (id) do nothing returning t.*
)
select ${COLUMNS} from made t
union all
select ${COLUMNS} from ${s}.tokens t where t.id = $1::uuid`,
);

/** The row is written only when its last use is old: requests of one token do not wait for each other. */
const useToken = statement(
  "use_token",
  "Finds a valid token and notes its use.",
  ({ schema: s, now }) => `
with n as materialized (select ${now} as now
), found as materialized (
  select t.* from ${s}.tokens t, n where t.hash = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > n.now)
), noted as (
  update ${s}.tokens t set last_used_at = n.now from found f, n
  where t.id = f.id and (t.last_used_at is null or t.last_used_at <= n.now - ${interval(String(TOKEN_USE_MS))})
)
select ${COLUMNS} from found t`,
);

const listTokens = statement(
  "list_tokens",
  "Lists tokens, the newest first.",
  ({ schema: s }) => `select ${COLUMNS} from ${s}.tokens t order by t.created_at desc, t.id desc`,
);

const revokeToken = statement(
  "revoke_token",
  "Revokes a token.",
  ({ schema: s, now }) => `
update ${s}.tokens set revoked_at = coalesce(revoked_at, ${now}) where id = $1::uuid returning id`,
);

interface Row extends Pick<TokenRecord, "id" | "name" | "may" | "envs" | "groups" | "by"> {
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
}

export function tokenStore(db: Database): TokenStore {
  return {
    async create({ id, hash, name, may, envs, groups, by, expiresInMs }) {
      const [row] = await db.run<Row>(createToken, [id, hash, name, may, envs, groups, by, expiresInMs]);
      return recordOf(row!);
    },
    async use(hash) {
      const [row] = await db.run<Row>(useToken, [hash]);
      return row ? recordOf(row) : null;
    },
    async list() {
      return (await db.run<Row>(listTokens, [])).map(recordOf);
    },
    async revoke(id) {
      return (await db.run(revokeToken, [id])).length > 0;
    },
  };
}

function recordOf({ created_at, expires_at, last_used_at, revoked_at, ...row }: Row): TokenRecord {
  return { ...row, createdAt: created_at, expiresAt: expires_at, lastUsedAt: last_used_at, revokedAt: revoked_at };
}
