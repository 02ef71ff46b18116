// Recovery policies: an orphan is handled as its program says, or as a caller decides; only one acts on each.

import type { Recovery } from "../../../kernel/run/recovery.js";
import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { append, handBack, LONG_MS, PAST_MS, payload, type Scene, SHORT_MS, take } from "../scene.js";

/** A run whose holder has written one step and died. */
async function orphan(s: Scene, options: Parameters<Scene["start"]>[0] = {}): Promise<ClaimedRun> {
  const claim = await s.start(options, { leaseMs: SHORT_MS });
  await s.accept(claim, [append("first", 1)]);
  await s.advance(PAST_MS);
  return claim;
}

const declared = (s: Scene, recovery: Recovery) => s.declare([{ group: s.group(), limits: [], recovery }]);

async function sweep(s: Scene, runId: string) {
  const swept = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
  return swept.find((one) => one.runId === runId);
}

const decide = (s: Scene, { runId, epoch }: ClaimedRun, policy: Recovery, staleMs = 0) =>
  s.store.runs.recover([{ runId, epoch, policy }], { staleMs });

export const recoveryCases = cases("recovery", {
  "resume: an orphan continues, with a record of its holder and of how often it was reclaimed": async (s) => {
    await declared(s, "resume");
    const { runId } = await orphan(s);
    matches(await sweep(s, runId), { outcome: "waiting", previousOwner: s.owner }, "swept");
    matches(await s.run(runId), { state: "waiting", recoveries: 1, recoveredFrom: s.owner, generation: 0 }, "record");
    same(await s.log(runId), ["start", "step"], "log");
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await sweep(s, runId);
    matches(await s.run(runId), { recoveries: 2 }, "record after the second time");
  },

  "restart: an orphan starts over with the same input, as the next generation": async (s) => {
    await declared(s, "restart");
    const { runId } = await orphan(s, { input: payload("the input") });
    matches(await sweep(s, runId), { outcome: "restarted", crashes: 1 }, "swept");
    matches(await s.run(runId), { state: "waiting", generation: 1, baseSeq: 2, seq: 3, recoveries: 1 }, "record");
    same(await s.log(runId), ["start"], "log");
    matches(await s.claimOne(), { runId, generation: 1, baseSeq: 2, input: payload("the input") }, "claim");
  },

  "restart: its messages are unread again": async (s) => {
    await declared(s, "restart");
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    const message = s.message(claim.runId);
    await s.store.inbox.send([message]);
    await s.accept(claim, [take(message.key)]);
    same(await s.unreadKeys(claim.runId), [], "unread before");
    await s.advance(PAST_MS);
    await sweep(s, claim.runId);
    same(await s.unreadKeys(claim.runId), [message.key], "unread after");
    matches(await s.claimOne(), { hasMessages: true }, "claim");
  },

  "fail: an orphan is failed, with the reason as its last entry": async (s) => {
    await declared(s, "fail");
    const { runId } = await orphan(s, { crashLimit: 1 });
    matches(await sweep(s, runId), { outcome: "failed", previousOwner: s.owner }, "swept");
    matches(await s.run(runId), { state: "failed", owner: null, seq: 3, recoveries: 1 }, "record");
    const { entries } = some(await s.store.journal.read(runId, { after: 2 }), "journal");
    const [entry] = entries;
    same([entry?.kind, entry?.epoch], ["failed", 0], "entry");
    const reason = JSON.parse(some(entry?.payload, "payload").data) as { code: string; details: object };
    same([reason.code, reason.details], ["ORPHANED", { previousOwner: s.owner }], "reason");
  },

  "fail: the parent of an orphan is notified": async (s) => {
    await s.declare([{ group: s.group({ program: "child" }), limits: [], recovery: "fail" }]);
    const parent = await s.start();
    const child = await s.insert({ parentId: parent.runId, group: { program: "child" } });
    const groupIds = await s.store.runs.groupIds([s.group({ program: "child" })]);
    await s.claimOne({ groupIds, leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await sweep(s, child.id);
    same(await s.unreadKeys(parent.runId), [`child:${child.id}`], "unread");
  },

  "a released run is not an orphan, whatever its policy": async (s) => {
    await declared(s, "fail");
    const claim = await s.start({}, { leaseMs: SHORT_MS });
    await s.accept(claim, [handBack]);
    await s.advance(PAST_MS);
    same(await sweep(s, claim.runId), undefined, "swept");
    matches(await s.run(claim.runId), { state: "waiting", recoveries: 0, recoveredFrom: null }, "record");
  },

  "the attempts of a restarted run are capped as well (S17)": async (s) => {
    await declared(s, "restart");
    const { id } = await s.insert({ crashLimit: 2 });
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    matches(await sweep(s, id), { outcome: "restarted", crashes: 1 }, "first");
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    matches(await sweep(s, id), { outcome: "dead", crashes: 2 }, "second");
  },

  "and also when it makes progress each time before it crashes": async (s) => {
    await declared(s, "restart");
    const { id } = await s.insert({ crashLimit: 3 });
    const crash = async () => {
      const claim = await s.claimOne({ leaseMs: SHORT_MS });
      await s.accept(claim, [append("first", 1)]);
      await s.advance(PAST_MS);
      return sweep(s, id);
    };
    matches(await crash(), { outcome: "restarted" }, "first");
    matches(await crash(), { outcome: "restarted" }, "second");
    matches(await crash(), { outcome: "dead" }, "third");
    await s.store.runs.retry([id], { fromStart: false, by: "ann", callId: s.token() });
    matches(await crash(), { outcome: "restarted" }, "retried, it may crash as often as before");
  },

  "a run that gathers events has not begun: it is resumed, whatever its policy": async (s) => {
    await declared(s, "fail");
    const { key: _, ...run } = s.newRun();
    await s.store.events.debounce([{ run, ticket: { subscription: "s", subject: "a", windowMs: 0 } }]);
    await s.advance(1);
    await s.claimOne({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    matches(await sweep(s, run.id), { outcome: "waiting" }, "swept");
  },

  "orphans are listed within their scope, with what their program declared": async (s) => {
    await declared(s, "fail");
    const claim = await orphan(s);
    const mine = { env: s.env, staleMs: 0, limit: 10 };
    const [found, ...more] = await s.store.runs.orphans(mine);
    const { expiredForMs, ...rest } = some(found, "orphan");
    holds(expiredForMs >= 0, "how long its lease has been over");
    same(more, [], "others");
    const facts = { runId: claim.runId, group: s.group(), owner: s.owner, epoch: 1, crashes: 0, crashLimit: 5 };
    same(rest, { ...facts, recovery: "fail" }, "orphan");
    same(await s.store.runs.orphans({ ...mine, env: "another-env" }), [], "of another env");
    same(await s.store.runs.orphans({ ...mine, staleMs: LONG_MS }), [], "over for longer");
    same(await s.store.runs.orphans({ ...mine, after: claim.runId }), [], "after it");
    same((await s.store.runs.orphans({ ...mine, stack: "blue" })).length, 1, "a stack also has what belongs to none");
  },

  "an orphan of a stack is no other stack's, and its policy is unknown until a node declares it": async (s) => {
    const group = { stack: "blue" };
    await s.insert({ group });
    await s.claimOne({ groupIds: await s.store.runs.groupIds([s.group(group)]), leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const mine = { env: s.env, staleMs: 0, limit: 10 };
    same(await s.store.runs.orphans({ ...mine, stack: "green" }), [], "of another stack");
    matches((await s.store.runs.orphans({ ...mine, stack: "blue" }))[0], { recovery: null }, "of its own");
    same((await s.store.runs.orphans(mine)).length, 1, "of all");
  },

  "a decision counts for the claim that was seen, and only while its lease has expired": async (s) => {
    const claim = await orphan(s);
    same(await decide(s, claim, "fail", LONG_MS), [], "not expired for that long");
    same(await decide(s, { ...claim, epoch: 7 }, "fail"), [], "another claim");
    matches((await decide(s, claim, "resume"))[0], { runId: claim.runId, outcome: "waiting" }, "decided");
    const next = await s.claimOne();
    same(await decide(s, claim, "fail"), [], "decided on an old list");
    same(await decide(s, next, "fail"), [], "a live claim");
    matches(await s.run(claim.runId), { state: "running", epoch: 2 }, "record");
  },

  "of many who decide on one orphan, one acts": async (s) => {
    const claim = await orphan(s);
    const answers = await Promise.all([1, 2, 3, 4].map(() => decide(s, claim, "restart")));
    same(answers.flat().length, 1, "acted");
    matches(await s.run(claim.runId), { generation: 1, recoveries: 1 }, "record");
  },

  "each is reclaimed as decided": async (s) => {
    await s.store.runs.insert([s.newRun(), s.newRun(), s.newRun()]);
    await s.advance(1);
    const claims = await s.claim({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const policies = ["resume", "restart", "fail"] as const;
    const decisions = claims.map(({ runId, epoch }, i) => ({ runId, epoch, policy: policies[i]! }));
    const reclaimed = await s.store.runs.recover(decisions, { staleMs: 0 });
    const outcomes = new Map(reclaimed.map(({ runId, outcome }) => [runId, outcome]));
    same(
      claims.map(({ runId }) => outcomes.get(runId)),
      ["waiting", "restarted", "failed"],
      "outcomes",
    );
  },
});
