// Machine instances: written at the sequence that was read, with their timers and effects, or not at all.

import type { NewInstance, NewTimer } from "../../../store/contract/machine/machines.js";
import { cases } from "../case.js";
import { holds, matches, rejects, same, some } from "../expect.js";
import { PAST_MS, SHORT_MS } from "../scene.js";
import { append, change, claim, created, log, newInstance, timer, timerIds, told } from "./machine-family.js";

export const machineCases = cases("machines", {
  "an instance is created once with what belongs to it; the same again is the same, another input a conflict": async (
    s,
  ) => {
    const run = s.newRun();
    const one = await created(s, { timers: [timer(s)], effects: [run], redact: ["context.email"] });
    const again = { ...one, token: s.token(), timers: [timer(s)] };
    const other = { ...again, inputHash: "other" };
    same(
      await s.store.machines.create([one, again, other]),
      [...[{ outcome: "created" }, { outcome: "existing" }, { outcome: "conflict" }]],
      "a repeat, the same, another",
    );
    const [loaded] = await s.store.machines.load([one.key]);
    matches(
      some(loaded, "the instance"),
      { id: one.id, seq: 1, snapshotSeq: 1, status: "active", problem: null },
      "row",
    );
    same(loaded!.redact, ["context.email"], "redacted paths");
    same(loaded!.snapshot, one.snapshot, "snapshot");
    same(await timerIds(s, one), [one.timers[0]!.id], "timers");
    same((await s.run(run.id)).state, "waiting", "the effect");
  },

  "an append moves the row from the expected sequence, with events, timers and effects; elsewhere it leaves nothing":
    async (s) => {
      const old = timer(s);
      const one = await created(s, { timers: [old] });
      const [run, lost] = [s.newRun(), s.newRun()];
      const next = timer(s, { generation: 2 });
      const good = append(s, one, 1, { timers: [next], cancelled: [old.id], effects: [run], value: '"b"' });
      same(await s.store.machines.append([good]), [{ outcome: "accepted", seq: 2 }], "append");
      same(await s.store.machines.append([good]), [{ outcome: "recorded", seq: 2 }], "the same again");
      const late = append(s, one, 1, { timers: [timer(s)], cancelled: [next.id], effects: [lost], value: '"c"' });
      same(await s.store.machines.append([late]), [{ outcome: "moved", seq: 2 }], "from where it was");
      same(await timerIds(s, one), [next.id], "timers");
      same(await log(s, one), [1, 2], "events");
      same(await s.store.runs.get(lost.id), null, "the effect of what was refused");
      matches(some((await s.store.machines.load([one.key]))[0], "row"), { seq: 2, value: '"b"' }, "row");
    },

  "without a snapshot the last one stays, with its own sequence": async (s) => {
    const one = await created(s);
    await s.store.machines.append([append(s, one, 1, { snapshot: null })]);
    const [loaded] = await s.store.machines.load([one.key]);
    matches(some(loaded, "the instance"), { seq: 2, snapshotSeq: 1 }, "row");
    same(loaded!.snapshot, one.snapshot, "snapshot");
  },

  "a timer set again is replaced, its kind too, and starts over in its new generation": async (s) => {
    const set = timer(s, { delayMs: 60_000 });
    const one = await created(s, { timers: [set] });
    await s.advance(10);
    const [before] = await s.store.machines.timers(one.key);
    const setAgain: NewTimer = { ...set, generation: 2, kind: "raise", name: "after 2s" };
    await s.store.machines.append([append(s, one, 1, { timers: [setAgain] })]);
    const [after] = await s.store.machines.timers(one.key);
    matches(some(after, "the timer"), { generation: 2, kind: "raise", name: "after 2s", attempts: 0 }, "timer");
    holds(after!.dueAt >= before!.dueAt + 10, "its deadline is later");
  },

  "a fired timer goes with the append that names it; in another generation nothing is written": async (s) => {
    const set = timer(s);
    const one = await created(s, { timers: [set] });
    const wrong = append(s, one, 1, { fired: [{ id: set.id, generation: 2 }] });
    same(await s.store.machines.append([wrong]), [{ outcome: "moved", seq: 1 }], "another generation");
    const right = append(s, one, 1, { fired: [{ id: set.id, generation: 1 }] });
    same(await s.store.machines.append([right]), [{ outcome: "accepted", seq: 2 }], "its own");
    same(await timerIds(s, one), [], "timers");
    const gone = append(s, one, 2, { fired: [{ id: set.id, generation: 1 }] });
    same(await s.store.machines.append([gone]), [{ outcome: "moved", seq: 2 }], "once more");
  },

  "a timer that fires and is set again in one append exists, in its new generation": async (s) => {
    const set = timer(s);
    const one = await created(s, { timers: [set] });
    const fired = [{ id: set.id, generation: 1 }];
    await s.store.machines.append([append(s, one, 1, { fired, timers: [{ ...set, generation: 2 }] })]);
    matches(some((await s.store.machines.timers(one.key))[0], "the timer"), { generation: 2 }, "timer");
  },

  "an ended instance takes nothing, and keeps only timers that carry events sent to it": async (s) => {
    const one = await created(s, { timers: [timer(s)] });
    const message = told(s, one);
    await s.store.machines.tell([message]);
    const end = append(s, one, 1, { status: "done" });
    same(await s.store.machines.append([end]), [{ outcome: "accepted", seq: 2 }], "the end");
    same(await timerIds(s, one), [message.id], "timers");
    same(
      await s.store.machines.append([append(s, one, 2)]),
      [{ outcome: "ended", status: "done", seq: 2 }],
      "after it",
    );
    same(await s.store.machines.tell([told(s, one)]), [{ outcome: "ended", status: "done" }], "told");
  },

  "a key is accepted once": async (s) => {
    const one = await created(s);
    const keyed = (expectedSeq: number) => {
      const [event] = change(s).events;
      return append(s, one, expectedSeq, { events: [{ ...event!, key: "k" }] });
    };
    same(await s.store.machines.append([keyed(1)]), [{ outcome: "accepted", seq: 2 }], "first");
    same(await s.store.machines.append([keyed(2)]), [{ outcome: "taken", keys: ["k"] }], "second");
    same(await s.store.machines.append([append(s, newInstance(s), 1)]), [{ outcome: "unknown" }], "of no instance");
  },

  "one bad append is refused alone": async (s) => {
    const [one, two] = [await created(s), await created(s)];
    const bad = append(s, one, 1, { value: "\0" });
    const [refused, accepted] = await s.store.machines.append([bad, append(s, two, 1)]);
    same([refused!.outcome, accepted!.outcome], ["refused", "accepted"], "outcomes");
    const double = append(s, one, 1, { timers: [timer(s)] });
    const [apart] = await s.store.machines.append([{ ...double, cancelled: [double.timers[0]!.id] }]);
    same(apart!.outcome, "refused", "cancelled and set");
  },

  "an event sent to an instance waits as a timer, once, until an append takes its key": async (s) => {
    const one = await created(s);
    const message = told(s, one);
    same(
      await s.store.machines.tell([message, message]),
      [{ outcome: "accepted" }, { outcome: "accepted" }],
      "sent twice",
    );
    same(await timerIds(s, one), [message.id], "in line once");
    const [event] = change(s).events;
    const events = [{ ...event!, key: message.id }];
    await s.store.machines.append([append(s, one, 1, { events, fired: [{ id: message.id, generation: 0 }] })]);
    same(await s.store.machines.tell([message]), [{ outcome: "accepted" }], "sent after it was taken");
    same(await timerIds(s, one), [], "not again in line");
    same(await s.store.machines.tell([told(s, newInstance(s))]), [{ outcome: "unknown" }], "to no instance");
  },

  "an event waits where its instance is served, not where its sender is": async (s) => {
    const there = s.group({ queue: "m", program: "m", stack: "there" });
    const [one, sender] = [await created(s, { group: there }), await created(s)];
    await s.store.machines.tell([told(s, one)]);
    await s.store.machines.append([append(s, sender, 1, { told: [told(s, one, { generation: 1 })] })]);
    await s.advance(1);
    same((await s.store.machines.claimTimers(claim(s))).timers, [], "where the senders are");
    same((await s.store.machines.claimTimers(claim(s, { groups: [there] }))).timers.length, 2, "where it is");
  },

  "in a transaction, instances and sent events exist when it commits, and not when it is rolled back": async (s) => {
    const [kept, undone] = [newInstance(s, { timers: [timer(s)] }), newInstance(s)];
    const one = await created(s);
    await s.transaction("commit", async (tx) => {
      same(await s.store.machines.create([kept], { tx }), [{ outcome: "created" }], "created in it");
      same(
        await s.store.machines.tell([told(s, kept), told(s, one)], { tx }),
        [...[{ outcome: "accepted" }, { outcome: "accepted" }]],
        "sent in it",
      );
      same((await s.store.machines.load([kept.key], { tx })).length, 1, "seen in it");
      same(await s.store.machines.load([kept.key]), [null], "seen outside");
    });
    await s.transaction("rollback", async (tx) => {
      await s.store.machines.create([undone], { tx });
      await s.store.machines.tell([told(s, one)], { tx });
    });
    same((await timerIds(s, kept)).length, 2, "timers of the one");
    same((await timerIds(s, one)).length, 1, "timers of the other");
    same(await s.store.machines.load([undone.key]), [null], "what was undone");
  },

  "timers that are due are taken with their instances, in order, for a lease's time": async (s) => {
    const [first, second, later] = [timer(s, { delayMs: 1 }), timer(s, { delayMs: 2 }), timer(s, { delayMs: 60_000 })];
    const one = await created(s, { timers: [second, later, first] });
    await s.advance(5);
    const taken = await s.store.machines.claimTimers(claim(s));
    same(
      taken.timers.map(({ id }) => id),
      [first.id, second.id],
      "in order",
    );
    same(
      taken.timers.map(({ attempts }) => attempts),
      [1, 1],
      "counted",
    );
    same(
      taken.instances.map(({ key }) => key),
      [one.key],
      "instances",
    );
    holds(taken.nextMs !== null && taken.nextMs > 1_000, "the next one is known");
    same((await s.store.machines.claimTimers(claim(s))).timers, [], "taken for a while");
    await s.advance(PAST_MS);
    same((await s.store.machines.claimTimers(claim(s))).timers.length, 2, "when the lease has expired");
    same(
      (await s.store.machines.claimTimers(claim(s, { groups: [s.group({ queue: "x", program: "x" })] }))).timers,
      [],
      "of others",
    );
  },

  "claimed timers are passed over, and considered again when the claim has expired": async (s) => {
    const [first, second, third] = [timer(s), timer(s), timer(s)];
    await created(s, { timers: [first, second, third] });
    await s.advance(1);
    const take = async (limit: number) => {
      const { timers, nextMs } = await s.store.machines.claimTimers(claim(s, { limit, leaseMs: 60_000 }));
      return { ids: timers.map(({ id }) => id), nextMs };
    };
    same(await take(2), { ids: [first.id, second.id], nextMs: 0 }, "as many as allowed: there may be more");
    const rest = await take(2);
    same(rest.ids, [third.id], "the one behind them");
    holds(rest.nextMs !== null && rest.nextMs > 1_000 && rest.nextMs <= 60_000, "when the first two are free again");
    same((await take(2)).ids, [], "no one else's");
  },

  "what a node that is gone has claimed is free at once, and what others have claimed is not": async (s) => {
    const [gone, alive] = [s.token(), s.token()];
    const [first, second] = [timer(s), timer(s)];
    await created(s, { timers: [first, second] });
    await s.advance(1);
    const take = async (owner: string, dead: readonly string[]) =>
      (await s.store.machines.claimTimers(claim(s, { limit: 1, leaseMs: 60_000, owner, gone: dead }))).timers;
    same(
      (await take(gone, [])).map(({ id }) => id),
      [first.id],
      "claimed by the node that dies",
    );
    same(
      (await take(alive, [])).map(({ id }) => id),
      [second.id],
      "claimed by another",
    );
    same(await take(alive, [s.token()]), [], "nothing of a node that holds nothing");
    same(
      (await take(alive, [gone])).map(({ id, attempts }) => [id, attempts]),
      [[first.id, 2]],
      "free, another attempt",
    );
    same(await take(alive, [gone]), [], "claimed by the live one now");
    await rejects(s.store.machines.claimTimers(claim(s, { gone: ["no id"] })), "no id");
  },

  "a claimed timer that is set again is free, and so is a dead one that is retried": async (s) => {
    const [setAgain, dies] = [timer(s), timer(s)];
    const one = await created(s, { timers: [setAgain, dies] });
    await s.advance(1);
    await s.store.machines.claimTimers(claim(s));
    await s.advance(PAST_MS);
    const last = claim(s, { leaseMs: 60_000, mostAttempts: 1 });
    const taken = await s.store.machines.claimTimers(last);
    same(
      taken.timers.map(({ state, tryAt }) => [state, tryAt]),
      ["dead", "dead"].map((state) => [state, taken.now + 60_000]),
      "not looked at before",
    );
    await s.store.machines.append([append(s, one, 1, { timers: [{ ...setAgain, generation: 2 }] })]);
    await s.advance(1);
    const free = async () => (await s.store.machines.claimTimers(claim(s))).timers.map(({ id }) => id);
    same(await free(), [setAgain.id], "set again");
    same(await s.store.machines.retryTimers(one.key), 1, "opened");
    same(await free(), [dies.id], "retried");
  },

  "a timer that is claimed too often without an outcome is dead, and can be retried": async (s) => {
    const one = await created(s, { timers: [timer(s)] });
    await s.advance(1);
    for (let n = 1; n <= 3; n++) {
      same(
        (await s.store.machines.claimTimers(claim(s))).timers.map(({ state }) => state),
        ["pending"],
        `take ${n}`,
      );
      await s.advance(PAST_MS);
    }
    matches(
      some((await s.store.machines.claimTimers(claim(s))).timers[0], "the last take"),
      { state: "dead", attempts: 4 },
      "dead",
    );
    await s.advance(PAST_MS);
    same((await s.store.machines.claimTimers(claim(s))).timers, [], "not taken any more");
    same(await s.store.machines.retryTimers(one.key), 1, "opened");
    same(
      (await s.store.machines.claimTimers(claim(s))).timers.map(({ attempts }) => attempts),
      [1],
      "again",
    );
  },

  "settled, a timer is tried later, kept, released, given up or gone, in its generation only": async (s) => {
    const [retry, keep, untried, dead, drop, other] = Array.from({ length: 6 }, () => timer(s));
    const one = await created(s, { timers: [retry!, keep!, untried!, dead!, drop!, other!] });
    await s.advance(1);
    await s.store.machines.claimTimers(claim(s, { leaseMs: 60_000 }));
    const settle = (of: NewTimer, as: "retry" | "keep" | "untried" | "dead" | "drop", generation = 1) => ({
      id: of.id,
      generation,
      attempts: 1,
      as,
      delayMs: SHORT_MS,
      problem: as,
    });
    const all = [settle(retry!, "retry"), settle(keep!, "keep"), settle(untried!, "untried"), settle(dead!, "dead")];
    const rest = [settle(drop!, "drop"), settle(other!, "drop", 2), { ...settle(other!, "drop"), attempts: 2 }];
    same(await s.store.machines.settleTimers([...all, rest[0]!, rest[1]!]), 5, "settled");
    same(await s.store.machines.settleTimers([rest[2]!]), 0, "of another attempt");
    await s.advance(PAST_MS);
    const { timers } = await s.store.machines.claimTimers(claim(s));
    same(new Set(timers.map(({ id }) => id)), new Set([retry!.id, keep!.id, untried!.id]), "tried again");
    const attempts = new Map(timers.map((one) => [one.id, one.attempts]));
    same(
      [retry!, keep!, untried!].map(({ id }) => attempts.get(id)),
      [2, 1, 1],
      "attempts",
    );
    const states = new Map((await s.store.machines.timers(one.key)).map(({ id, state }) => [id, state]));
    same([states.get(dead!.id), states.get(drop!.id), states.get(other!.id)], ["dead", undefined, "pending"], "states");
  },

  "lists go by pages, newest first; a problem is shown until the instance continues": async (s) => {
    const ones: NewInstance[] = [];
    for (let n = 0; n < 3; n++) {
      ones.push(await created(s));
      await s.advance(2);
    }
    same(await s.store.machines.note(ones[0]!.key, 1, "strange"), true, "noted");
    same(await s.store.machines.note(ones[0]!.key, 7, "stranger"), false, "at another sequence");
    const first = await s.store.machines.list({ env: s.env, machine: "m" }, { limit: 2 });
    const rest = await s.store.machines.list({ env: s.env }, { limit: 2, before: first.next! });
    same(
      [...first.instances, ...rest.instances].map(({ id }) => id),
      ones.map(({ id }) => id).reverse(),
      "order",
    );
    same(rest.instances[0]!.problem, "strange", "problem");
    await s.store.machines.append([append(s, ones[0]!, 1, { status: "stopped" })]);
    const { instances } = await s.store.machines.list({ env: s.env, statuses: ["stopped"] }, { limit: 9 });
    same(
      instances.map(({ id, problem }) => [id, problem]),
      [[ones[0]!.id, null]],
      "ended ones",
    );
  },

  "ended instances are pruned with all they have, others stay": async (s) => {
    const [ended, live] = [await created(s), await created(s, { timers: [timer(s)] })];
    await s.store.machines.append([append(s, ended, 1, { status: "done" })]);
    await s.advance(PAST_MS);
    same(await s.store.machines.prune({ env: s.env, endedBeforeMs: 60_000, limit: 10 }), 0, "too young");
    same(await s.store.machines.prune({ env: s.env, endedBeforeMs: SHORT_MS, limit: 10 }), 1, "old enough");
    same(await s.store.machines.load([ended.key]), [null], "gone");
    same(await log(s, ended), [], "its events");
    same([(await log(s, live)).length, (await timerIds(s, live)).length], [1, 1], "the other one");
  },
});
