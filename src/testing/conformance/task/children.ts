// Children: started in their parent's commit; their end reaches the parent's inbox exactly once.

import type { Effect } from "../../../kernel/run/effect.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { matches, refused, same, some } from "../expect.js";
import { append, complete, fail, LONG_MS, PAST_MS, park, retry, type Scene, SHORT_MS } from "../scene.js";

const CHILDREN = { queue: "children", program: "child" };

function enqueue(run: NewRun): Effect {
  return { kind: "enqueue", name: `start-${run.group.program}`, run };
}

/** A parent, claimed, with `n` children to be claimed under their own queue. */
async function family(s: Scene, n: number, parkWith: Parameters<typeof park>[0] | null = {}) {
  const parent = await s.start();
  const children = Array.from({ length: n }, () => s.newRun({ group: CHILDREN, crashLimit: 1 }));
  const settle = parkWith === null ? [] : [park(parkWith)];
  const seq = await s.accept(parent, [...children.map(enqueue), ...settle]);
  return { parent, seq, children: children.map(({ id }) => id) };
}

async function claimChildren(s: Scene, leaseMs = LONG_MS): Promise<readonly ClaimedRun[]> {
  await s.advance(1);
  return s.claim({ groupIds: await s.store.runs.groupIds([s.group(CHILDREN)]), leaseMs });
}

async function news(s: Scene, parentId: string) {
  const messages = await s.store.inbox.unread(parentId);
  return messages.map(({ key, kind, name, payload, sender, messageId }) => [
    key,
    kind,
    name,
    payload,
    sender,
    messageId,
  ]);
}

export const childCases = cases("children", {
  "a child is inserted by its parent's commit": async (s) => {
    const parent = await s.start();
    const child = s.newRun({ group: CHILDREN, priority: 3, delayMs: 0 });
    await s.accept(parent, [append("a"), enqueue(child)]);
    const record = await s.run(child.id);
    matches(
      record,
      { state: "waiting", parentId: parent.runId, priority: 3, seq: 1, group: s.group(CHILDREN) },
      "child",
    );
    const { entries } = some(await s.store.journal.read(parent.runId, { after: 2 }), "journal");
    matches(entries[0], { kind: "enqueue", name: "start-child", key: child.id, payload: null, epoch: 1 }, "entry");
    const [claim] = await claimChildren(s);
    matches(claim, { runId: child.id, parentId: parent.runId, input: child.input }, "claim on the child");
  },

  "a child may be delayed": async (s) => {
    const parent = await s.start();
    const child = s.newRun({ group: CHILDREN, delayMs: LONG_MS });
    await s.accept(parent, [enqueue(child)]);
    const { availableAt, createdAt } = await s.run(child.id);
    same(availableAt, createdAt + LONG_MS, "availableAt");
    same(await claimChildren(s), [], "claims");
  },

  "a child of this run that is there already is left as it is": async (s) => {
    const parent = await s.start();
    const child = s.newRun({ group: CHILDREN });
    const seq = await s.accept(parent, [enqueue(child)]);
    await s.accept(parent, [enqueue({ ...child, priority: 9 })], seq);
    matches(await s.run(child.id), { priority: 0, parentId: parent.runId }, "child");
    same(await s.log(parent.runId), ["start", "enqueue", "enqueue"], "log");
  },

  "an id that is another run's is not a child: its end would reach the wrong run": async (s) => {
    const [parent, other] = [await s.start(), await s.start()];
    const [stranger, theirs, mine] = [s.newRun(), s.newRun({ group: CHILDREN }), s.newRun({ group: CHILDREN })];
    await s.store.runs.insert([stranger]);
    await s.accept(other, [enqueue(theirs)]);
    for (const run of [stranger, theirs]) {
      const answers = await s.store.runs.commit([
        { claim: parent, expectedSeq: 1, effects: [enqueue(mine), append("a"), enqueue({ ...run, priority: 9 })] },
        { claim: other, expectedSeq: 2, effects: [append("b")] },
      ]);
      const error = refused(some(answers[0], "answer"), "an id that is taken") as { path?: unknown };
      same(error.path, "effects[2].run.id", "the error's path");
      same(answers[1]?.outcome, run === stranger ? "accepted" : "recorded", "its neighbour");
      matches(await s.run(run.id), { priority: 0, parentId: run === stranger ? null : other.runId }, "the other run");
    }
    same(await s.store.runs.get(mine.id), null, "the child next to it");
    same(await s.log(parent.runId), ["start"], "log");
  },

  "two runs that start a child under one id in one call: the first has it": async (s) => {
    const [a, b] = [await s.start(), await s.start()];
    const child = s.newRun({ group: CHILDREN });
    const commits = [a, b].map((claim) => ({ claim, expectedSeq: 1, effects: [enqueue(child)] }));
    const answers = await s.store.runs.commit(commits);
    same(
      answers.map(({ outcome }) => outcome),
      ["accepted", "refused"],
      "answers",
    );
    matches(await s.run(child.id), { parentId: a.runId }, "child");
    refused(await s.commit(a, [enqueue(s.newRun({ id: b.runId })), append("a")], 2), "a run that is running");
    const twin = s.newRun({ group: CHILDREN });
    refused(await s.commit(a, [enqueue(twin), enqueue(twin)], 2), "twice in a commit");
  },

  "children are claimed in the order in which they were started": async (s) => {
    const parent = await s.start();
    const children = Array.from({ length: 12 }, () => s.newRun({ group: CHILDREN })).reverse();
    await s.accept(parent, [append("a"), ...children.flatMap((child) => [enqueue(child), append("b")])]);
    const claimed = (await claimChildren(s)).map(({ runId }) => runId);
    same(
      claimed,
      children.map(({ id }) => id),
      "order",
    );
  },

  "a commit that is not accepted starts no child": async (s) => {
    const parent = await s.start();
    const child = s.newRun({ group: CHILDREN });
    same((await s.commit({ ...parent, token: s.token() }, [enqueue(child)])).outcome, "lost", "lost");
    same((await s.commit(parent, [enqueue(child)], 7)).outcome, "moved", "moved");
    same(await s.store.runs.get(child.id), null, "child");
  },

  "a repeated commit starts its children once": async (s) => {
    const parent = await s.start();
    const child = s.newRun({ group: CHILDREN });
    await s.accept(parent, [enqueue(child)]);
    await s.store.runs.cancel(child.id, { by: "me" });
    same((await s.commit(parent, [enqueue(child)])).outcome, "recorded", "answer");
    matches(await s.run(child.id), { state: "cancelled" }, "child");
  },

  "each end of a child reaches its parent": async (s) => {
    const { parent, children } = await family(s, 3, null);
    const claims = await claimChildren(s);
    for (const [i, effect] of [complete, fail(), fail("skipped")].entries()) {
      await s.accept(some(claims[i], "child's claim"), [effect]);
    }
    const ends = ["completed", "failed", "skipped"];
    const expected = claims.map(({ runId }, i) => [`child:${runId}`, "child", ends[i], null, runId, runId]);
    same(await news(s, parent.runId), expected, "news");
    same(new Set(claims.map(({ runId }) => runId)), new Set(children), "children");
    matches(await s.run(parent.runId), { inboxSeq: 3, state: "running" }, "parent");
  },

  "a child that died or was cancelled is reported, too": async (s) => {
    const { parent } = await family(s, 2, null);
    const [dying] = await claimChildren(s, SHORT_MS);
    const other = some((await s.store.runs.list({ env: s.env, program: "child" }, { limit: 10 })).runs, "children");
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    for (const { id } of other) matches(await s.run(id), { state: "dead" }, "child");
    same(new Set((await news(s, parent.runId)).map(([, , name]) => name)), new Set(["dead"]), "news of the dead");
    same(dying?.parentId, parent.runId, "parent");
    const late = s.newRun({ group: CHILDREN });
    await s.accept(parent, [enqueue(late)], 3);
    await s.store.runs.cancel(late.id, { by: "me" });
    same((await news(s, parent.runId)).at(-1)?.slice(0, 3), [`child:${late.id}`, "child", "cancelled"], "news");
  },

  "a retry of a child is no end": async (s) => {
    const { parent } = await family(s, 1, null);
    const [claim] = await claimChildren(s);
    await s.accept(some(claim, "child's claim"), [retry(LONG_MS)]);
    same(await news(s, parent.runId), [], "news");
  },

  "a parked parent wakes by its child": async (s) => {
    const { parent } = await family(s, 1);
    matches(await s.run(parent.runId), { state: "parked" }, "before");
    const [claim] = await claimChildren(s);
    await s.accept(some(claim, "child's claim"), [complete]);
    matches(await s.run(parent.runId), { state: "waiting", inboxSeq: 1 }, "after");
    same((await s.claimOne()).runId, parent.runId, "claimed");
  },

  "wakeAfter n: a parent of n children wakes once": async (s) => {
    const { parent } = await family(s, 3, { wakeAfter: 3 });
    const claims = await claimChildren(s);
    for (const [i, claim] of claims.entries()) {
      matches(await s.run(parent.runId), { state: "parked", inboxSeq: i }, `after ${i} children`);
      await s.accept(claim, [complete]);
    }
    matches(await s.run(parent.runId), { state: "waiting", inboxSeq: 3 }, "after all");
  },

  "wakeAfter n: several ends in one call count together": async (s) => {
    const { parent } = await family(s, 3, { wakeAfter: 3 });
    const claims = await claimChildren(s);
    await s.store.runs.commit(claims.map((claim) => ({ claim, expectedSeq: 1, effects: [complete] })));
    matches(await s.run(parent.runId), { state: "waiting", inboxSeq: 3 }, "parent");
    same((await news(s, parent.runId)).length, 3, "news");
  },

  "wakeAfter n: a signal wakes before": async (s) => {
    const { parent } = await family(s, 2, { wakeAfter: 2 });
    await s.store.inbox.send([s.message(parent.runId)]);
    matches(await s.run(parent.runId), { state: "waiting" }, "parent");
  },

  "a child that ends before its parent parks is not slept through": async (s) => {
    const { parent, seq } = await family(s, 1, null);
    const [claim] = await claimChildren(s);
    await s.accept(some(claim, "child's claim"), [complete]);
    await s.accept(parent, [park({ seenInboxSeq: 0 })], seq);
    matches(await s.run(parent.runId), { state: "waiting" }, "parent");
  },

  "an ended parent gets no notice": async (s) => {
    const { parent, seq } = await family(s, 1, null);
    await s.accept(parent, [complete], seq);
    const [claim] = await claimChildren(s);
    await s.accept(some(claim, "child's claim"), [complete]);
    same(await news(s, parent.runId), [], "news");
    matches(await s.run(parent.runId), { state: "completed", inboxSeq: 0 }, "parent");
  },

  "a parent that ends in the same call gets no notice": async (s) => {
    const { parent, seq } = await family(s, 1, null);
    const [claim] = await claimChildren(s);
    const child = { claim: some(claim, "child's claim"), expectedSeq: 1, effects: [complete] };
    await s.store.runs.commit([child, { claim: parent, expectedSeq: seq, effects: [complete] }]);
    same(await news(s, parent.runId), [], "news");
    matches(await s.run(parent.runId), { state: "completed", inboxSeq: 0 }, "parent");
  },

  "a run without a parent ends without a notice": async (s) => {
    const orphan = await s.start({ parentId: s.id() });
    await s.accept(orphan, [complete]);
    matches(await s.run(orphan.runId), { state: "completed" }, "child");
  },

  "news of a child is taken like any message": async (s) => {
    const { parent, children } = await family(s, 1);
    const [claim] = await claimChildren(s);
    await s.accept(some(claim, "child's claim"), [complete]);
    const again = await s.claimOne();
    await s.accept(again, [{ kind: "take", messageKey: `child:${children[0]}` }, complete]);
    const { entries } = some(await s.store.journal.read(parent.runId, { after: again.seq }), "journal");
    matches(entries[0], { kind: "take", name: "completed", key: `child:${children[0]}`, payload: null }, "entry");
  },
});
