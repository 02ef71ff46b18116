// The audit and the tokens, for the test of lost replies.

import { randomUUID } from "node:crypto";
import { newRun } from "../scene.js";
import { type Operation, ownGroup } from "./unanswered-operation.js";

export function auditOperations(): Operation[] {
  const nothing = { before: null, after: null, note: null, request: null };
  const row = () => ({ id: randomUUID(), env: "test", by: "me", via: "test", action: "a", object: "o", ...nothing });
  const token = () => {
    const id = randomUUID();
    return { id, hash: id, name: "t", may: ["see"], envs: null, groups: null, by: "me", expiresInMs: null };
  };
  const [alone, withCancel, made, used, revoked] = [row(), row(), token(), token(), token()];
  const run = newRun({ group: ownGroup() });
  return [
    {
      name: "audit.record, of a change that writes nothing",
      statement: "write_audit",
      prepare: async (store) => () => store.audit.record(alone, async () => null),
    },
    {
      name: "audit.record, with a cancel",
      statement: "cancel_run_audited",
      prepare: async (store) => {
        await store.runs.insert([run]);
        const change = { ...withCancel, object: run.id };
        return async () => {
          const answer = await store.audit.record(change, () => store.runs.cancel(run.id, { by: "me" }));
          const { rows } = await store.audit.list({ env: "test", object: run.id }, { limit: 10 });
          return { answer, rows: rows.length };
        };
      },
    },
    {
      name: "tokens.create",
      statement: "create_token",
      prepare: async (store) => async () => ({ ...(await store.tokens.create(made)), createdAt: 0 }),
    },
    {
      name: "tokens.use",
      statement: "use_token",
      prepare: async (store) => {
        await store.tokens.create(used);
        return async () => (await store.tokens.use(used.hash))?.id;
      },
    },
    {
      name: "tokens.revoke",
      statement: "revoke_token",
      prepare: async (store) => {
        await store.tokens.create(revoked);
        return () => store.tokens.revoke(revoked.id);
      },
    },
  ];
}
