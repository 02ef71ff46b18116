// Misfits: a run whose journal does not fit the holder's code is left to nodes of other builds, and is quarantined
// while no live node is left to try.

import { omit } from "../../../kernel/omit.js";
import { claimToken } from "../../../kernel/run/claim.js";
import type { Effect } from "../../../kernel/run/effect.js";
import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { append, complete, fail, LONG_MS, park, payload, type Scene, SHORT_MS } from "../scene.js";

const misfit = (build: string): Effect => ({ kind: "misfit", build, reason: payload({ message: "unfit" }) });

interface Node {
  readonly owner: string;
  readonly build: string;
}

/** A live node that claims from the scene's group. */
async function node(s: Scene, build: string, options: { readonly heartbeatMs?: number } = {}): Promise<Node> {
  const owner = s.token();
  const serves = await s.store.runs.groupIds([s.group()]);
  const who = { incarnation: owner, identity: owner, name: build, env: s.env, stack: null, build };
  const { heartbeatMs = LONG_MS } = options;
  same((await s.store.nodes.register({ ...who, serves, heartbeatMs })).outcome, "registered", "node");
  return { owner, build };
}

const claimAs = (s: Scene, { owner, build }: Node) => s.claim({ owner, build, token: claimToken(s.token(), owner) });

async function claimOneAs(s: Scene, node: Node): Promise<ClaimedRun> {
  const claims = await claimAs(s, node);
  same(claims.length, 1, `claimable by ${node.build}`);
  return claims[0]!;
}

const review = (s: Scene, newcomer?: Node) =>
  s.store.runs.reviewMisfits({ env: s.env, limit: 100, ...(newcomer && { newcomer: newcomer.owner }) });

/** Written by one node, released by the other, whose code does not fit. */
async function unfit(s: Scene, writer: Node, other: Node): Promise<string> {
  const { id } = await s.insert();
  await s.accept(await claimOneAs(s, writer), [append("a"), { kind: "handBack" }]);
  await s.accept(await claimOneAs(s, other), [misfit(other.build)]);
  return id;
}

export const misfitCases = cases("misfits", {
  "a run that does not fit is released uncounted, and claimed by nodes of other builds only": async (s) => {
    const [one, two, second] = [await node(s, "v1"), await node(s, "v2"), await node(s, "v1")];
    const runId = await unfit(s, two, one);
    const run = await s.run(runId);
    matches(run, { state: "waiting", crashes: 0, failures: 0, endedAt: null, owner: null }, "record");
    same(run.misfit, { builds: ["v1"], wanted: "v2" }, "misfit");
    same((await s.log(runId)).at(-1), "misfit", "the last entry");
    same(await claimAs(s, one), [], "claimed by the node that gave it back");
    same(await claimAs(s, second), [], "claimed by another of its build");
    const claim = await claimOneAs(s, two);
    same(claim.crashes, 1, "crashes");
    await s.accept(claim, [complete]);
    same((await s.run(runId)).state, "completed", "state");
  },

  "its crashes are what they were": async (s) => {
    const [one, two] = [await node(s, "v1"), await node(s, "v2")];
    await s.insert();
    await s.claim({ owner: two.owner, leaseMs: SHORT_MS });
    await s.advance(2 * SHORT_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const claim = await claimOneAs(s, one);
    same(claim.crashes, 2, "before");
    await s.accept(claim, [misfit("v1")]);
    same((await s.run(claim.runId)).crashes, 1, "after");
  },

  "the same commit repeated finds itself, and the build is listed once": async (s) => {
    const one = await node(s, "v1");
    await node(s, "v2");
    await s.insert();
    const claim = await claimOneAs(s, one);
    await s.accept(claim, [misfit("v1")]);
    same(await s.commit(claim, [misfit("v1")]), { outcome: "recorded", seq: claim.seq + 1 }, "repeat");
    same(await s.commit(claim, [misfit("v3")]), { outcome: "lost" }, "another one");
    same((await s.run(claim.runId)).misfit?.builds, ["v1"], "builds");
  },

  "the builds that were tried stay while it parks and wakes, and are forgotten with the generation": async (s) => {
    const [one, two] = [await node(s, "v1"), await node(s, "v2")];
    const runId = await unfit(s, two, one);
    await s.accept(await claimOneAs(s, two), [append("b"), park({ wakeInMs: 0 })]);
    await s.store.runs.wakeParked({ limit: 1000 });
    // Runs that wake together become available one microsecond apart.
    await s.advance(1);
    same(await claimAs(s, one), [], "claimed after it was woken");
    await s.accept(await claimOneAs(s, two), [{ kind: "continue", input: payload(1), reopen: [] }]);
    same((await s.run(runId)).misfit, null, "misfit");
    same((await claimOneAs(s, one)).runId, runId, "claimed in the next generation");
  },

  "while every live node of the group has tried, it is quarantined: not ended, its key and its inbox are kept": async (
    s,
  ) => {
    const one = await node(s, "v1");
    const { id } = await s.insert({ key: s.newKey() });
    const before = s.message(id);
    await s.store.inbox.send([before]);
    await s.accept(await claimOneAs(s, one), [misfit("v1")]);
    const run = await s.run(id);
    matches(run, { state: "quarantined", crashes: 0 }, "record");
    holds(run.endedAt !== null, "when it was quarantined");
    const after = s.message(id);
    same(await s.store.inbox.send([after]), [{ outcome: "accepted" }], "a message");
    same(await s.unreadKeys(id), [before.key, after.key], "unread");
    const again = await s.store.runs.insert([s.newRun({ key: s.newKey() })]);
    same(again, [{ outcome: "existing", runId: id }], "the same key");
    same(await s.store.runs.archive({ env: s.env, endedBeforeMs: 0, limit: 10 }), 0, "archived");
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 0, "pruned");
  },

  "a node of another build that comes lifts the quarantine, one of a build that was tried does not": async (s) => {
    const one = await node(s, "v1");
    const { id } = await s.insert();
    await s.accept(await claimOneAs(s, one), [misfit("v1")]);
    same(await review(s), [], "no new node has come");
    const second = await node(s, "v1");
    same(await review(s, second), [], "one of the same build");
    const two = await node(s, "v2");
    same(await review(s, two), [{ runId: id, program: "work", outcome: "lifted" }], "one of another");
    matches(await s.run(id), { state: "waiting", endedAt: null, generation: 0 }, "record");
    same(await review(s, two), [], "again");
    same(await claimAs(s, second), [], "claimed by a build that was tried");
    await s.accept(await claimOneAs(s, two), [complete]);
  },

  "housekeeping lifts it, too, without a notice of the new node": async (s) => {
    const one = await node(s, "v1");
    const { id } = await s.insert();
    await s.accept(await claimOneAs(s, one), [misfit("v1")]);
    await node(s, "v2");
    const round = { incarnation: one.owner, env: s.env, watchedMs: 0, troubled: false };
    holds((await s.store.housekeep(round)).misfits, "that there is something to look at");
    same(
      (await review(s)).map(({ outcome }) => outcome),
      ["lifted"],
      "review",
    );
    same((await s.run(id)).state, "waiting", "state");
  },

  "a run that waits when the last untried node leaves is quarantined, with the reason in its journal": async (s) => {
    const [one, two] = [await node(s, "v1"), await node(s, "v2")];
    const runId = await unfit(s, two, one);
    same(await review(s), [], "while both live");
    await s.store.nodes.stop(two.owner);
    const third = await node(s, "v1");
    await s.insert();
    await s.accept(await claimOneAs(s, third), [complete]);
    await s.advance(2_500);
    same(await review(s), [{ runId, program: "work", outcome: "quarantined" }], "review");
    same((await s.run(runId)).state, "quarantined", "state");
    const last = some(await s.store.journal.read(runId), "journal").entries.at(-1)!;
    matches(last, { kind: "quarantined", epoch: 0 }, "last entry");
    holds(last.payload!.data.includes("NO_FITTING_NODE"), "the reason");
  },

  "where one build names two codes, only the node that tried counts": async (s) => {
    const [one, two] = [await node(s, "v1"), await node(s, "v1")];
    const runId = await unfit(s, two, one);
    matches(await s.run(runId), { state: "waiting", misfit: { builds: [one.owner], wanted: "v1" } }, "record");
    same(await claimAs(s, one), [], "claimed by the node that tried");
    await s.accept(await claimOneAs(s, two), [complete]);
  },

  "another env's nodes are not asked, and its review finds nothing": async (s) => {
    const one = await node(s, "v1");
    const { id } = await s.insert();
    const claim = await claimOneAs(s, one);
    const serves = await s.store.runs.groupIds([s.group()]);
    const stranger = { incarnation: s.token(), identity: "x", name: "x", env: `${s.env}-2`, stack: null, build: "v2" };
    await s.store.nodes.register({ ...stranger, serves, heartbeatMs: LONG_MS });
    await s.accept(claim, [misfit("v1")]);
    same((await s.run(id)).state, "quarantined", "state");
    same(await s.store.runs.reviewMisfits({ env: stranger.env, limit: 10 }), [], "review");
    const mine = { env: stranger.env, limit: 10, newcomer: stranger.incarnation };
    same(await s.store.runs.reviewMisfits(mine), [], "as a newcomer");
    same((await s.run(id)).state, "quarantined", "state after");
  },

  "a parent gets no notice of a quarantined child, but of its end when it comes": async (s) => {
    const [one, two] = [await node(s, "v1"), await node(s, "v2")];
    const parent = await s.start({}, { owner: two.owner, build: "v2" });
    const child = s.newRun();
    const run = omit(child, "parentId", "key");
    await s.accept(parent, [{ kind: "enqueue", name: "child", run }, park()]);
    await s.accept(await claimOneAs(s, one), [misfit("v1")]);
    await s.store.nodes.stop(two.owner);
    await s.advance(2_500);
    await review(s);
    same((await s.run(child.id)).state, "quarantined", "the child");
    same(await s.unreadKeys(parent.runId), [], "the parent's messages");
    const three = await node(s, "v3");
    await review(s, three);
    await s.accept(await claimOneAs(s, three), [complete]);
    same(await s.unreadKeys(parent.runId), [`child:${child.id}`], "after its end");
  },

  "a quarantined task is still waited for; it is retried alone, and its end counts": async (s) => {
    for (const effect of [misfit("v1"), fail("quarantined")]) {
      const one = await node(s, "v1");
      const parent = await s.start({}, { owner: one.owner, build: "v1" });
      const run = omit(s.newRun(), "key", "parentId");
      const task: Effect = { kind: "enqueue", name: "task", run, task: { needs: [] } };
      await s.accept(parent, [task, park({ forTasks: true })]);
      await s.accept(await claimOneAs(s, one), [effect]);
      matches(await s.run(run.id), { state: "quarantined" }, "the task");
      matches(await s.run(parent.runId), { state: "parked", pending: 1 }, "its parent");
      same((await s.store.runs.reconcile({ env: s.env })).replayed, 0, "counts that were wrong");
      const options = { by: "ann", callId: s.token(), fromStart: false };
      same(await s.store.runs.retry([run.id], options), [{ outcome: "retried" }], "retried");
      same(await s.store.runs.retry([run.id], options), [{ outcome: "retried" }], "the same call");
      same((await s.run(run.id)).generation, 1, "opened once");
      await s.accept(await claimOneAs(s, one), [complete]);
      matches(await s.run(parent.runId), { state: "waiting", pending: 0 }, "its parent after the end");
      await s.accept(await claimOneAs(s, one), [complete]);
    }
  },

  "a quarantined run can be cancelled, and paused until it is resumed": async (s) => {
    const one = await node(s, "v1");
    const { id } = await s.insert();
    await s.accept(await claimOneAs(s, one), [misfit("v1")]);
    same(await s.store.runs.pause(id, { by: "ann" }), { outcome: "paused" }, "pause");
    matches(await s.run(id), { state: "paused", endedAt: null }, "paused");
    const two = await node(s, "v2");
    same(await review(s, two), [], "what a newcomer lifts");
    same(await s.store.runs.resume(id, { by: "ann" }), { outcome: "resumed" }, "resume");
    same((await s.run(id)).state, "waiting", "resumed");
    await s.accept(await claimOneAs(s, two), [misfit("v2")]);
    same((await s.run(id)).state, "quarantined", "quarantined again");
    same(await s.store.runs.cancel(id, { by: "ann" }), { outcome: "cancelled" }, "cancel");
    same((await s.run(id)).state, "cancelled", "cancelled");
  },

  "a build's name is checked": async (s) => {
    const one = await node(s, "v1");
    await s.insert();
    const claim = await claimOneAs(s, one);
    same((await s.commit(claim, [misfit("")])).outcome, "refused", "commit");
    const problem = await s.claim({ build: "" }).then(
      () => null,
      (error) => error.code,
    );
    same(problem, "INVALID_INPUT", "claim");
  },
});
