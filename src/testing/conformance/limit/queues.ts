// Queues: a paused one hands out no work, running work continues, and the list shows where runs are.

import { cases } from "../case.js";
import { holds, matches, rejects, same, some } from "../expect.js";
import { complete, PAST_MS, park, retry } from "../scene.js";

export const queueCases = cases("queues", {
  "no run of a paused queue is claimed until it is resumed": async (s) => {
    const { id } = await s.insert();
    await s.store.queues.pause(s.env, "work", "ann");
    same(await s.claim(), [], "claims while paused");
    same((await s.run(id)).state, "waiting", "state");
    await s.insert({ group: { program: "later", version: "2" } });
    const groupIds = await s.store.runs.groupIds([s.group({ program: "later", version: "2" })]);
    same(await s.claim({ groupIds }), [], "claims of a program that came later");
    await s.store.queues.resume(s.env, "work");
    matches(await s.claimOne(), { runId: id }, "claim");
  },

  "other queues and envs continue": async (s) => {
    await s.store.queues.pause(s.env, "other", "ann");
    await s.store.queues.pause(`${s.env}-x`, "work", "ann");
    const { id } = await s.insert();
    matches(await s.claimOne(), { runId: id }, "claim");
  },

  "running work continues": async (s) => {
    const claim = await s.start();
    await s.store.queues.pause(s.env, "work", "ann");
    same((await s.store.runs.renew([claim], 1000))[0]?.outcome, "held", "renewal");
    await s.accept(claim, [complete]);
  },

  "a repeated claim finds what it was granted before the pause": async (s) => {
    const { id } = await s.insert();
    const request = await s.request();
    await s.store.runs.claim(request);
    await s.store.queues.pause(s.env, "work", "ann");
    same((await s.store.runs.claim(request))[0]?.runId, id, "the same claim");
  },

  "pausing twice keeps the first, resuming twice is nothing": async (s) => {
    await s.store.queues.pause(s.env, "work", "ann");
    await s.advance(5);
    await s.store.queues.pause(s.env, "work", "bob");
    const [queue] = await s.store.queues.list(s.env);
    same(queue?.paused?.by, "ann", "by");
    await s.store.queues.resume(s.env, "work");
    await s.store.queues.resume(s.env, "work");
    same(await s.store.queues.list(s.env), [], "list");
  },

  "the list has live runs by state, how long the oldest waits, and what is paused": async (s) => {
    await s.accept(await s.start(), [complete]);
    await s.accept(await s.start(), [park()]);
    await s.insert();
    await s.advance(PAST_MS);
    await s.insert();
    await s.insert({ delayMs: 60_000, group: { queue: "b" } });
    await s.insert({ group: { queue: "a", stack: "blue" } });
    await s.store.queues.pause(s.env, "z", "ann");
    const list = await s.store.queues.list(s.env);
    same(
      list.map(({ queue }) => queue),
      ["a", "b", "work", "z"],
      "names",
    );
    const [, b, work, z] = list;
    matches(b, { counts: { waiting: 1 }, oldestWaitingMs: null, paused: null }, "only a delayed run");
    same(work?.counts, { waiting: 2, parked: 1 }, "counts");
    holds(some(work?.oldestWaitingMs, "age") >= PAST_MS - 1, "how long the oldest waits");
    matches(z, { counts: {}, oldestWaitingMs: null }, "a paused queue without runs");
    holds(typeof z?.paused?.at === "number", "since when");
  },

  "a retry in a paused queue waits for the resume": async (s) => {
    const claim = await s.start();
    await s.store.queues.pause(s.env, "work", "ann");
    await s.accept(claim, [retry(0)]);
    await s.advance(1);
    same(await s.claim(), [], "claims");
    await s.store.queues.resume(s.env, "work");
    matches(await s.claimOne(), { failures: 1 }, "claim");
  },

  "bad names are refused": async (s) => {
    await rejects(s.store.queues.pause(s.env, "", "ann"), "no queue");
    await rejects(s.store.queues.pause("Bad Env", "work", "ann"), "a bad env");
    await rejects(s.store.queues.pause(s.env, "work", "\0"), "a bad name");
    await rejects(s.store.queues.resume(s.env, "a b"), "a bad queue");
  },

  "what waits in a paused queue is not due": async (s) => {
    const groupIds = await s.store.runs.groupIds([s.group(), s.group({ queue: "other" })]);
    await s.insert();
    await s.insert({ group: { queue: "other" }, delayMs: 60_000 });
    holds(some(await s.store.runs.nextDue(groupIds), "before") <= 0, "due now");
    await s.store.queues.pause(s.env, s.group().queue, "ann");
    holds(some(await s.store.runs.nextDue(groupIds), "paused") > 0, "the other queue's run is next");
    await s.store.queues.resume(s.env, s.group().queue);
  },
});
