// Presence: a vanished node is gone after its own grace period, and no node is gone that showed a sign of life (S5). A
// pooler has no presence.

import type { Attendance } from "../../../store/contract/node/attend.js";
import type { Witness } from "../../../store/contract/node/house.js";
import type { NodeRegistration } from "../../../store/contract/node/nodes.js";
import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { holds, matches, same } from "../expect.js";
import { LONG_MS, type Scene } from "../scene.js";

/** Long enough that nothing happens to be over on a busy machine. */
const GRACE_MS = 400;
const PAST_GRACE_MS = GRACE_MS + 50;
/** What a server takes to notice that a session has ended. */
const NOTICED_MS = 50;

interface Holder {
  readonly node: NodeRegistration;
  readonly claim: ClaimedRun;
  readonly attendance: Attendance;
}

async function register(s: Scene, options: Partial<NodeRegistration> = {}): Promise<NodeRegistration> {
  const who = { incarnation: s.token(), identity: s.token(), name: "one", env: s.env, stack: null, build: null };
  const judged = { heartbeatMs: 10, leaseMs: LONG_MS, presenceGraceMs: GRACE_MS };
  const node = { ...who, ...judged, ...options };
  await s.store.nodes.register(node);
  return node;
}

/** A node that attends and holds a run whose lease is far from over. Null: this store sees no presence. */
async function open(s: Scene, options: Partial<NodeRegistration> = {}): Promise<Holder | null> {
  const node = await register(s, options);
  const attendance = await s.store.attend({ incarnation: node.incarnation, onWake: () => {} });
  const claim = await s.start({}, { owner: node.incarnation, leaseMs: LONG_MS });
  if (attendance.seen) return { node, claim, attendance };
  await attendance.leave();
  return null;
}

/** Without a word. */
async function vanish(s: Scene, { attendance }: Holder): Promise<void> {
  await attendance.leave();
  await s.advance(NOTICED_MS);
}

async function taken(s: Scene, witness: Partial<Witness> = {}): Promise<readonly string[]> {
  const round = { ...s.witness(), ...witness, limit: 1000 };
  return (await s.store.reclaim(round)).map(({ runId }) => runId);
}

export const presenceCases = cases("presence", {
  "a vanished node is gone after its grace period, and its claims are reclaimed": async (s) => {
    const holder = await open(s);
    if (!holder) return;
    same((await s.store.housekeep(s.witness(holder.node.incarnation))).present, true, "present");
    await s.advance(PAST_GRACE_MS);
    same(await taken(s), [], "while it is there, however quiet");
    await vanish(s, holder);
    const { nextWakeMs, orphans } = await s.store.housekeep(s.witness());
    same(orphans, false, "orphans, before its grace period has passed");
    holds(nextWakeMs !== null && nextWakeMs <= GRACE_MS, "when it is gone is the next deadline");
    await s.advance(PAST_GRACE_MS);
    same((await s.store.housekeep(s.witness())).orphans, true, "orphans");
    same(await taken(s), [holder.claim.runId], "taken");
    matches(await s.run(holder.claim.runId), { state: "waiting", owner: null }, "record");
  },

  "a round names the nodes that are gone, until a minute after their last sign of life": async (s) => {
    const holder = await open(s);
    if (!holder) return;
    const { incarnation } = holder.node;
    same((await s.store.housekeep(s.witness())).gone, [], "while it is there");
    await vanish(s, holder);
    await s.store.housekeep(s.witness());
    await s.advance(PAST_GRACE_MS);
    same((await s.store.housekeep(s.witness())).gone, [incarnation], "gone");
  },

  "of the live nodes that claim from a group the one with the lowest incarnation is the first": async (s) => {
    const [groupId] = await s.store.runs.groupIds([s.group({ queue: "m", program: "m" })]);
    const lower = await register(s, { incarnation: `00${s.token().slice(2)}` });
    const higher = await register(s, { incarnation: `ff${s.token().slice(2)}` });
    const firstOf = async ({ incarnation }: NodeRegistration) =>
      (await s.store.housekeep({ ...s.witness(incarnation), timerGroups: [groupId!] })).first;
    same(await firstOf(higher), [groupId], "while no node claims from it");
    for (const { incarnation } of [lower, higher]) await s.store.nodes.claimsFrom(incarnation, [groupId!]);
    same([await firstOf(lower), await firstOf(higher)], [[groupId], []], "the lower one");
    await s.store.nodes.stop(lower.incarnation);
    same(await firstOf(higher), [groupId], "when the other has stopped");
    same((await s.store.housekeep(s.witness(higher.incarnation))).first, [], "of no groups");
  },

  "a node with a sign of life is not gone, whatever its presence says": async (s) => {
    const holder = await open(s);
    if (!holder) return;
    const { incarnation } = holder.node;
    await vanish(s, holder);
    await s.store.housekeep(s.witness());
    await s.advance(PAST_GRACE_MS);
    await s.store.nodes.heartbeat(incarnation);
    same(await taken(s), [], "after a heartbeat");
    await s.advance(PAST_GRACE_MS);
    same((await s.store.housekeep(s.witness(incarnation))).present, false, "present");
    same(await taken(s), [], "after a round of its own");
    await s.advance(PAST_GRACE_MS);
    same((await s.store.runs.renew([holder.claim], LONG_MS))[0]?.outcome, "held", "renewed");
    same(await taken(s), [], "after a renewal");
    await s.advance(PAST_GRACE_MS);
    const { runId } = await s.start({}, { owner: incarnation, leaseMs: LONG_MS });
    same(await taken(s), [], "after a claim");
    await s.advance(PAST_GRACE_MS);
    same([...(await taken(s))].sort(), [holder.claim.runId, runId].sort(), "silent");
  },

  "a node is judged by its own settings, and by nodes of its own env only": async (s) => {
    const patient = await open(s, { presenceGraceMs: LONG_MS });
    const slow = await open(s, { heartbeatMs: LONG_MS });
    const quick = await open(s);
    if (!patient || !slow || !quick) return;
    for (const holder of [patient, slow, quick]) await holder.attendance.leave();
    await s.advance(NOTICED_MS);
    await register(s, { presenceGraceMs: 0 });
    await s.store.housekeep(s.witness());
    await s.advance(3 * PAST_GRACE_MS);
    same(await taken(s, { env: `${s.env}-2` }), [], "by another env");
    same(await taken(s), [quick.claim.runId], "taken");
  },

  "a witness must have watched for a node's grace; after trouble of its own, for three times as long": async (s) => {
    const holder = await open(s);
    if (!holder) return;
    await vanish(s, holder);
    await s.store.housekeep(s.witness());
    await s.advance(PAST_GRACE_MS);
    same(await taken(s, { watchedMs: GRACE_MS - 1 }), [], "has not watched");
    const round = { ...s.witness(), watchedMs: GRACE_MS, troubled: true };
    same(await taken(s, round), [], "was in trouble itself");
    const { nextWakeMs } = await s.store.housekeep(round);
    holds(nextWakeMs !== null && nextWakeMs > GRACE_MS, "it has to watch on");
    await s.advance(2 * PAST_GRACE_MS + GRACE_MS);
    same(await taken(s, { ...round, watchedMs: 3 * PAST_GRACE_MS }), [holder.claim.runId], "later");
  },

  "of many that vanish at once none is gone before three grace periods have passed": async (s) => {
    const holders = [await open(s, { heartbeatMs: 150 }), await open(s, { heartbeatMs: 150 })];
    // Alive until then: nodes that died long ago are no evidence.
    for (const holder of holders) if (holder) await s.store.nodes.heartbeat(holder.node.incarnation);
    for (const holder of holders) await holder?.attendance.leave();
    if (!holders[0]) return;
    await s.advance(NOTICED_MS);
    await s.store.housekeep(s.witness());
    await s.advance(PAST_GRACE_MS);
    same(await taken(s), [], "after one");
    await s.advance(2 * PAST_GRACE_MS);
    same((await taken(s)).length, 2, "after three");
  },

  "a registration notes who is missing; one that is back is not missing any more": async (s) => {
    const holder = await open(s);
    if (!holder) return;
    const { incarnation } = holder.node;
    await vanish(s, holder);
    await register(s);
    await s.advance(PAST_GRACE_MS);
    const back = await s.store.attend({ incarnation, onWake: () => {} });
    same(await taken(s), [], "back");
    await back.leave();
    await s.advance(NOTICED_MS);
    await register(s);
    same(await taken(s), [], "gone for a moment only");
    await s.advance(PAST_GRACE_MS);
    same(await taken(s), [holder.claim.runId], "noted by the registration");
  },

  "a start under the identity of a vanished node reclaims its runs at once, unless there was a sign of life since":
    async (s) => {
      const holder = await open(s);
      if (!holder) return;
      const { incarnation, identity } = holder.node;
      await vanish(s, holder);
      await s.store.housekeep(s.witness(incarnation));
      await s.advance(2);
      await s.store.nodes.heartbeat(incarnation);
      await register(s, { identity });
      matches(await s.run(holder.claim.runId), { state: "running", owner: incarnation }, "sign of life");
      const next = await open(s, { presenceGraceMs: LONG_MS });
      await vanish(s, next!);
      await register(s, { identity: next!.node.identity });
      matches(await s.run(next!.claim.runId), { state: "waiting" }, "reclaimed");
    },

  "one that leaves orphans to others ends the claims of its identity's last life, and takes nothing back": async (
    s,
  ) => {
    const holder = await open(s, { presenceGraceMs: LONG_MS });
    if (!holder) return;
    const { runId, epoch } = holder.claim;
    await vanish(s, holder);
    const { identity, incarnation: owner } = holder.node;
    const last = { incarnation: s.token(), identity, name: "two", env: s.env, stack: null, build: null };
    matches(await s.store.nodes.register({ ...last, reclaims: false }), { reclaimed: [] }, "answer");
    matches(await s.run(runId), { state: "running", owner, epoch }, "record");
    const orphans = await s.store.runs.orphans({ env: s.env, staleMs: 0, limit: 10 });
    same(
      orphans.map((orphan) => orphan.runId),
      [runId],
      "orphans",
    );
  },

  "an expired lease counts only for a witness that has watched for some heartbeats of the holder": async (s) => {
    const node = await register(s, { heartbeatMs: 1_000 });
    const claim = await s.start({}, { owner: node.incarnation, leaseMs: 1 });
    await s.advance(5);
    same(await taken(s, { watchedMs: 3_400 }), [], "not for long enough");
    same(await taken(s, { env: `${s.env}-2` }), [], "of another env");
    same((await s.store.housekeep({ ...s.witness(), watchedMs: 3_400 })).orphans, false, "orphans");
    same(await taken(s, { watchedMs: 3_500 }), [claim.runId], "long enough");
  },
});
