// Conformance of a store's timeouts: the cases of timeouts-conformance.ts for one scope, the separation of scopes, and transactions.

import { timeoutStore } from "../../../timeout/store-timeouts.js";
import { timeoutsConformance } from "../../timeouts-conformance.js";
import { type ConformanceCase, cases } from "../case.js";
import { matches, rejects, same, some } from "../expect.js";
import type { Scene } from "../scene.js";

const of = ({ store, env }: Scene, scope = "order") => timeoutStore(store, { env, scope });
const PENDING = { state: "pending", sequence: 1, in: 0 } as const;

/** A claimed timeout of "i". */
async function claimed(scene: Scene) {
  const timeouts = of(scene);
  const answer = await timeouts.claim(await timeouts.schedule("i", PENDING), "a", { claimMs: 1_000 });
  return some(answer.outcome === "claimed" ? answer.claim : null, "the claim");
}

const own = cases("timeouts", {
  "scopes and envs do not see each other's timeouts, even if instances have the same ids": async (scene) => {
    const [order, ticket] = [of(scene, "order"), of(scene, "ticket")];
    const other = timeoutStore(scene.store, { env: "elsewhere", scope: "order" });
    await order.schedule("i", PENDING);
    same(await ticket.get("i"), null, "get");
    same((await ticket.queryExpired(10)).timeouts, [], "ticket");
    same((await other.queryExpired(10)).timeouts, [], "elsewhere");
    same(await ticket.cancel("i"), false, "cancel");
    await ticket.schedule("i", { ...PENDING, sequence: 7 });
    matches(await order.get("i"), { sequence: 1 }, "the order's");
  },
  "a call repeated after a lost reply changes nothing": async ({ store, env, token }) => {
    const timeout = { env, scope: "s", instance: "i", generation: token(), state: "p", sequence: 1, keep: false };
    const first = await store.timeouts.schedule({ ...timeout, deadline: { inMs: 0 } });
    const request = { env, scope: "s", instance: "i", generation: first.generation };
    const claim = { ...request, node: "a", token: token(), claimMs: 1_000 };
    const [answer] = await store.timeouts.claim([claim]);
    same(await store.timeouts.claim([claim]), [answer], "claim");
    same((await store.timeouts.schedule({ ...timeout, deadline: { inMs: 0 } })).attempts, 1, "schedule");
    same(await store.timeouts.complete([claim]), [true], "the claim was not disturbed");
  },
  "a caller that listens for nearer deadlines gets none after it has stopped": async ({ store, env, token }) => {
    const heard: number[] = [];
    const end = store.timeouts.onScheduled({ env, scope: "s" }, (inMs) => heard.push(inMs));
    end();
    const timeout = { env, scope: "s", instance: "i", generation: token(), state: "p", sequence: 1, keep: false };
    await store.timeouts.schedule({ ...timeout, deadline: { inMs: 5 } });
    same(heard, [], "heard");
  },
  "several claims in one call are answered in order, also for the same timeout": async ({ store, env, token }) => {
    const ask = async (instance: string) => {
      const deadline = { inMs: 0 };
      const wanted = { env, scope: "s", instance, generation: token(), state: "p", sequence: 1, keep: false, deadline };
      const { generation } = await store.timeouts.schedule(wanted);
      return { env, scope: "s", instance, generation, node: "a", token: token(), claimMs: 1_000 };
    };
    const [x, y] = [await ask("x"), await ask("y")];
    const missing = { ...x, instance: "z", generation: token() };
    const answers = await store.timeouts.claim([y, missing, x, { ...x, token: token() }]);
    same(
      answers.map(({ outcome }) => outcome),
      ["claimed", "notFound", "claimed", "alreadyClaimed"],
      "outcomes",
    );
    const late = { ...x, token: token() };
    same(await store.timeouts.complete([late, x, y, missing]), [false, true, true, false], "complete");
  },
  "schedule and cancel in the caller's transaction take effect if it commits": async (scene) => {
    const timeouts = of(scene);
    await scene.transaction("rollback", (tx) => timeouts.schedule("i", PENDING, { tx }));
    same(await timeouts.get("i"), null, "rolled back");
    await scene.transaction("commit", (tx) => timeouts.schedule("i", PENDING, { tx }));
    matches(await timeouts.get("i"), { sequence: 1 }, "committed");
    await scene.transaction("rollback", (tx) => timeouts.cancel("i", { tx }));
    matches(await timeouts.get("i"), { sequence: 1 }, "not cancelled");
    await scene.transaction("commit", async (tx) => {
      same(await timeouts.cancel("i", { tx }), true, "cancel");
      same(await timeouts.cancel("i", { tx }), false, "cancel again");
      await timeouts.schedule("i", { ...PENDING, sequence: 2 }, { tx });
    });
    matches(await timeouts.get("i"), { sequence: 2 }, "replaced");
    await scene.transaction("commit", (tx) => timeouts.cancel("i", { tx }));
    same(await timeouts.get("i"), null, "cancelled");
  },
  "complete in the caller's transaction takes effect if it commits, and only under the claim": async (scene) => {
    const timeouts = of(scene);
    const claim = await claimed(scene);
    same(await scene.transaction("rollback", (tx) => timeouts.complete(claim, { tx })), true, "complete");
    matches(await timeouts.get("i"), { claimedBy: "a" }, "rolled back");
    const forged = { ...claim, token: scene.token() };
    same(await scene.transaction("commit", (tx) => timeouts.complete(forged, { tx })), false, "another's token");
    same(await scene.transaction("commit", (tx) => timeouts.complete(claim, { tx })), true, "complete");
    same(await timeouts.get("i"), null, "gone");
  },
  "invalid arguments are refused": async (scene) => {
    const timeouts = of(scene);
    await rejects(timeouts.schedule("", PENDING), "an empty instance");
    await rejects(timeouts.schedule("a\0b", PENDING), "a NUL in the instance");
    await rejects(timeouts.schedule("i", { ...PENDING, state: "\ud800" }), "half a pair in the state");
    await rejects(timeouts.schedule("i", { ...PENDING, sequence: -1 }), "a sequence below 0");
    await rejects(timeouts.schedule("i", { ...PENDING, sequence: 1.5 }), "half a sequence");
    await rejects(timeouts.schedule("i", { state: "p", sequence: 1, at: Number.NaN }), "no instant");
    await rejects(timeouts.schedule("i", { state: "p", sequence: 1, at: new Date("x") }), "no date");
    await rejects(timeouts.queryExpired(1.5), "half a limit");
    const timeout = await timeouts.schedule("i", PENDING);
    await rejects(timeouts.claim(timeout, "", { claimMs: 1 }), "no node");
    await rejects(timeouts.claim(timeout, "a", { claimMs: -1 }), "a claim below 0");
    const claim = await claimed(scene);
    await rejects(timeouts.release(claim, { retryInMs: -1 }), "a retry below 0");
    same(await timeouts.complete({ ...claim, token: "x" }), false, "a token that is none");
    same(await timeouts.complete(claim), true, "complete");
  },
});

/** Each in an env of its own. */
const ofAScope: ConformanceCase[] = timeoutsConformance.flatMap(({ name, run }) =>
  cases("timeouts of a scope", {
    [name]: (scene) => run({ timeouts: of(scene), advance: (ms) => scene.advance(ms) }),
  }),
);

export const timeoutCases: readonly ConformanceCase[] = [...own, ...ofAScope];
