// The contract of work claims as cases for any test runner:
// `for (const c of claimsConformance) test(c.name, async () => c.run(await freshHarness()))`.

import type { Granted, WorkClaims } from "../lease/work-claims.js";
import { holds, same } from "./conformance/expect.js";

/** Unused before, for each case. */
export interface ClaimsHarness {
  /** The claims under test, empty. */
  readonly claims: WorkClaims;
  /** Moves the clock that judges leases; an adapter on a real clock may wait instead. */
  advance(ms: number): void | Promise<void>;
}

/** One case that every implementation of `WorkClaims` must pass. */
export interface ClaimsCase {
  /** What the case shows. */
  readonly name: string;
  /** Throws `ConformanceFailure`. */
  run(harness: ClaimsHarness): Promise<void>;
}

const LEASE_MS = 1_000;
const OVER_MS = LEASE_MS + 100;
const KEY = "export:2030-01-01";
const RACERS = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

async function granted(claims: WorkClaims, owner: string, key = KEY): Promise<Granted> {
  const answer = await claims.acquire(key, owner, { leaseMs: LEASE_MS });
  holds(answer.ok, `${owner} should have been granted ${key}, and was refused`);
  return answer;
}

async function refused(claims: WorkClaims, owner: string, key = KEY): Promise<void> {
  const answer = await claims.acquire(key, owner, { leaseMs: LEASE_MS });
  same(answer.ok, false, `${owner} should have been refused ${key}, and was granted it`);
  if (!answer.ok && answer.leftMs !== undefined) holds(answer.leftMs > 0 && answer.leftMs <= LEASE_MS, "leftMs");
}

/** Nothing that is tried under this grant is accepted. */
async function powerless(claims: WorkClaims, owner: string, grant: Granted): Promise<void> {
  same(await claims.renew(KEY, owner, LEASE_MS, grant), false, "renew");
  same(await claims.complete(KEY, owner, grant), false, "complete");
  same(await claims.fail(KEY, owner, "late", grant), false, "fail");
  if (claims.release) same(await claims.release(KEY, owner, grant), false, "release");
  if (claims.owns) same(await claims.owns(KEY, owner, grant), false, "owns");
}

async function raceFor(claims: WorkClaims, keys: readonly string[]): Promise<Granted[]> {
  const answers = await Promise.all(
    keys.flatMap((key) => RACERS.map((owner) => claims.acquire(key, owner, { leaseMs: LEASE_MS }))),
  );
  return answers.filter((answer) => answer.ok);
}

const acquiring: ClaimsCase[] = [
  {
    name: "the first to ask for a new key gets it, at attempt 1",
    async run({ claims }) {
      const grant = await granted(claims, "a");
      same(grant.attempt, 1, "attempt");
      same(grant.stolenFrom, undefined, "stolenFrom");
      holds(Number.isSafeInteger(grant.epoch) && grant.epoch >= 1, "epoch is a whole number from 1");
      holds(grant.token.length >= 16, "token is random and long");
    },
  },
  {
    name: "the second is refused while the first holds it, and learns the holder",
    async run({ claims }) {
      await granted(claims, "a");
      const answer = await claims.acquire(KEY, "b", { leaseMs: LEASE_MS });
      same(answer.ok, false, "ok");
      if (!answer.ok && answer.owner !== undefined) same(answer.owner, "a", "owner");
    },
  },
  {
    name: "the holder itself is refused a second grant",
    async run({ claims }) {
      await granted(claims, "a");
      await refused(claims, "a");
    },
  },
  {
    name: "keys do not touch each other, in case neither",
    async run({ claims }) {
      await granted(claims, "a", "Key");
      await granted(claims, "b", "key");
      await refused(claims, "c", "Key");
    },
  },
  {
    name: "an expired lease is stolen: attempt and epoch rise, the token is new",
    async run({ claims, advance }) {
      const first = await granted(claims, "a");
      await advance(OVER_MS);
      const second = await granted(claims, "b");
      same(second.attempt, 2, "attempt");
      same(second.stolenFrom, "a", "stolenFrom");
      holds(second.epoch > first.epoch, "epoch rises");
      holds(second.token !== first.token, "the token is new");
      await refused(claims, "c");
    },
  },
  {
    name: "a completed key is granted again at attempt 1, and that is no steal",
    async run({ claims, advance }) {
      await granted(claims, "a");
      await advance(OVER_MS);
      const second = await granted(claims, "b");
      same(await claims.complete(KEY, "b", second), true, "complete");
      const third = await granted(claims, "c");
      same(third.attempt, 1, "attempt");
      same(third.stolenFrom, undefined, "stolenFrom");
      holds(third.epoch > second.epoch, "epoch rises");
    },
  },
  {
    name: "a failed key is granted again at attempt + 1, and that is no steal",
    async run({ claims }) {
      const first = await granted(claims, "a");
      same(await claims.fail(KEY, "a", "out of paper", first), true, "fail");
      const second = await granted(claims, "b");
      same(second.attempt, 2, "attempt");
      same(second.stolenFrom, undefined, "stolenFrom");
      holds(second.epoch > first.epoch, "epoch rises");
    },
  },
  {
    name: "eight ask for a new key at once: one gets it",
    async run({ claims }) {
      for (let round = 0; round < 5; round++) {
        same((await raceFor(claims, [`race:${round}`])).length, 1, "winners");
      }
    },
  },
  {
    name: "eight steal at once: one gets it",
    async run({ claims, advance }) {
      const keys = ["race:1", "race:2", "race:3"];
      for (const key of keys) await granted(claims, "dead", key);
      await advance(OVER_MS);
      const winners = await raceFor(claims, keys);
      same(winners.length, keys.length, "length");
      for (const winner of winners) same(winner.stolenFrom, "dead", "stolenFrom");
    },
  },
];

const holding: ClaimsCase[] = [
  {
    name: "a renewed lease is held from the renewal on",
    async run({ claims, advance }) {
      const grant = await granted(claims, "a");
      await advance(LEASE_MS - 300);
      same(await claims.renew(KEY, "a", LEASE_MS, grant), true, "renew");
      await advance(LEASE_MS - 300);
      await refused(claims, "b");
      if (claims.owns) same(await claims.owns(KEY, "a", grant), true, "owns");
    },
  },
  {
    name: "a late renewal is accepted as long as no other owner took the lease",
    async run({ claims, advance }) {
      const grant = await granted(claims, "a");
      await advance(OVER_MS);
      if (claims.owns) same(await claims.owns(KEY, "a", grant), false, "owns");
      same(await claims.renew(KEY, "a", LEASE_MS, grant), true, "renew");
      await refused(claims, "b");
    },
  },
  {
    name: "a lease cannot be renewed or ended with another's token, nor a key that does not exist",
    async run({ claims }) {
      const grant = await granted(claims, "a");
      const { token } = await granted(claims, "b", "other");
      await powerless(claims, "b", { ...grant, token });
      await powerless(claims, "a", { ...grant, token });
      await powerless(claims, "a", { ...grant, epoch: grant.epoch + 1 });
      same(await claims.renew("missing", "a", LEASE_MS, grant), false, "renew");
      same(await claims.complete("missing", "a", grant), false, "complete");
      same(await claims.renew(KEY, "a", LEASE_MS, grant), true, "the holder is not disturbed");
    },
  },
  {
    name: "an owner that comes back after a steal can do nothing",
    async run({ claims, advance }) {
      const late = await granted(claims, "a");
      await advance(OVER_MS);
      const live = await granted(claims, "b");
      await powerless(claims, "a", late);
      same(await claims.renew(KEY, "b", LEASE_MS, live), true, "renew");
      same(await claims.complete(KEY, "b", live), true, "complete");
      await powerless(claims, "a", late);
    },
  },
  {
    name: "two grants under one owner's name: the first can do nothing to the second",
    async run({ claims, advance }) {
      const first = await granted(claims, "a");
      await advance(OVER_MS);
      const second = await granted(claims, "a");
      await powerless(claims, "a", first);
      same(await claims.renew(KEY, "a", LEASE_MS, second), true, "renew");
    },
  },
  {
    name: "the same end repeated returns true again, until the key is acquired again",
    async run({ claims }) {
      const first = await granted(claims, "a");
      same(await claims.complete(KEY, "a", first), true, "complete");
      same(await claims.complete(KEY, "a", first), true, "complete");
      same(await claims.renew(KEY, "a", LEASE_MS, first), false, "what has ended is not renewed");
      const second = await granted(claims, "b");
      same(await claims.fail(KEY, "b", "no", second), true, "fail");
      same(await claims.fail(KEY, "b", "no", second), true, "fail");
      same(await claims.complete(KEY, "a", first), false, "complete");
    },
  },
];

const reclaiming: ClaimsCase[] = [
  {
    name: "there is nothing to reclaim before a lease has expired",
    async run({ claims }) {
      same(await claims.reclaimExpired(10), [], "reclaimExpired");
      await granted(claims, "a");
      same(await claims.reclaimExpired(10), [], "reclaimExpired");
    },
  },
  {
    name: "only expired leases that have not ended are reclaimed, oldest first, as many as asked for",
    async run({ claims, advance }) {
      for (const key of ["k1", "k2", "k3", "k4"]) {
        await granted(claims, "a", key);
        await advance(10);
      }
      const ended = await claims.acquire("ended-too", "a", { leaseMs: LEASE_MS });
      if (ended.ok) await claims.complete("ended-too", "a", ended);
      await advance(OVER_MS);
      await granted(claims, "b", "live");
      same(await claims.reclaimExpired(2), ["k1", "k2"], "reclaimExpired");
      same(await claims.reclaimExpired(10), ["k3", "k4"], "reclaimExpired");
      same(await claims.reclaimExpired(10), [], "reclaimExpired");
    },
  },
  {
    name: "after it the late owner can do nothing, and the next grant is a steal",
    async run({ claims, advance }) {
      const late = await granted(claims, "a");
      await advance(OVER_MS);
      same(await claims.reclaimExpired(10), [KEY], "reclaimExpired");
      await powerless(claims, "a", late);
      const next = await granted(claims, "b");
      same(next.stolenFrom, "a", "stolenFrom");
      same(next.attempt, 2, "attempt");
    },
  },
];

/** The cases that an implementation of `WorkClaims` must pass. Run each with a new harness. */
export const claimsConformance: readonly ClaimsCase[] = [...acquiring, ...holding, ...reclaiming];
