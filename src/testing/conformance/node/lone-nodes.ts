// A solitary node: no other node starts while it lives, and its successor reclaims what it held.

import type { NodeRegistration, RegisterAnswer } from "../../../store/contract/node/nodes.js";
import { cases } from "../case.js";
import { matches, same } from "../expect.js";
import { complete, LONG_MS, type Scene } from "../scene.js";

/** Dead after three of these, or after the lease that it would have renewed. */
const HEARTBEAT_MS = 100;
const SILENT_MS = 3 * HEARTBEAT_MS + 20;

async function register(
  s: Scene,
  options: Partial<NodeRegistration> = {},
): Promise<{ readonly node: NodeRegistration; readonly answer: RegisterAnswer }> {
  const who = { incarnation: s.token(), identity: "host-1", name: "one", env: s.env, stack: null, build: null };
  const node = { ...who, heartbeatMs: HEARTBEAT_MS, leaseMs: HEARTBEAT_MS, ...options };
  return { node, answer: await s.store.nodes.register(node) };
}

const REGISTERED = { outcome: "registered", mode: { mode: "full", overrides: {}, drain: null }, reclaimed: [] };

export const loneNodeCases = cases("lone nodes", {
  "no node is registered next to a solitary one, and it is not next to others": async (s) => {
    const { node, answer } = await register(s, { alone: true });
    same(answer, REGISTERED, "the first");
    const { incarnation, identity, name } = node;
    const by = { incarnation, identity, name, alone: true };
    same((await register(s, { alone: true, identity: "b" })).answer, { outcome: "refused", by }, "another alone");
    same((await register(s, { identity: "b" })).answer, { outcome: "refused", by }, "an ordinary one");
    same((await register(s)).answer, { outcome: "refused", by }, "one of the same identity");
    same((await register(s, { alone: true, stack: "blue" })).answer, REGISTERED, "in another stack");
    same((await register(s, { alone: true, env: `${s.env}-2` })).answer, REGISTERED, "in another env");
    const nodes = await s.store.nodes.list({ env: s.env });
    same(new Set(nodes.map(({ alone, stack }) => `${stack} ${alone}`)), new Set(["null true", "blue true"]), "listed");
  },

  "one that asks to be alone is refused while an ordinary one lives": async (s) => {
    const { node } = await register(s, { identity: "a", name: "Ann" });
    const { answer } = await register(s, { alone: true });
    const by = { incarnation: node.incarnation, identity: "a", name: "Ann", alone: false };
    same(answer, { outcome: "refused", by }, "answer");
    await s.store.nodes.stop(node.incarnation);
    same((await register(s, { alone: true })).answer, REGISTERED, "when it has stopped");
  },

  "registering again finds its own effect; a stopped node is refused (F41)": async (s) => {
    const { node } = await register(s, { alone: true });
    same(await s.store.nodes.register(node), REGISTERED, "again");
    await s.store.nodes.stop(node.incarnation);
    same(await s.store.nodes.register(node), { outcome: "stopped" }, "after its stop");
  },

  "the successor of a silent solitary node reclaims what it held, at once": async (s) => {
    const { node } = await register(s, { alone: true });
    const { incarnation: owner } = node;
    const claim = await s.start({}, { owner, leaseMs: LONG_MS });
    await s.advance(SILENT_MS);
    const { answer } = await register(s, { alone: true });
    const { runId } = claim;
    const previous = { previousOwner: owner, previousIdentity: "host-1", previousName: "one" };
    matches(answer, { outcome: "registered" }, "answer");
    matches(
      (answer as { reclaimed: readonly object[] }).reclaimed[0]!,
      { runId, outcome: "waiting", ...previous },
      "reclaimed",
    );
    matches(await s.run(runId), { state: "waiting", owner: null, epoch: 1 }, "record");
    same((await s.commit(claim, [complete])).outcome, "lost", "its late write");
    same(await s.store.nodes.heartbeat(owner), false, "its next heartbeat");
    same(await s.store.nodes.register(node), { outcome: "stopped" }, "its registration");
  },

  "an ordinary node that follows a solitary one also reclaims its runs, and no others": async (s) => {
    const lone = await register(s, { alone: true });
    const mine = await s.start({}, { owner: lone.node.incarnation, leaseMs: LONG_MS });
    const other = await s.start({}, { owner: s.token(), leaseMs: LONG_MS });
    await s.advance(SILENT_MS);
    const { answer } = await register(s, { identity: "b" });
    matches(answer, { outcome: "registered" }, "answer");
    matches(await s.run(mine.runId), { state: "waiting" }, "the lone node's run");
    matches(await s.run(other.runId), { state: "running" }, "another node's");
  },

  "a start under the identity of a node that may live takes nothing (F12)": async (s) => {
    const { node } = await register(s);
    const claim = await s.start({}, { owner: node.incarnation, leaseMs: LONG_MS });
    same((await register(s)).answer, REGISTERED, "a twin");
    matches(await s.run(claim.runId), { state: "running", owner: node.incarnation }, "record");
  },

  "claims of a solitary node that is silent for longer than its lease are reclaimed by housekeeping": async (s) => {
    const { node } = await register(s, { alone: true, leaseMs: 2 * SILENT_MS });
    const claim = await s.start({}, { owner: node.incarnation, leaseMs: LONG_MS });
    const round = { ...s.witness(), limit: 100 };
    await s.advance(SILENT_MS);
    await s.store.reclaim(round);
    matches(await s.run(claim.runId), { state: "running" }, "while it may come back");
    await s.advance(SILENT_MS + 50);
    await s.store.reclaim({ ...round, watchedMs: 0 });
    matches(await s.run(claim.runId), { state: "running" }, "by one that has not watched for long enough");
    await s.store.reclaim({ ...round, env: `${s.env}-2` });
    matches(await s.run(claim.runId), { state: "running" }, "by one of another env");
    await s.store.reclaim(round);
    matches(await s.run(claim.runId), { state: "waiting" }, "later");
  },

  "housekeeping tells a solitary node which of its runs have messages": async (s) => {
    const { node } = await register(s, { alone: true });
    const { incarnation } = node;
    const claim = await s.start({}, { owner: incarnation, leaseMs: LONG_MS });
    await s.start({}, { owner: incarnation, leaseMs: LONG_MS });
    const round = s.witness(incarnation);
    same((await s.store.housekeep({ ...round, alone: true })).called, [], "before");
    await s.store.inbox.send([s.message(claim.runId)]);
    const { inboxSeq } = await s.run(claim.runId);
    same((await s.store.housekeep({ ...round, alone: true })).called, [{ runId: claim.runId, inboxSeq }], "called");
    same((await s.store.housekeep(round)).called, [], "one that renews");
  },
});
