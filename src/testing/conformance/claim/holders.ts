// The holders of a run, claim by claim: those that released it, those it was reclaimed from, and by whom.

import { claimToken } from "../../../kernel/run/claim.js";
import type { ClaimRecord } from "../../../store/contract/claim/claims.js";
import { cases } from "../case.js";
import { holds, same } from "../expect.js";
import { append, complete, handBack, LONG_MS, PAST_MS, type Scene, SHORT_MS } from "../scene.js";

async function register(s: Scene, name: string) {
  const incarnation = s.token();
  const identity = `host-${name}`;
  await s.store.nodes.register({
    incarnation,
    identity,
    name,
    env: s.env,
    stack: null,
    build: null,
    leaseMs: SHORT_MS,
  });
  return { incarnation, identity, name };
}

const claimBy = (s: Scene, owner: string, leaseMs = LONG_MS) =>
  s.claimOne({ owner, token: claimToken(s.token(), owner), leaseMs });

/** Without the times, which differ. */
const told = (claims: readonly ClaimRecord[]) =>
  claims.map(({ epoch, holder, reclaimed }) => ({
    epoch,
    holder,
    reclaimed: reclaimed && { by: reclaimed.by, outcome: reclaimed.outcome },
  }));

export const holderCases = cases("holders", {
  "each claim has its holder; a reclaimed one also when, from whom and by which node": async (s) => {
    const [ann, bob] = [await register(s, "ann"), await register(s, "bob")];
    const { id } = await s.insert();
    same(await s.store.runs.claims(id, { limit: 10 }), [], "before the first");
    await s.accept(await claimBy(s, ann.incarnation), [append("a"), handBack]);
    await claimBy(s, bob.incarnation, SHORT_MS);
    await s.advance(PAST_MS);
    await s.store.reclaim({ ...s.witness(ann.incarnation), limit: 1000 });
    const stranger = s.token();
    await claimBy(s, stranger, SHORT_MS);
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const last = await claimBy(s, bob.incarnation);
    const claims = await s.store.runs.claims(id, { limit: 10 });
    const unknown = { incarnation: stranger, identity: null, name: null };
    const all = [
      { epoch: 1, holder: ann, reclaimed: null },
      { epoch: 2, holder: bob, reclaimed: { by: ann, outcome: "waiting" } },
      { epoch: 3, holder: unknown, reclaimed: { by: null, outcome: "waiting" } },
      { epoch: 4, holder: bob, reclaimed: null },
    ];
    same(told(claims), all, "claims");
    holds(claims[1]!.reclaimed!.at < claims[2]!.reclaimed!.at, "one after the other");
    same(told(await s.store.runs.claims(id, { limit: 2 })), all.slice(2), "the last two");
    await s.accept(last, [complete]);
    same(told(await s.store.runs.claims(id, { limit: 10 })), all, "ended");
    same((await s.run(id)).recoveries, 2, "recoveries");
    await s.advance(1);
    await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 });
    same(await s.store.runs.claims(id, { limit: 10 }), [], "pruned with its run");
    same(await s.store.runs.claims("unknown", { limit: 10 }), [], "unknown");
  },

  "a commit that comes after its claim was reclaimed is counted there, and no other": async (s) => {
    const ann = await register(s, "ann");
    const { id } = await s.insert();
    const late = await claimBy(s, ann.incarnation, SHORT_MS);
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const refused = async () => (await s.store.runs.claims(id, { limit: 10 })).map((one) => one.reclaimed?.refused);
    same(await refused(), [0], "before it writes");
    const [answer] = await s.store.runs.commit([{ claim: late, expectedSeq: late.seq, effects: [append("late")] }]);
    same(answer, { outcome: "lost" }, "the late write");
    same(await refused(), [1], "refused");
    const held = await claimBy(s, ann.incarnation);
    await s.accept(held, [append("a")]);
    const again = { claim: held, expectedSeq: held.seq, effects: [append("a")] };
    same((await s.store.runs.commit([again]))[0]!.outcome, "recorded", "a repeated commit");
    same(await refused(), [1, undefined], "unchanged");
  },

  "a claim that an operator or a start reclaims is recorded with its outcome": async (s) => {
    const lone = { identity: "lone", name: "lone", env: s.env, stack: null, build: null, alone: true };
    const times = { heartbeatMs: SHORT_MS, leaseMs: SHORT_MS };
    const first = s.token();
    await s.store.nodes.register({ incarnation: first, ...lone, ...times });
    const { id } = await s.insert();
    await claimBy(s, first);
    await s.advance(5 * PAST_MS);
    const second = s.token();
    await s.store.nodes.register({ incarnation: second, ...lone, ...times });
    const { epoch } = await claimBy(s, second, SHORT_MS);
    await s.advance(PAST_MS);
    await s.store.runs.recover([{ runId: id, epoch, policy: "fail" }], { staleMs: 0 });
    const holder = { identity: "lone", name: "lone" };
    const [byStart, byHand] = [
      { by: { incarnation: second, ...holder }, outcome: "waiting" },
      { by: null, outcome: "failed" },
    ];
    same(
      told(await s.store.runs.claims(id, { limit: 10 })),
      [
        { epoch: 1, holder: { incarnation: first, ...holder }, reclaimed: byStart },
        { epoch: 2, holder: { incarnation: second, ...holder }, reclaimed: byHand },
      ],
      "claims",
    );
  },
});
