// Named leases: one owner at a time, the same fence as claims, every end repeatable.

import type { AcquireRequest, Lease, LeaseFence } from "../../../store/contract/lease/leases.js";
import { cases } from "../case.js";
import { ConformanceFailure, holds, matches, rejects, same, some } from "../expect.js";
import { LONG_MS, PAST_MS, type Scene, SHORT_MS } from "../scene.js";

function request(s: Scene, options: Partial<AcquireRequest> = {}): AcquireRequest {
  return { env: s.env, key: "export", owner: "node-1", token: s.token(), leaseMs: LONG_MS, ...options };
}

async function acquire(s: Scene, options: Partial<AcquireRequest> = {}): Promise<Lease & LeaseFence> {
  const answer = await s.store.leases.acquire(request(s, options));
  if (answer.outcome === "busy") throw new ConformanceFailure("acquire", answer, "a lease");
  return { ...answer.lease, env: options.env ?? s.env };
}

export const leaseCases = cases("leases", {
  "a fresh key is acquired": async (s) => {
    const asked = request(s);
    const lease = { key: "export", owner: "node-1", epoch: 1, token: asked.token, attempt: 1 };
    same(await s.store.leases.acquire(asked), { outcome: "acquired", lease }, "answer");
    const record = some(await s.store.leases.get(s.env, "export"), "record");
    const { leaseUntil, acquiredAt, ...rest } = record;
    same(rest, { ...lease, env: s.env, state: "claimed", finishedAt: null, detail: null }, "record");
    same(leaseUntil, acquiredAt + LONG_MS, "leaseUntil");
  },

  "the same call again answers the same lease (F41)": async (s) => {
    const asked = request(s, { leaseMs: SHORT_MS });
    const first = await s.store.leases.acquire(asked);
    const before = await s.store.leases.get(s.env, "export");
    same(await s.store.leases.acquire({ ...asked, owner: "node-2", leaseMs: LONG_MS }), first, "again");
    same(await s.store.leases.get(s.env, "export"), before, "record");
  },

  "the same call again after the expiry renews a lease that no other owner took": async (s) => {
    const asked = request(s, { leaseMs: SHORT_MS });
    const first = await s.store.leases.acquire(asked);
    const before = some(await s.store.leases.get(s.env, "export"), "record");
    await s.advance(PAST_MS);
    same(await s.store.leases.acquire({ ...asked, owner: "node-2", leaseMs: LONG_MS }), first, "again");
    same(await s.store.leases.owns({ env: s.env, key: "export", epoch: 1, token: asked.token }), true, "owns");
    const { leaseUntil, ...after } = some(await s.store.leases.get(s.env, "export"), "record");
    same({ ...after, leaseUntil: before.leaseUntil }, before, "record but for its time");
    holds(leaseUntil >= before.leaseUntil + LONG_MS - SHORT_MS, "its time is the one asked for now");
    same((await s.store.leases.acquire(request(s))).outcome, "busy", "for others");
  },

  "an invalid lease is lost or unknown, an invalid time is rejected": async (s) => {
    const lease = await acquire(s);
    const odd = [{ token: "x" }, { epoch: 0.5 }, { epoch: Number.NaN }, { key: "a\0b" }, { env: "\ud800" }];
    for (const part of odd) {
      const fence = { ...lease, ...part };
      same(await s.store.leases.renew(fence, LONG_MS), false, "renew");
      same(await s.store.leases.owns(fence), false, "owns");
      same(await s.store.leases.complete(fence), false, "complete");
      same(await s.store.leases.fail(fence, "no"), false, "fail");
      same(await s.store.leases.release(fence), false, "release");
    }
    same(await s.store.leases.get(s.env, "a\0b"), null, "get");
    for (const leaseMs of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      await rejects(s.store.leases.renew(lease, leaseMs), `renew for ${leaseMs}`);
      await rejects(s.store.leases.acquire(request(s, { leaseMs })), `acquire for ${leaseMs}`);
    }
    await rejects(s.store.leases.reclaimExpired({ env: s.env, limit: 0.5 }), "half a limit");
    same(await s.store.leases.reclaimExpired({ env: s.env, limit: 0 }), [], "no limit");
  },

  "a held key is busy, also for its owner under another token": async (s) => {
    await acquire(s);
    for (const owner of ["node-2", "node-1"]) {
      const answer = await s.store.leases.acquire(request(s, { owner }));
      holds(answer.outcome === "busy", `busy for ${owner}`);
      same(answer.owner, "node-1", "who holds it");
      holds(answer.leftMs > 0 && answer.leftMs <= LONG_MS, "the time left");
      same(Number.isInteger(answer.leftMs), true, "whole milliseconds");
    }
  },

  "an expired lease is stolen: one attempt more": async (s) => {
    await acquire(s, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const asked = request(s, { owner: "node-2" });
    const lease = { key: "export", owner: "node-2", epoch: 2, token: asked.token, attempt: 2 };
    same(await s.store.leases.acquire(asked), { outcome: "stolen", lease, previousOwner: "node-1" }, "answer");
    matches(await s.store.leases.get(s.env, "export"), { state: "claimed", owner: "node-2" }, "record");
  },

  "after done the attempts start over, the epoch continues": async (s) => {
    const first = await acquire(s, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const second = await acquire(s);
    same(await s.store.leases.complete(second), true, "complete");
    const answer = await s.store.leases.acquire(request(s));
    same(answer.outcome, "acquired", "outcome");
    matches(answer.outcome === "acquired" ? answer.lease : null, { attempt: 1, epoch: first.epoch + 2 }, "lease");
  },

  "after a failure it is one attempt more": async (s) => {
    const lease = await acquire(s);
    same(await s.store.leases.fail(lease, "disk full"), true, "fail");
    matches(await s.store.leases.get(s.env, "export"), { state: "failed", detail: "disk full" }, "record");
    const answer = await s.store.leases.acquire(request(s));
    same(answer.outcome, "acquired", "outcome");
    matches(answer.outcome === "acquired" ? answer.lease : null, { attempt: 2, epoch: 2 }, "lease");
    matches(
      await s.store.leases.get(s.env, "export"),
      { state: "claimed", detail: null, finishedAt: null },
      "new record",
    );
  },

  "a released lease can be acquired at once": async (s) => {
    const lease = await acquire(s);
    same(await s.store.leases.release(lease), true, "release");
    const record = some(await s.store.leases.get(s.env, "export"), "record");
    matches(record, { state: "done", detail: null }, "record");
    matches(await acquire(s, { owner: "node-2" }), { attempt: 1, epoch: 2 }, "the next lease");
  },

  "a renewal prolongs it, also after its time": async (s) => {
    const lease = await acquire(s, { leaseMs: SHORT_MS });
    same(await s.store.leases.renew(lease, SHORT_MS), true, "in time");
    await s.advance(PAST_MS);
    same(await s.store.leases.renew(lease, LONG_MS), true, "after its time");
    same((await s.store.leases.acquire(request(s))).outcome, "busy", "for others");
    same(await s.store.leases.owns(lease), true, "owns");
  },

  "owning needs the fence and time": async (s) => {
    const lease = await acquire(s, { leaseMs: LONG_MS });
    const short = await acquire(s, { key: "short", leaseMs: SHORT_MS });
    same(await s.store.leases.owns(lease), true, "while held");
    await s.advance(PAST_MS);
    same(await s.store.leases.owns(short), false, "after its time");
    same(await s.store.leases.owns({ ...lease, token: s.token() }), false, "another token");
    await s.store.leases.complete(lease);
    same(await s.store.leases.owns(lease), false, "after the end");
  },

  "a wrong fence changes nothing (S4)": async (s) => {
    const lease = await acquire(s);
    const before = await s.store.leases.get(s.env, "export");
    const wrong = [{ token: s.token() }, { epoch: 2 }, { key: "other" }, { env: `${s.env}-2` }];
    for (const part of wrong) {
      const fence = { ...lease, ...part };
      same(await s.store.leases.renew(fence, 9 * LONG_MS), false, "renew");
      same(await s.store.leases.complete(fence), false, "complete");
      same(await s.store.leases.fail(fence, "no"), false, "fail");
      same(await s.store.leases.release(fence), false, "release");
    }
    same(await s.store.leases.get(s.env, "export"), before, "record");
  },

  "an owner whose lease was stolen has lost (S4)": async (s) => {
    const old = await acquire(s, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const next = await acquire(s, { owner: "node-2" });
    same(await s.store.leases.renew(old, LONG_MS), false, "renew");
    same(await s.store.leases.complete(old), false, "complete");
    same(await s.store.leases.fail(old, "no"), false, "fail");
    same(await s.store.leases.release(old), false, "release");
    same(await s.store.leases.owns(next), true, "the new owner");
  },

  "an end repeated finds its own effect (F41)": async (s) => {
    const ends = {
      complete: (lease: LeaseFence) => s.store.leases.complete(lease),
      fail: (lease: LeaseFence) => s.store.leases.fail(lease, "no"),
      release: (lease: LeaseFence) => s.store.leases.release(lease),
    };
    for (const [key, end] of Object.entries(ends)) {
      const lease = await acquire(s, { key });
      same(await end(lease), true, key);
      const record = await s.store.leases.get(s.env, key);
      same(await end(lease), true, `${key} again`);
      same(await s.store.leases.get(s.env, key), record, `${key}: record`);
      await acquire(s, { key });
      same(await end(lease), false, `${key} after it was acquired again`);
    }
  },

  "another end than the first is refused": async (s) => {
    const lease = await acquire(s);
    await s.store.leases.complete(lease);
    same(await s.store.leases.fail(lease, "no"), false, "fail");
    same(await s.store.leases.renew(lease, LONG_MS), false, "renew");
    matches(await s.store.leases.get(s.env, "export"), { state: "done", detail: null }, "record");
  },

  "expired leases are reclaimed, oldest first, once": async (s) => {
    await acquire(s, { key: "z-early", leaseMs: 1 });
    const late = await acquire(s, { key: "a-late", leaseMs: SHORT_MS });
    await acquire(s, { key: "live" });
    await acquire(s, { key: "else", env: `${s.env}-2`, leaseMs: 1 });
    await s.store.leases.complete(await acquire(s, { key: "done", leaseMs: 1 }));
    await s.advance(PAST_MS);
    const [first, ...more] = await s.store.leases.reclaimExpired({ env: s.env, limit: 1 });
    same(more, [], "beyond the limit");
    matches(first, { key: "z-early", state: "expired", owner: "node-1", attempt: 1, epoch: 1 }, "first");
    const rest = await s.store.leases.reclaimExpired({ env: s.env, limit: 10 });
    same(
      rest.map(({ key }) => key),
      ["a-late"],
      "then",
    );
    same(await s.store.leases.reclaimExpired({ env: s.env, limit: 10 }), [], "nothing left");
    same(await s.store.leases.renew(late, LONG_MS), false, "a late renewal");
    same(await s.store.leases.complete(late), false, "a late end");
  },

  "a reclaimed lease is stolen by the next": async (s) => {
    await acquire(s, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    await s.store.leases.reclaimExpired({ env: s.env, limit: 10 });
    const answer = await s.store.leases.acquire(request(s, { owner: "node-2" }));
    holds(answer.outcome === "stolen", "stolen");
    same([answer.previousOwner, answer.lease.attempt, answer.lease.epoch], ["node-1", 2, 2], "answer");
  },

  "a lease past its time is shown as expired": async (s) => {
    await acquire(s, { leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    matches(await s.store.leases.get(s.env, "export"), { state: "expired", owner: "node-1" }, "record");
    same(await s.store.leases.get(s.env, "nothing"), null, "an unknown key");
  },

  "keys of other envs do not meet (S18)": async (s) => {
    await acquire(s);
    matches(await acquire(s, { env: `${s.env}-2`, owner: "node-2" }), { epoch: 1, attempt: 1 }, "lease");
  },

  "of many at once one acquires (S3)": async (s) => {
    const tenTimes = async (key: string) => {
      const requests = Array.from({ length: 10 }, () => request(s, { key }));
      const answers = await Promise.all(requests.map((one) => s.store.leases.acquire(one)));
      return answers.map(({ outcome }) => outcome).filter((outcome) => outcome !== "busy");
    };
    same(await tenTimes("fresh"), ["acquired"], "a fresh key");
    await acquire(s, { key: "over", leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    same(await tenTimes("over"), ["stolen"], "a key whose lease has expired");
  },
});
