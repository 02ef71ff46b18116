// The audit is written with the change that it is about; tokens are found by their hash until they are revoked or expire.

import type { NewAuditRow } from "../../../store/contract/audit/audit.js";
import type { NewToken } from "../../../store/contract/audit/tokens.js";
import { cases } from "../case.js";
import { matches, rejects, same, some } from "../expect.js";
import { PAST_MS, type Scene, SHORT_MS } from "../scene.js";

function row(s: Scene, more: Partial<NewAuditRow> = {}): NewAuditRow {
  const texts = { before: '{"state":"waiting"}', after: null, note: "why", request: "r1" };
  return { id: s.id(), env: s.env, by: "ann", via: "test", action: "runs.cancel", object: "o", ...texts, ...more };
}

async function rowsOf(s: Scene, filter: object = {}) {
  const { rows } = await s.store.audit.list({ env: s.env, ...filter }, { limit: 100 });
  return rows.map(({ at: _, ...rest }) => rest);
}

const newToken = (s: Scene, more: Partial<NewToken> = {}): NewToken => ({
  id: s.id(),
  hash: s.token(),
  name: "ci",
  may: ["see", "operate"],
  envs: [s.env],
  groups: null,
  by: "ann",
  expiresInMs: null,
  ...more,
});

export const auditCases = cases("audit", {
  "a change and its row are written together, once": async (s) => {
    const { id } = await s.insert();
    const written = row(s, { object: id });
    const change = () => s.store.audit.record(written, () => s.store.runs.cancel(id, { by: "ann" }));
    same(await change(), { outcome: "cancelled" }, "the answer of the change");
    same(await change(), { outcome: "cancelled" }, "repeated");
    same(await rowsOf(s), [written], "rows");
  },

  "a start inside a change is written with its row": async (s) => {
    const run = s.newRun();
    await s.store.audit.record(row(s, { object: run.id }), () => s.store.runs.insert([run]));
    same((await s.run(run.id)).state, "waiting", "run");
    same((await rowsOf(s)).length, 1, "rows");
  },

  "a change that fails before it writes leaves no row; one that writes nothing leaves it": async (s) => {
    await rejects(
      s.store.audit.record(row(s), () => s.store.runs.cancel(s.id(), { by: "\0" })),
      "the change",
    );
    same(await rowsOf(s), [], "after a failure");
    await s.store.audit.record(row(s), async () => {});
    same((await rowsOf(s)).length, 1, "after nothing");
  },

  "rows are listed newest first, by pages and filters": async (s) => {
    const written = [row(s), row(s, { by: "bob" }), row(s, { action: "runs.retry", object: "x" })];
    for (const one of written) await s.store.audit.record(one, async () => {});
    const [first, second, third] = written;
    same(await rowsOf(s), [third, second, first], "all");
    same(await rowsOf(s, { by: "bob" }), [second], "by");
    same(await rowsOf(s, { action: "runs.retry" }), [third], "action");
    same(await rowsOf(s, { object: "o" }), [second, first], "object");
    const page = await s.store.audit.list({ env: s.env }, { limit: 2 });
    same(page.next, second!.id, "next");
    const rest = await s.store.audit.list({ env: s.env }, { limit: 2, before: second!.id });
    same([rest.rows.map(({ id }) => id), rest.next], [[first!.id], null], "the rest");
  },

  "a token is found by its hash until it is revoked": async (s) => {
    const token = newToken(s);
    const made = await s.store.tokens.create(token);
    const { hash, expiresInMs: _, ...rest } = token;
    matches(made, { ...rest, expiresAt: null, lastUsedAt: null, revokedAt: null }, "created");
    same(await s.store.tokens.create({ ...token, name: "other" }), made, "created again");
    same(await s.store.tokens.use(hash), made, "found");
    same(await s.store.tokens.use(s.token()), null, "another hash");
    const listed = (await s.store.tokens.list()).find(({ id }) => id === token.id);
    same(typeof some(listed, "listed").lastUsedAt, "number", "its use was noted");
    same([await s.store.tokens.revoke(token.id), await s.store.tokens.revoke(s.id())], [true, false], "revoked");
    same(await s.store.tokens.use(hash), null, "after that");
  },

  "a token expires": async (s) => {
    const token = newToken(s, { expiresInMs: SHORT_MS, envs: null, groups: ["a"] });
    await s.store.tokens.create(token);
    matches(await s.store.tokens.use(token.hash), { id: token.id, envs: null, groups: ["a"] }, "in time");
    await s.advance(PAST_MS);
    same(await s.store.tokens.use(token.hash), null, "after its time");
  },
});
