// The operations on what other nodes left: reclaiming of orphans, deferred runs, and the modes of nodes.

import { randomUUID } from "node:crypto";
import { newRun } from "../scene.js";
import { ids, key, type Operation, ownGroup } from "./unanswered-operation.js";

export function modeOperations(): readonly Operation[] {
  return [...recoveryOperations(), ...deferredOperations(), ...nodeOperations()];
}

function recoveryOperations(): Operation[] {
  return (["resume", "restart", "fail"] as const).map((policy) => {
    const run = newRun({ group: ownGroup() });
    const drawn = ids();
    return {
      name: `recover: ${policy}`,
      statement: "reclaim_orphans",
      answersWhatItDid: true,
      async prepare(store) {
        await store.runs.insert([run]);
        const groupIds = await store.runs.groupIds([run.group]);
        const [claim] = await store.runs.claim({ ...drawn, groupIds, limit: 1, leaseMs: 0 });
        return () => store.runs.recover([{ runId: run.id, epoch: claim!.epoch, policy }], { staleMs: 0 });
      },
    };
  });
}

function deferredOperations(): Operation[] {
  const [late, early] = [newRun({ group: ownGroup() }), newRun({ group: ownGroup(), key: key() })];
  const deferred = { by: "host-1", expiresInMs: 0 };
  const marked = newRun({ group: ownGroup() });
  return [
    {
      name: "insert a deferred run",
      statement: "insert_limited_runs",
      prepare: async (store) => {
        await store.runs.groupIds([late.group]);
        return () => store.runs.insert([{ ...late, deferred }]);
      },
    },
    {
      name: "insert a deferred run with a key",
      statement: "insert_limited_keyed_runs",
      prepare: async (store) => {
        await store.runs.groupIds([early.group]);
        return () => store.runs.insert([{ ...early, deferred }]);
      },
    },
    {
      name: "setAttributes",
      statement: "set_run_attributes",
      prepare: async (store) => {
        await store.runs.insert([{ ...marked, attributes: { region: "eu", cents: 1 } }]);
        return () => store.runs.setAttributes({ runId: marked.id, attributes: { region: null, cents: 2 } });
      },
    },
    {
      name: "kept.put",
      statement: "put_kept_values",
      prepare: async (store) => {
        const [a, b] = ["a", "b"].map((key) => ({ env: "test", space: "s", key, ttlMs: null }));
        const value = { codec: "json", data: "1" };
        await store.kept.put([{ ...a!, value }]);
        return () =>
          store.kept.put([
            { ...a!, value: null },
            { ...b!, value },
          ]);
      },
    },
    {
      name: "takeOutput",
      statement: "take_output_key",
      prepare: async (store) => () =>
        store.runs.takeOutput({ env: "test", key: marked.id, runId: marked.id, call: "c", keepMs: 60_000 }),
    },
    {
      name: "expireDeferred",
      statement: "expire_deferred",
      answersWhatItDid: true,
      prepare: async (store) => {
        await store.runs.insert([{ ...late, deferred }]);
        return () => store.runs.expireDeferred({ env: "test", limit: 10 });
      },
    },
  ];
}

function nodeOperations(): Operation[] {
  const node = { incarnation: randomUUID(), identity: "i", name: "n", env: "test", stack: null, build: null };
  const options = { keep: true, by: "me" };
  const withdrawn = { incarnation: node.incarnation, env: "test", subscriptions: [], starting: false };
  return [
    {
      name: "nodes.changeMode",
      statement: "change_mode",
      prepare: async (store) => {
        await store.nodes.register(node);
        return () => store.nodes.changeMode(node.incarnation, { override: "p", mode: "disabled" }, options);
      },
    },
    {
      name: "nodes.claimsFrom",
      statement: "claims_from",
      prepare: async (store) => {
        await store.nodes.register(node);
        return () => store.nodes.claimsFrom(node.incarnation, [1]);
      },
    },
    {
      name: "declare",
      statement: "declare_programs",
      prepare: async (store) => {
        const group = { env: "test", stack: null, queue: "p", program: "p", version: null };
        await store.nodes.register({ ...node, serves: await store.runs.groupIds([group]) });
        return () => store.runs.declare(node.incarnation, [{ group, limits: [], recovery: "fail" }]);
      },
    },
    {
      name: "subscribe, at the withdrawal",
      statement: "withdraw_subscriptions",
      prepare: async (store) => () => store.events.subscribe({ ...withdrawn, withdrawn: ["p on x"] }),
    },
  ];
}
