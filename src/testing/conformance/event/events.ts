// Events: which programs they start, subscriptions in line with the nodes, and subjects that gather until they are
// quiet.

import type { Filter } from "../../../kernel/contains.js";
import { filterable } from "../../../kernel/contains.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import type { NewDebounced, Subscription } from "../../../store/contract/event/events.js";
import type { ClaimedRun } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { matches, rejects, same, some } from "../expect.js";
import { complete, PAST_MS, payload, type Scene, SHORT_MS } from "../scene.js";

/** Longer than a case takes, and a jump that is longer still. */
const WINDOW_MS = 400;
const QUIET_MS = 500;

function subscription(s: Scene, more: Partial<Subscription> = {}): Subscription {
  return {
    id: "work on updated",
    scope: more.id ?? "work on updated",
    env: s.env,
    stack: null,
    event: "updated",
    program: "work",
    queue: "work",
    version: null,
    where: [],
    subject: null,
    debounceMs: null,
    lifetime: "archived",
    crashLimit: 5,
    breaker: null,
    ...more,
  };
}

/** A live node that serves the program `work`, and has said nothing yet. */
async function registered(s: Scene, heartbeatMs = 600_000, program = "work"): Promise<string> {
  const incarnation = s.token();
  const serves = await s.store.runs.groupIds([s.group({ program })]);
  const registration = { incarnation, identity: "i", name: "n", env: s.env, stack: null, build: null };
  await s.store.nodes.register({ ...registration, serves, heartbeatMs });
  return incarnation;
}

/** A live node that serves the program `work` and declares these. */
async function node(s: Scene, subscriptions: readonly Subscription[], heartbeatMs = 600_000): Promise<string> {
  const incarnation = await registered(s, heartbeatMs);
  await s.store.events.subscribe({ incarnation, env: s.env, subscriptions, starting: true });
  return incarnation;
}

const look = (s: Scene, incarnation: string) =>
  s.store.events.subscribe({ incarnation, env: s.env, subscriptions: [], starting: false });

const ids = async (s: Scene) => (await s.store.events.subscriptions(s.env)).map(({ id }) => id);

async function matched(s: Scene, value: unknown, more: { event?: string; stack?: string; env?: string } = {}) {
  const event = { env: s.env, stack: null, event: "updated", plain: JSON.stringify(filterable(value)), ...more };
  const [found] = await s.store.events.match([event]);
  return some(found, "the answer").map(({ id }) => id);
}

function gathered(s: Scene, value: unknown, more: { subject?: string; windowMs?: number } = {}): NewDebounced {
  const { subject = '"a"', windowMs = WINDOW_MS } = more;
  const run = s.newRun({ input: payload(value) });
  return { run, ticket: { subscription: "work on updated", subject, windowMs } };
}

async function settle(s: Scene, claim: ClaimedRun): Promise<string> {
  const ticket = some(claim.debounce, "the ticket");
  return (await s.store.events.settleDebounced(claim, claim.seq, ticket)).outcome;
}

/** The one run that is claimable begins with the event it gathered. */
async function begun(s: Scene, value: unknown): Promise<ClaimedRun> {
  same(await settle(s, await s.claimOne()), "begins", "settle");
  const claim = await s.claimOne();
  matches(claim, { input: payload(value), debounce: null, crashes: 1, failures: 0 }, "the run that begins");
  return claim;
}

const matchCases = cases("events: who is started", {
  "an event starts what subscribed to it in its env and stack, and nothing else": async (s) => {
    const blue = { id: "work on updated, blue", stack: "blue" };
    await node(s, [subscription(s), subscription(s, blue), subscription(s, { id: "other", event: "created" })]);
    same(await matched(s, {}), ["work on updated"], "in no stack");
    same(await matched(s, {}, { stack: "blue" }), ["work on updated, blue"], "in a stack");
    same(await matched(s, {}, { stack: "red" }), [], "in another stack");
    same(await matched(s, {}, { event: "created" }), ["other"], "another event");
    same(await matched(s, {}, { env: `${s.env}-x` }), [], "another env");
    same(await s.store.events.match([]), [], "no events");
  },

  "a filter is one of several alternatives, each contained in the payload": async (s) => {
    const where: Filter[] = [{ kind: "disk", place: { zone: "a" } }, { kind: "cpu" }];
    await node(s, [subscription(s, { where }), subscription(s, { id: "any", where: [{}] })]);
    const disk = { kind: "disk", place: { zone: "a", row: 1 }, tags: ["x"] };
    const events = [disk, { kind: "cpu", n: 1 }, { kind: "disk", place: { zone: "b" } }, { kind: ["cpu"] }];
    const found = await s.store.events.match(
      events.map((value) => ({ env: s.env, stack: null, event: "updated", plain: JSON.stringify(value) })),
    );
    const names = found.map((some) => some.map(({ id }) => id));
    same(names, [["any", "work on updated"], ["any", "work on updated"], ["any"], ["any"]], "matched");
  },

  "a match has everything a run needs, with limits as declared": async (s) => {
    const limits = [{ kind: "slots", path: ["kind"], max: 2, perMs: null } as const];
    const one = subscription(s, { version: "2", subject: ["kind"], debounceMs: 50, lifetime: { forMs: 1000 } });
    await s.declare([{ group: s.group({ version: "2" }), limits }]);
    await node(s, [one]);
    const [found] = await s.store.events.match([{ env: s.env, stack: null, event: "updated", plain: "{}" }]);
    same(found, [{ ...one, limits }], "matched");
    same(await s.store.events.subscriptions(s.env), [one], "listed");
  },
});

const subscribeCases = cases("events: subscriptions follow the code", {
  "a changed trigger is changed by a node that starts, and not by an older one that declares itself again": async (
    s,
  ) => {
    const older = await node(s, [subscription(s)]);
    await node(s, [subscription(s, { version: "2" })]);
    const again = { incarnation: older, env: s.env, subscriptions: [subscription(s)], starting: false };
    same(await s.store.events.subscribe(again), 0, "removed");
    same((await s.store.events.subscriptions(s.env))[0]?.version, "2", "version");
  },

  "a trigger that was dropped goes with the last node that knows it": async (s) => {
    const older = [await node(s, [subscription(s)]), await node(s, [subscription(s)])];
    const newer = await node(s, [subscription(s, { id: "new" })]);
    same(await ids(s), ["new", "work on updated"], "while both codes run");
    await s.store.nodes.stop(older[0]!);
    same(await look(s, newer), 0, "removed while one is left");
    await s.store.nodes.stop(older[1]!);
    same(await look(s, newer), 1, "removed with the last");
    same(await ids(s), ["new"], "left");
  },

  "what a node declares at a start is all that it declares, whatever it had said before an answer was lost": async (
    s,
  ) => {
    const incarnation = await node(s, [subscription(s), subscription(s, { id: "dropped" })]);
    const declaration = { incarnation, env: s.env, subscriptions: [subscription(s)] };
    same(await s.store.events.subscribe({ ...declaration, starting: false }), 0, "removed when it only puts back");
    same(await s.store.events.subscribe({ ...declaration, starting: true }), 1, "removed at a start");
    same(await ids(s), ["work on updated"], "left");
  },

  "a node that is about to declare keeps what another that stops has declared": async (s) => {
    const older = await node(s, [subscription(s)]);
    const newer = await registered(s);
    await s.store.nodes.stop(older);
    same(await look(s, older), 0, "removed by the one that stops");
    same(await matched(s, {}), ["work on updated"], "events in between");
    await s.store.events.subscribe({
      incarnation: newer,
      env: s.env,
      subscriptions: [subscription(s)],
      starting: true,
    });
    same(await ids(s), ["work on updated"], "left");
  },

  "the last node that leaves keeps what it declared, also when it is not known as stopping": async (s) => {
    const incarnation = await node(s, [subscription(s)]);
    const withdrawn = { incarnation, env: s.env, subscriptions: [], withdrawn: ["work on updated"], starting: false };
    same(await s.store.events.subscribe({ ...withdrawn, leaving: true }), 0, "removed by the one that leaves");
    same(await look(s, await registered(s, 600_000, "other")), 0, "removed by a node of another program");
    same(await ids(s), ["work on updated"], "left");
    same(await s.store.events.subscribe(withdrawn), 1, "removed by one that stays and has other code");
  },

  "a node that hangs for a moment still counts": async (s) => {
    await node(s, [subscription(s)], SHORT_MS);
    await s.advance(4 * PAST_MS);
    await node(s, []);
    same(await ids(s), ["work on updated"], "left");
  },

  "with no live node of its program a subscription stays": async (s) => {
    await s.store.nodes.stop(await node(s, [subscription(s)]));
    same(await look(s, await registered(s, 600_000, "other")), 0, "removed");
    same(await matched(s, {}), ["work on updated"], "still there");
  },

  "bad declarations are refused": async (s) => {
    const declare = (subscriptions: readonly Subscription[]) =>
      s.store.events.subscribe({ incarnation: s.token(), env: s.env, subscriptions, starting: true });
    await rejects(declare([subscription(s, { event: "a\0" })]), "a bad event");
    await rejects(declare([subscription(s, { env: "elsewhere" })]), "another env");
    await rejects(declare([subscription(s), subscription(s)]), "one id twice");
    await rejects(declare([subscription(s, { crashLimit: 0 })]), "a bad limit");
    same(await ids(s), [], "nothing was written");
  },
});

const debounceCases = cases("events: debounce", {
  "many events of a subject make one run, with the last one": async (s) => {
    const events = [1, 2, 3].map((n) => gathered(s, n));
    const [first] = await s.store.events.debounce([events[0]!]);
    const runId = events[0]!.run.id;
    same(first, { outcome: "gathered", runId }, "the first");
    const both = [
      { outcome: "gathered", runId },
      { outcome: "gathered", runId },
    ];
    same(await s.store.events.debounce(events.slice(1)), both, "the others");
    same((await s.claim()).length, 0, "claimable while the window is open");
    await s.advance(QUIET_MS);
    const claim = await begun(s, 3);
    same(claim.runId, runId, "the run");
    same(await s.log(runId), ["start"], "its log");
    await s.accept(claim, [complete]);
    same((await s.claim()).length, 0, "claimable afterwards");
  },

  "each subject gathers for itself": async (s) => {
    await s.store.events.debounce([gathered(s, 1), gathered(s, 2, { subject: '"b"' })]);
    await s.advance(QUIET_MS);
    const claims = await s.claim();
    same(claims.length, 2, "runs");
    for (const claim of claims) same(await settle(s, claim), "begins", "settle");
    same(new Set((await s.claim()).map(({ input }) => input.data)), new Set(["1", "2"]), "inputs");
  },

  "while others come the run waits on, at no cost": async (s) => {
    const event = gathered(s, 1);
    await s.store.events.debounce([event]);
    await s.advance(QUIET_MS);
    const claim = await s.claimOne();
    await s.store.events.debounce([gathered(s, 2)]);
    same(await settle(s, claim), "waits", "settle");
    matches(await s.run(event.run.id), { state: "waiting", crashes: 0, failures: 0, generation: 0 }, "the run");
    await s.store.inbox.send([s.message(event.run.id)]);
    same((await s.claim()).length, 0, "claimable because of a message");
    await s.advance(QUIET_MS);
    same(await settle(s, await s.claimOne()), "begins", "settle");
    matches(await s.claimOne(), { input: payload(2) }, "the run");
  },

  "an event after the taking makes the next run": async (s) => {
    const [one, two] = [gathered(s, 1), gathered(s, 2)];
    await s.store.events.debounce([one]);
    await s.advance(QUIET_MS);
    const claim = await begun(s, 1);
    same(await s.store.events.debounce([two]), [{ outcome: "gathered", runId: two.run.id }], "the second");
    await s.accept(claim, [complete]);
    await s.advance(QUIET_MS);
    same((await begun(s, 2)).runId, two.run.id, "the next run");
  },

  "a run that was cancelled gathers no more": async (s) => {
    const [one, two] = [gathered(s, 1), gathered(s, 2)];
    await s.store.events.debounce([one]);
    await s.store.runs.cancel(one.run.id, { by: "me" });
    same(await s.store.events.debounce([two]), [{ outcome: "gathered", runId: two.run.id }], "the second");
    await s.advance(QUIET_MS);
    await begun(s, 2);
  },

  "settling again after a lost reply finds what was written; a lost claim settles nothing": async (s) => {
    await s.store.events.debounce([gathered(s, 1)]);
    await s.advance(QUIET_MS);
    const claim = await s.claimOne();
    same(await settle(s, { ...claim, token: s.token() }), "lost", "another token");
    same(await settle(s, claim), "begins", "settle");
    same(await settle(s, claim), "begins", "again");
    const next = await s.claimOne();
    same((await s.store.events.settleDebounced(next, next.seq + 1, claim.debounce!)).outcome, "lost", "another place");
    matches(await s.run(claim.runId), { state: "running", generation: 1 }, "the run");
  },

  "a repeated event of a run that is there changes nothing": async (s) => {
    const event = gathered(s, 1);
    await s.store.events.debounce([event]);
    await s.advance(QUIET_MS);
    const claim = await begun(s, 1);
    same(await s.store.events.debounce([event]), [{ outcome: "gathered", runId: event.run.id }], "again");
    await s.accept(claim, [complete]);
    const later = gathered(s, 2);
    same(await s.store.events.debounce([later]), [{ outcome: "gathered", runId: later.run.id }], "the next event");
  },

  "in a transaction nothing is there before the commit; those that come together find each other": async (s) => {
    const [one, two, never] = [gathered(s, 1), gathered(s, 2), gathered(s, 3)];
    await s.transaction("rollback", (tx) => s.store.events.debounce([never], { tx }));
    same(await s.store.runs.get(never.run.id), null, "rolled back");
    await s.transaction("commit", (tx) => s.store.events.debounce([one], { tx }));
    await s.advance(1);
    await s.transaction("commit", (tx) => s.store.events.debounce([two], { tx }));
    const claims = await s.claim();
    same(
      claims.map(({ runId }) => runId),
      [one.run.id, two.run.id],
      "claimable at once",
    );
    same(await settle(s, claims[0]!), "waits", "the first");
    same(await settle(s, claims[1]!), "merged", "the second");
    same(await settle(s, claims[1]!), "merged", "the second again");
    same((await s.run(two.run.id)).state, "skipped", "the second");
    await s.advance(QUIET_MS);
    same((await begun(s, 2)).runId, one.run.id, "the run");
  },

  "what the same event starts besides is there with it, each once": async (s) => {
    const keyed = (key: string) => s.newRun({ key: s.newKey({ key, onMismatch: "skip" }) });
    const [one, two] = [gathered(s, 1), gathered(s, 2)];
    const [mine, limited] = [keyed("a"), { ...keyed("b"), limits: [{ kind: "slots", key: s.env, max: 1 } as const] }];
    const inserted = (run: NewRun) => ({ outcome: "inserted", runId: run.id });
    const accepted = (runs: unknown[]) => {
      return { outcome: "accepted", runs, debounced: [{ outcome: "gathered", runId: one.run.id }] };
    };
    for (const time of ["first", "again"]) {
      const answers = await s.store.events.accept([{ runs: [mine, limited], debounced: [one] }]);
      same(answers, [accepted([mine, limited].map(inserted))], time);
    }
    same((await s.run(limited.id)).state, "waiting", "admitted");
    // Of two events of a subject in one call the last counts; the runs are of both.
    const [again, other] = [keyed("a"), keyed("c")];
    const events = [
      { runs: [again], debounced: [two] },
      { runs: [other], debounced: [gathered(s, 3)] },
    ];
    const answers = [accepted([{ outcome: "existing", runId: mine.id }]), accepted([inserted(other)])];
    same(await s.store.events.accept(events), answers, "the others");
    const bad = { runs: [{ ...keyed("d"), priority: 0.5 }], debounced: [gathered(s, 4)] };
    same((await s.store.events.accept([bad]))[0]?.outcome, "refused", "one that cannot be stored");
    same(await s.store.runs.count({ env: s.env }), { waiting: 4 }, "runs");
  },

  "limits hold for it as for any other": async (s) => {
    const limits = [{ kind: "slots", key: `${s.env} slots`, max: 1 } as const];
    const running = await s.start({ limits });
    const event = gathered(s, 1);
    await s.store.events.debounce([{ ...event, run: { ...event.run, limits } }]);
    await s.advance(QUIET_MS);
    await s.store.runs.admit({ runIds: [event.run.id] });
    same((await s.claim()).length, 0, "claimable next to the other");
    await s.accept(running, [complete]);
    await s.store.runs.admit({ runIds: [event.run.id] });
    const claim = await s.claimOne();
    await s.store.events.debounce([gathered(s, 2)]);
    same(await settle(s, claim), "waits", "settle");
    const other = await s.insert({ limits });
    same((await s.claimOne()).runId, other.id, "who has the slot meanwhile");
  },

  "a bad event is refused alone": async (s) => {
    const [bad, good] = [gathered(s, 1, { subject: "\0" }), gathered(s, 2)];
    const [first, second] = await s.store.events.debounce([bad, good]);
    same([first?.outcome, second?.outcome], ["refused", "gathered"], "answers");
  },
});

export const eventCases = [...matchCases, ...subscribeCases, ...debounceCases];
