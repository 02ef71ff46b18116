// Conformance cases for timeout stores, for any test runner:
// `for (const c of timeoutsConformance) test(c.name, async () => c.run(await freshHarness()))`.

import type { ClaimedTimeout, ClaimResult, ScheduledTimeout, TimeoutStore } from "../timeout/timeout-store.js";
import { holds, matches, same, some } from "./conformance/expect.js";

/** Each case needs a fresh, empty store. */
export interface TimeoutsHarness {
  /** The store under test, empty. */
  readonly timeouts: TimeoutStore;
  /** Moves the clock that decides about deadlines and claims; a store on a real clock may wait instead. */
  advance(ms: number): void | Promise<void>;
}

/** One case that every timeout store must pass. */
export interface TimeoutsCase {
  /** What the case shows. */
  readonly name: string;
  /** Throws `ConformanceFailure`. */
  run(harness: TimeoutsHarness): Promise<void>;
}

const CLAIM_MS = 1_000;
const OVER_MS = CLAIM_MS + 100;
const PENDING = { state: "pending", sequence: 3 } as const;
const NODES = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

const instances = async (timeouts: TimeoutStore, limit = 100) =>
  (await timeouts.queryExpired(limit)).timeouts.map(({ instance }) => instance);

const claimBy = (timeouts: TimeoutStore, timeout: ScheduledTimeout, node = "a") =>
  timeouts.claim(timeout, node, { claimMs: CLAIM_MS });

function claimOf(result: ClaimResult): ClaimedTimeout {
  holds(result.outcome === "claimed", `claimed, not ${result.outcome}`);
  return result.claim;
}

/** Scheduled, due, and claimed by "a". */
async function claimed({ timeouts, advance }: TimeoutsHarness, instance = "i"): Promise<ClaimedTimeout> {
  const timeout = await timeouts.schedule(instance, { ...PENDING, in: 10 });
  await advance(20);
  return claimOf(await claimBy(timeouts, timeout));
}

/** Every write under this claim is rejected. */
async function powerless(timeouts: TimeoutStore, claim: ClaimedTimeout): Promise<void> {
  const before = await timeouts.get(claim.instance);
  same(await timeouts.complete(claim), false, "complete");
  same(await timeouts.release(claim), false, "release");
  same(await timeouts.release(claim, { retryInMs: 5 }), false, "release after a failure");
  same(await timeouts.get(claim.instance), before, "the timeout is unchanged");
}

const scheduling: TimeoutsCase[] = [
  {
    name: "schedule returns the timeout with state, sequence and deadline, and get finds it",
    async run({ timeouts }) {
      const timeout = await timeouts.schedule("i", { ...PENDING, in: "1m" });
      const expected = { instance: "i", ...PENDING, attempts: 0, claimedBy: null, claimedUntil: null };
      matches(timeout, expected, "the timeout");
      holds(
        Math.abs(timeout.deadline - timeout.createdAt - 60_000) <= 1,
        "the deadline is a minute after its creation",
      );
      same(await timeouts.get("i"), timeout, "get");
      same(await timeouts.get("other"), null, "get of another");
    },
  },
  {
    name: "a deadline may be a Date or a number; one in the past is due at once",
    async run({ timeouts }) {
      const { createdAt } = await timeouts.schedule("now", { ...PENDING, in: 0 });
      same((await timeouts.schedule("a", { ...PENDING, at: createdAt - 5_000 })).deadline, createdAt - 5_000, "past");
      const later = new Date(createdAt + 3_600_000);
      same((await timeouts.schedule("b", { ...PENDING, at: later })).deadline, later.getTime(), "later");
      same(await instances(timeouts), ["a", "now"], "due");
    },
  },
  {
    name: "an instance has one timeout: scheduled again, it has another generation and deadline",
    async run({ timeouts, advance }) {
      const first = await timeouts.schedule("i", { ...PENDING, in: 10 });
      const second = await timeouts.schedule("i", { state: "started", sequence: 4, in: "1m" });
      holds(second.generation !== first.generation, "the generation is new");
      matches(second, { state: "started", sequence: 4 }, "the second");
      await advance(20);
      same(await instances(timeouts), [], "the first deadline is gone");
      const again = await timeouts.schedule("i", { state: "started", sequence: 4, in: 5 });
      holds(again.generation !== second.generation, "also for the same state");
    },
  },
  {
    name: "with keep, a timeout of the same state and sequence keeps its deadline, claim and generation",
    async run(harness) {
      const { timeouts, advance } = harness;
      const first = await timeouts.schedule("i", { ...PENDING, in: "1m" });
      await advance(1_000);
      same(await timeouts.schedule("i", { ...PENDING, in: "1m", keep: true }), first, "kept");
      const moved = await timeouts.schedule("i", { ...PENDING, sequence: 4, in: "1m", keep: true });
      holds(moved.generation !== first.generation, "of another sequence it is replaced");
      const claim = await claimed(harness, "j");
      await timeouts.schedule("j", { ...PENDING, in: "1m", keep: true });
      same(await timeouts.complete(claim), true, "the claim holds");
    },
  },
  {
    name: "cancel removes a timeout, once",
    async run({ timeouts, advance }) {
      const timeout = await timeouts.schedule("i", { ...PENDING, in: 10 });
      await timeouts.schedule("j", { ...PENDING, in: 10 });
      same(await timeouts.cancel("i"), true, "cancel");
      same(await timeouts.cancel("i"), false, "cancel again");
      await advance(20);
      same(await instances(timeouts), ["j"], "due");
      same(await claimBy(timeouts, timeout), { outcome: "notFound" }, "claim");
    },
  },
];

const looking: TimeoutsCase[] = [
  {
    name: "a look finds only what is due, in the order of due times, up to its limit",
    async run({ timeouts, advance }) {
      for (const [instance, ms] of [
        ["c", 30],
        ["a", 10],
        ["late", 60_000],
        ["b", 20],
      ] as const) {
        await timeouts.schedule(instance, { ...PENDING, in: ms });
      }
      same(await instances(timeouts), [], "nothing yet");
      await advance(200);
      same(await instances(timeouts), ["a", "b", "c"], "all");
      same(await instances(timeouts, 2), ["a", "b"], "two");
      same(await instances(timeouts, 0), [], "none");
    },
  },
  {
    name: "a look returns how long until the next timeout is due, or null if unknown",
    async run({ timeouts, advance }) {
      same((await timeouts.queryExpired(10)).nextInMs, null, "there is none");
      await timeouts.schedule("far", { ...PENDING, in: 60_000 });
      await timeouts.schedule("near", { ...PENDING, in: 5_000 });
      const { nextInMs } = await timeouts.queryExpired(10);
      if (nextInMs === null) return;
      holds(nextInMs > 0 && nextInMs <= 5_000, `the near one, not in ${nextInMs} ms`);
      await advance(nextInMs);
      same(await instances(timeouts), ["near"], "it is due exactly then");
    },
  },
  {
    name: "a claimed timeout is not found until its claim expires",
    async run(harness) {
      const { timeouts, advance } = harness;
      await claimed(harness);
      same(await instances(timeouts), [], "claimed");
      await advance(OVER_MS);
      same(await instances(timeouts), ["i"], "over");
      matches((await timeouts.queryExpired(1)).timeouts[0], { claimedBy: "a", attempts: 1 }, "its last holder");
    },
  },
];

const claiming: TimeoutsCase[] = [
  {
    name: "a claim has its own token, names its node and counts as an attempt",
    async run(harness) {
      const claim = await claimed(harness);
      matches(claim, { instance: "i", ...PENDING, attempts: 1, claimedBy: "a" }, "the claim");
      holds(claim.token.length >= 16, "the token is random and long");
      const { token: _token, ...seen } = claim;
      same(await harness.timeouts.get("i"), seen, "get returns it without the token");
    },
  },
  {
    name: "a second claim returns which node holds the first and until when, also to the same node",
    async run(harness) {
      const { timeouts } = harness;
      const claim = await claimed(harness);
      const refused = { outcome: "alreadyClaimed", by: "a", until: some(claim.claimedUntil, "until") };
      same(await claimBy(timeouts, claim, "b"), refused, "b");
      same(await claimBy(timeouts, claim, "a"), refused, "a");
    },
  },
  {
    name: "of eight concurrent claims one succeeds",
    async run({ timeouts, advance }) {
      const due = await Promise.all(["x", "y", "z"].map((i) => timeouts.schedule(i, { ...PENDING, in: 0 })));
      await advance(5);
      const answers = await Promise.all(
        due.flatMap((timeout) => NODES.map((node) => claimBy(timeouts, timeout, node))),
      );
      same(answers.filter(({ outcome }) => outcome === "claimed").length, due.length, "claims");
      same(answers.filter(({ outcome }) => outcome === "alreadyClaimed").length, due.length * 7, "conflicts");
    },
  },
  {
    name: "an expired claim is replaced by the next, and its late holder can do nothing",
    async run(harness) {
      const { timeouts, advance } = harness;
      const late = await claimed(harness);
      await advance(OVER_MS);
      const live = claimOf(await claimBy(timeouts, late, "b"));
      matches(live, { claimedBy: "b", attempts: 2 }, "the new claim");
      holds(live.token !== late.token, "the token is new");
      await powerless(timeouts, late);
      same(await timeouts.complete(live), true, "complete");
    },
  },
  {
    name: "of two claims under one node's name, the first cannot change the second",
    async run(harness) {
      const { timeouts, advance } = harness;
      const first = await claimed(harness);
      await advance(OVER_MS);
      const second = claimOf(await claimBy(timeouts, first, "a"));
      await powerless(timeouts, first);
      same(await timeouts.complete(second), true, "complete");
    },
  },
  {
    name: "a timeout scheduled again since it was read is neither claimed nor changed",
    async run({ timeouts, advance }) {
      const read = await timeouts.schedule("i", { ...PENDING, in: 10 });
      await advance(20);
      const rescheduled = await timeouts.schedule("i", { state: "started", sequence: 4, in: "1m" });
      same(await claimBy(timeouts, read), { outcome: "stateChanged" }, "claim");
      same(await timeouts.get("i"), rescheduled, "it is as scheduled");
      const due = await timeouts.schedule("i", { state: "pending", sequence: 5, in: 0 });
      same(await claimBy(timeouts, read), { outcome: "stateChanged" }, "claim of one that is due");
      same(await timeouts.get("i"), due, "it is unchanged");
    },
  },
  {
    name: "a timeout that is not due is not claimed",
    async run({ timeouts }) {
      const timeout = await timeouts.schedule("i", { ...PENDING, in: "1m" });
      same(await claimBy(timeouts, timeout), { outcome: "stateChanged" }, "claim");
      same(await timeouts.get("i"), timeout, "untouched");
    },
  },
];

const ending: TimeoutsCase[] = [
  {
    name: "complete removes the timeout",
    async run(harness) {
      const { timeouts, advance } = harness;
      const claim = await claimed(harness);
      same(await timeouts.complete(claim), true, "complete");
      same(await timeouts.get("i"), null, "get");
      await powerless(timeouts, claim);
      await advance(OVER_MS);
      same(await instances(timeouts), [], "due");
    },
  },
  {
    name: "a claim on a timeout that was scheduled again completes and releases nothing",
    async run(harness) {
      const { timeouts } = harness;
      const claim = await claimed(harness);
      await timeouts.schedule("i", { state: "started", sequence: 4, in: "1m" });
      await powerless(timeouts, claim);
    },
  },
  {
    name: "a claim on a timeout that was cancelled and scheduled again for the same state completes nothing",
    async run(harness) {
      const { timeouts } = harness;
      const claim = await claimed(harness);
      await timeouts.cancel("i");
      await powerless(timeouts, claim);
      await timeouts.schedule("i", { ...PENDING, in: "1m" });
      await powerless(timeouts, claim);
    },
  },
  {
    name: "a made-up token completes nothing",
    async run(harness) {
      const { timeouts } = harness;
      const claim = await claimed(harness);
      const other = await claimed(harness, "j");
      await powerless(timeouts, { ...claim, token: other.token });
      same(await timeouts.complete(claim), true, "the holder is not disturbed");
    },
  },
  {
    name: "an expired claim completes a timeout that no other node claimed",
    async run(harness) {
      const claim = await claimed(harness);
      await harness.advance(OVER_MS);
      same(await harness.timeouts.complete(claim), true, "complete");
      same(await harness.timeouts.get("i"), null, "get");
    },
  },
  {
    name: "released untried, a timeout is due at once and the attempt is not counted",
    async run(harness) {
      const { timeouts } = harness;
      const claim = await claimed(harness);
      same(await timeouts.release(claim), true, "release");
      same(await timeouts.release(claim), true, "the same call repeated");
      matches(await timeouts.get("i"), { attempts: 0, claimedBy: null, claimedUntil: null }, "released");
      same(await instances(timeouts), ["i"], "due");
      same(await timeouts.complete(claim), false, "it is not claimed");
      same(claimOf(await claimBy(timeouts, claim, "b")).attempts, 1, "attempts");
    },
  },
  {
    name: "released after a failure, a timeout is due later, behind the others, and the attempt is counted",
    async run(harness) {
      const { timeouts, advance } = harness;
      const claim = await claimed(harness);
      same(await timeouts.release(claim, { retryInMs: 500 }), true, "release");
      same(await instances(timeouts), [], "put off");
      same(await claimBy(timeouts, claim), { outcome: "stateChanged" }, "it cannot be claimed before");
      await timeouts.schedule("later", { ...PENDING, in: 100 });
      await advance(600);
      same(await instances(timeouts), ["later", "i"], "behind the one due before");
      const again = claimOf(await claimBy(timeouts, claim, "b"));
      matches(again, { attempts: 2, deadline: claim.deadline }, "the second attempt");
    },
  },
  {
    name: "given up, a timeout is listed and never due nor claimed until it is retried",
    async run(harness) {
      const { timeouts, advance } = harness;
      const claim = await claimed(harness);
      same(await timeouts.dead(10), [], "no dead letters");
      same(await timeouts.retry("i"), false, "only a dead letter is retried");
      same(await timeouts.giveUp(claim, "no way"), true, "give up");
      same(await timeouts.giveUp(claim, "no way"), true, "the same call repeated");
      await advance(OVER_MS);
      same(await instances(timeouts), [], "due");
      same((await timeouts.queryExpired(10)).nextInMs ?? null, null, "nothing will be due");
      same(await claimBy(timeouts, claim), { outcome: "stateChanged" }, "claim");
      matches(await timeouts.get("i"), { dead: true, problem: "no way", attempts: 1, claimedBy: null }, "shown");
      same(await timeouts.dead(10), [await timeouts.get("i")], "dead letters");
      same(await timeouts.retry("i"), true, "retry");
      same(await timeouts.dead(10), [], "no dead letters");
      same(await instances(timeouts), ["i"], "due again");
      matches(
        claimOf(await claimBy(timeouts, claim)),
        { attempts: 1, dead: false, problem: null },
        "its attempts start again",
      );
    },
  },
  {
    name: "scheduling again revives a timeout that was given up; dead letters are listed in pages",
    async run(harness) {
      const { timeouts } = harness;
      for (const instance of ["b", "a", "c"]) await timeouts.giveUp(await claimed(harness, instance), "no");
      const names = async (limit: number, after?: string) =>
        (await timeouts.dead(limit, after)).map(({ instance }) => instance);
      same(await names(2), ["a", "b"], "the first page");
      same(await names(2, "b"), ["c"], "the second");
      await timeouts.schedule("b", { ...PENDING, in: "1m" });
      same(await names(10), ["a", "c"], "dead letters");
      matches(await timeouts.get("b"), { dead: false, problem: null, attempts: 0 }, "alive");
      same(await timeouts.cancel("a"), true, "cancel");
      same(await names(10), ["c"], "one is left");
    },
  },
];

/** The cases that a timeout store must pass. Run each with a new harness. */
export const timeoutsConformance: readonly TimeoutsCase[] = [...scheduling, ...looking, ...claiming, ...ending];
