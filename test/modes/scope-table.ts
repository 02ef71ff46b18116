// Every operation of a store, and what keeps it in its own env. A new operation needs a line here.

import { CLEAN_PARTS } from "../../src/store/contract/cleanup.js";
import type { Store } from "../../src/store/contract/store.js";
import type { OperationName } from "../../src/store/operation.js";
import { json } from "../store/scene.js";
import { MOST, type Place, SHORT_MS } from "./scope-place.js";

/**
 * - `env`: it names its env, as an argument or in the rows that it brings, and touches no other.
 * - `id`: it names runs, claims, nodes, schedules, instances or fences by ids that others cannot guess. Here an id is the permission: a
 *   caller that must not touch a run must not learn its id.
 * - `groups`: it names claim groups by their numbers, which contain the env.
 * - `neutral`: it does the same for every caller, with only what is stored in the rows, and returns no ids.
 * - `names`: it returns the names of envs and nothing that is stored in them, for a person who looked in the wrong one.
 * - `all`: only when no env is named; then it is asked for all of them, and that is its purpose.
 */
export type Scope = "env" | "id" | "groups" | "neutral" | "names" | "all";

export interface Line {
  readonly scope: Scope;
  /** A call of env B with its most aggressive arguments; null: there is none. */
  readonly call: ((store: Store, b: Place) => Promise<unknown>) | null;
}

const by = { by: "me" };
const IMPATIENT = { watchedMs: 3_600_000, troubled: false };
const line = (scope: Scope, call: Line["call"]): Line => ({ scope, call });
const groupIds = (store: Store, b: Place) => store.runs.groupIds(b.groups);
const claim = async (store: Store, b: Place) => {
  const [owner, token] = [b.node, b.id()];
  b.claims = await store.runs.claim({
    owner,
    token,
    groupIds: await groupIds(store, b),
    limit: MOST,
    leaseMs: SHORT_MS,
  });
  return b.claims;
};
const old = ({ env }: Place) => ({ env, endedBeforeMs: 0, limit: MOST });
const complete = (b: Place) =>
  b.claims.map((one) => ({
    claim: one,
    expectedSeq: one.seq,
    effects: [{ kind: "complete", output: json("done") } as const],
  }));

const auditRow = (b: Place) => {
  const nothing = { before: null, after: null, note: null, request: null };
  return { id: b.id(), env: b.env, by: "me", via: "test", action: "runs.cancel", object: "run", ...nothing };
};
const token = (b: Place) => {
  const id = b.id();
  return { id, hash: id, name: "t", may: ["see"], envs: [b.env], groups: null, by: "me", expiresInMs: null };
};

export const OPERATIONS: Readonly<Record<OperationName, Line>> = {
  "runs.groupIds": line("env", groupIds),
  "runs.declare": line("id", (store, b) =>
    store.runs.declare(
      b.node,
      b.groups.map((group) => ({ group, limits: [], recovery: "fail" })),
    ),
  ),
  "runs.limitsOf": line("env", (store, b) => store.runs.limitsOf(b.group())),
  "runs.insert": line("env", (store, b) => {
    const limits = [{ kind: "slots", key: "line", max: 1, overflow: "drop" } as const];
    const key = { scope: "p", key: "k", payloadHash: "h", lifetime: "live", onMismatch: "skip" } as const;
    return store.runs.insert([b.run(), b.run({ limits }), b.run({ key, deferred: { by: "host", expiresInMs: 0 } })]);
  }),
  "runs.admit": line("env", (store, b) => store.runs.admit({ env: b.env, keys: MOST })),
  "runs.claim": line("groups", claim),
  "runs.renew": line("id", (store, b) => store.runs.renew(b.claims, SHORT_MS)),
  "runs.commit": line("id", (store, b) => store.runs.commit(complete(b))),
  "runs.transact": line("id", async (store, b) => {
    const [one] = complete(b);
    return (
      one &&
      store.runs.transact(async () => ({ ...one, effects: [{ kind: "append", entry: { kind: "step", name: "s" } }] }))
    );
  }),
  "runs.reclaimExpired": line("env", (store, { env }) => store.runs.reclaimExpired({ env, limit: MOST })),
  "runs.reviewMisfits": line("env", (store, { env }) => store.runs.reviewMisfits({ env, limit: MOST })),
  "runs.stopping": line("id", (store, b) => store.runs.stopping(b.any())),
  "runs.glance": line("id", (store, b) => store.runs.glance(b.runs)),
  "runs.orphans": line("all", (store, { env }) => store.runs.orphans({ env, staleMs: 0, limit: MOST })),
  "runs.recover": line("id", (store, b) => {
    const decisions = b.claims.map(({ runId, epoch }) => ({ runId, epoch, policy: "fail" }) as const);
    return store.runs.recover(decisions, { staleMs: 0 });
  }),
  "runs.expireDeferred": line("env", (store, { env }) => store.runs.expireDeferred({ env, limit: MOST })),
  "runs.unservedGroups": line("env", (store, { env }) =>
    store.runs.unservedGroups({ env, own: "x", stacks: null, programs: [{ queue: "q", program: "p", version: null }] }),
  ),
  "runs.findKey": line("env", (store, { env }) => store.runs.findKey({ env, scope: "p", key: "k" })),
  "runs.keyOf": line("id", (store, b) => store.runs.keyOf(b.any())),
  "runs.setAttributes": line("id", (store, b) =>
    store.runs.setAttributes({ runId: b.any(), attributes: { region: "eu" } }),
  ),
  "kept.get": line("env", (store, { env }) => store.kept.get(env, "s", "k")),
  "kept.list": line("env", (store, { env }) => store.kept.list({ env, space: "s", limit: MOST })),
  "kept.put": line("env", (store, { env }) =>
    store.kept.put([{ env, space: "s", key: "k", value: { codec: "json", data: "1" }, ttlMs: null }]),
  ),
  "runs.takeOutput": line("env", (store, b) =>
    store.runs.takeOutput({ env: b.env, key: "out", runId: b.id(), call: "c", keepMs: 60_000 }),
  ),
  "runs.wakeParked": line("neutral", (store) => store.runs.wakeParked({ limit: MOST })),
  "runs.nextDue": line("groups", async (store, b) => store.runs.nextDue(await groupIds(store, b))),
  "runs.retry": line("id", (store, b) => store.runs.retry(b.runs, { ...by, callId: b.id(), fromStart: true })),
  "runs.cancel": line("id", (store, b) => store.runs.cancel(b.any(), by)),
  "runs.cancelTasks": line("id", (store, b) => store.runs.cancelTasks(b.any(), by)),
  "runs.pause": line("id", (store, b) => store.runs.pause(b.any(), by)),
  "runs.resume": line("id", (store, b) => store.runs.resume(b.any(), by)),
  "runs.reconcile": line("all", (store, { env }) => store.runs.reconcile({ env })),
  "runs.get": line("id", (store, b) => store.runs.get(b.any())),
  "runs.claims": line("id", (store, b) => store.runs.claims(b.any(), { limit: MOST })),
  "runs.list": line("env", (store, { env }) => store.runs.list({ env }, { limit: MOST })),
  "runs.count": line("env", (store, { env }) => store.runs.count({ env })),
  "runs.archive": line("env", (store, b) => store.runs.archive(old(b))),
  "runs.prune": line("env", (store, b) => store.runs.prune(old(b))),
  "journal.lastSet": line("id", (store, b) => store.journal.lastSet(b.any(), "status")),
  "runs.countPrunable": line("env", (store, { env }) => store.runs.countPrunable({ env, endedBeforeMs: 0 })),
  "journal.read": line("id", (store, b) => store.journal.read(b.any())),
  "journal.peek": line("id", (store, b) => store.journal.peek([{ runId: b.any(), at: "start" } as never])),
  "inbox.send": line("id", (store, b) => store.inbox.send([b.message(b.any())])),
  "inbox.unread": line("id", (store, b) => store.inbox.unread(b.any())),
  "leases.acquire": line("env", async (store, b) => {
    const answer = await store.leases.acquire({
      env: b.env,
      key: "lease",
      owner: "me",
      token: b.id(),
      leaseMs: SHORT_MS,
    });
    if (answer.outcome !== "busy") b.lease = { key: "lease", epoch: answer.lease.epoch, token: answer.lease.token };
    return answer;
  }),
  "leases.renew": line("env", (store, b) => store.leases.renew({ env: b.env, ...b.lease }, SHORT_MS)),
  "leases.complete": line("env", (store, b) => store.leases.complete({ env: b.env, ...b.lease })),
  "leases.fail": line("env", (store, b) => store.leases.fail({ env: b.env, ...b.lease }, "no")),
  "leases.release": line("env", (store, b) => store.leases.release({ env: b.env, ...b.lease })),
  "leases.owns": line("env", (store, b) => store.leases.owns({ env: b.env, ...b.lease })),
  "leases.reclaimExpired": line("env", (store, { env }) => store.leases.reclaimExpired({ env, limit: MOST })),
  "leases.get": line("env", (store, { env }) => store.leases.get(env, "lease")),
  "nodes.register": line("env", async (store, b) => {
    const serves = await groupIds(store, b);
    return store.nodes.register({ ...b.registration({ serves }), incarnation: b.id(), stack: "lone", alone: true });
  }),
  "nodes.heartbeat": line("id", (store, b) => store.nodes.heartbeat(b.node)),
  "nodes.claimsFrom": line("id", async (store, b) => store.nodes.claimsFrom(b.node, await groupIds(store, b))),
  "nodes.changeMode": line("id", (store, b) => store.nodes.changeMode(b.node, { set: "full" }, { keep: true, ...by })),
  "nodes.stop": line("id", (store, b) => store.nodes.stop(b.id())),
  "nodes.list": line("env", (store, { env }) => store.nodes.list({ env, stopped: true })),
  "nodes.programs": line("env", (store, { env }) => store.nodes.programs(env)),
  "queues.pause": line("env", (store, { env }) => store.queues.pause(env, "other", "me")),
  "queues.resume": line("env", (store, { env }) => store.queues.resume(env, "other")),
  "queues.list": line("env", (store, { env }) => store.queues.list(env)),
  "schedules.declare": line("env", async (store, b) => {
    // Subscriptions that no node declares are removed at once.
    await store.schedules.declare({ ...b.schedules(0), schedules: [] });
    const ids = await store.schedules.declare(b.schedules(0));
    b.schedule = ids[0]!;
    return ids;
  }),
  "schedules.due": line("id", (store, b) => store.schedules.due([b.schedule])),
  "schedules.fire": line("id", async (store, b) => {
    const { schedules } = await store.schedules.list(b.env);
    const key = { scope: "p", key: "window", payloadHash: "h", lifetime: "archived", onMismatch: "skip" } as const;
    return store.schedules.fire(
      schedules.map(({ id, last }) => ({
        scheduleId: id,
        seenLast: last,
        last: last + 1,
        next: null,
        runs: [b.run({ key })],
      })),
    );
  }),
  "schedules.list": line("env", (store, { env }) => store.schedules.list(env)),
  "schedules.pause": line("env", (store, { env }) => store.schedules.pause(env, "p", "me")),
  "schedules.resume": line("env", (store, { env }) => store.schedules.resume(env, "p")),
  "events.subscribe": line("env", async (store, b) => {
    await store.events.subscribe({ ...b.declaration(), subscriptions: [] });
    return store.events.subscribe(b.declaration());
  }),
  "events.subscriptions": line("env", (store, { env }) => store.events.subscriptions(env)),
  "events.match": line("env", (store, b) => store.events.match([b.event()])),
  "events.start": line("env", (store, b) => store.events.start([b.event(), b.event()])),
  "events.accept": line("env", (store, b) =>
    store.events.accept([{ runs: [b.run()], debounced: [b.gathered("subject")] }]),
  ),
  "events.debounce": line("env", (store, b) => store.events.debounce([b.gathered("subject")])),
  "events.settleDebounced": line("id", async (store, b) => {
    const one = (await claim(store, b)).find(({ debounce }) => debounce !== null);
    return one && store.events.settleDebounced(one, one.seq, one.debounce!);
  }),
  "breakers.read": line("env", (store, { env }) =>
    store.breakers.read([{ env, program: "p", threshold: 1, halfOpenMs: 0 }]),
  ),
  "breakers.takeProbe": line("env", (store, b) =>
    store.breakers.takeProbe({ env: b.env, program: "p", opening: "o", probe: 1, runId: b.any() }),
  ),
  "breakers.isProbe": line("id", (store, b) => store.breakers.isProbe(b.any())),
  "definitions.save": line("env", (store, b) => store.definitions.save(b.definition())),
  "definitions.enable": line("env", (store, b) => store.definitions.enable(b.definition(), false, "me")),
  "definitions.remove": line("env", (store, b) => store.definitions.remove(b.definition())),
  "definitions.older": line("env", (store, { env }) => store.definitions.older(env)),
  "definitions.list": line("env", (store, { env }) => store.definitions.list(env)),
  "timeouts.schedule": line("env", (store, b) => {
    const generation = b.id();
    b.fence = { generation, token: b.fence.token };
    return store.timeouts.schedule({
      ...b.timeout(),
      generation,
      state: "s",
      sequence: 1,
      deadline: { inMs: 0 },
      keep: false,
    });
  }),
  "timeouts.cancel": line("env", (store, b) => store.timeouts.cancel(b.timeout())),
  "timeouts.get": line("env", (store, b) => store.timeouts.get(b.timeout())),
  "timeouts.expired": line("env", (store, b) => store.timeouts.expired(b.timeout(), MOST)),
  "timeouts.claim": line("env", (store, b) => {
    const { generation } = b.fence;
    b.fence = { generation, token: b.id() };
    return store.timeouts.claim([{ ...b.timeout(), generation, node: "me", token: b.fence.token, claimMs: 1 }]);
  }),
  "timeouts.complete": line("id", (store, b) => store.timeouts.complete([b.fence])),
  "timeouts.release": line("id", (store, b) =>
    store.timeouts.release([{ ...b.fence, retryInMs: "never", problem: "no" }]),
  ),
  "timeouts.dead": line("env", (store, b) => store.timeouts.dead(b.timeout(), { limit: MOST })),
  "timeouts.retry": line("env", (store, b) => store.timeouts.retry(b.timeout())),
  "timeouts.onScheduled": line("env", async (store, b) => store.timeouts.onScheduled(b.timeout(), () => {})()),
  "machines.create": line("env", (store, b) => store.machines.create([b.newInstance()])),
  "machines.append": line("id", (store, b) => {
    const { inputHash: _, redact: __, id: ___, ...change } = b.newInstance();
    return store.machines.append([{ ...change, expectedSeq: 1, fired: [], cancelled: [] }]);
  }),
  "machines.tell": line("id", (store, b) => {
    const told = { id: b.id(), generation: 0, instanceKey: b.instance, group: b.group({ queue: "m", program: "m" }) };
    return store.machines.tell([{ ...told, name: "GO", payload: json(1), delayMs: 0 }]);
  }),
  "machines.load": line("id", (store, b) => store.machines.load([b.instance])),
  "machines.events": line("id", (store, b) => store.machines.events(b.instance, { after: 0, limit: MOST })),
  "machines.timers": line("id", (store, b) => store.machines.timers(b.instance)),
  "machines.claimTimers": line("env", (store, b) => {
    const groups = [null, "blue"].map((stack) => b.group({ stack, queue: "m", program: "m" }));
    return store.machines.claimTimers({ groups, limit: MOST, leaseMs: SHORT_MS, mostAttempts: 1 });
  }),
  "machines.settleTimers": line("id", async (store, b) => {
    const timers = await store.machines.timers(b.instance);
    const dead = { as: "dead", delayMs: 0, problem: "no" } as const;
    return store.machines.settleTimers(
      timers.map(({ id, generation, attempts }) => ({ id, generation, attempts, ...dead })),
    );
  }),
  "machines.note": line("id", (store, b) => store.machines.note(b.instance, 1, "no")),
  "machines.retryTimers": line("id", (store, b) => store.machines.retryTimers(b.instance)),
  "machines.list": line("env", (store, { env }) => store.machines.list({ env }, { limit: MOST })),
  "machines.prune": line("env", (store, b) => store.machines.prune(old(b))),
  "views.runs": line("id", (store, b) => store.views.runs([b.any()])),
  "views.count": line("env", (store, { env }) => store.views.count({ env }, MOST)),
  "views.outline": line("id", (store, b) => store.views.outline([{ runId: b.any(), limit: MOST }])),
  "views.questions": line("env", (store, { env }) => store.views.questions({ env, limit: MOST })),
  "views.takeovers": line("env", (store, { env }) => store.views.takeovers({ env, limit: MOST })),
  "views.leases": line("env", (store, { env }) => store.views.leases({ env, limit: MOST })),
  "views.timers": line("env", async (store, { env }) =>
    Promise.all((["pending", "dead"] as const).map((state) => store.views.timers({ env, state, limit: MOST }))),
  ),
  "views.waitsFor": line("id", (store, b) => store.views.waitsFor([b.any()])),
  "views.envs": line("names", (store) => store.views.envs()),
  "views.ended": line("env", (store, { env }) =>
    store.views.ended({ env, limit: MOST, after: "0/00000000-0000-0000-0000-000000000000" }),
  ),
  "views.limits": line("env", (store, { env }) => store.views.limits({ env, limit: MOST })),
  "views.deadLetters": line("env", (store, { env }) => store.views.deadLetters({ env, limit: MOST })),
  "views.deadGroups": line("env", (store, { env }) => store.views.deadGroups({ env, limit: MOST })),
  "audit.record": line("env", (store, b) => store.audit.record(auditRow(b), async () => true)),
  "audit.list": line("env", (store, { env }) => store.audit.list({ env }, { limit: MOST })),
  // Tokens belong to the database: their rows name the envs that they open.
  "statistics.collect": line("env", (store, { env }) => store.statistics.collect({ env, everyMs: 0 })),
  "statistics.figures": line("env", (store, { env }) =>
    store.statistics.figures({ env, from: 0, to: Date.now(), stepMs: 10_000 }),
  ),
  "statistics.programs": line("env", (store, { env }) => store.statistics.programs({ env, from: 0, to: Date.now() })),
  "tokens.create": line("id", (store, b) => store.tokens.create(token(b))),
  "tokens.use": line("id", (store) => store.tokens.use("hash")),
  "tokens.list": line("neutral", (store) => store.tokens.list()),
  "tokens.revoke": line("id", (store, b) => store.tokens.revoke(b.id())),
  attend: line("id", null),
  // The most impatient witness there is.
  housekeep: line("env", (store, { env, node }) => store.housekeep({ env, incarnation: node, ...IMPATIENT })),
  reclaim: line("env", (store, { env, node }) => store.reclaim({ env, incarnation: node, limit: MOST, ...IMPATIENT })),
  cleanUp: line("env", async (store, { env }) => {
    const asked = { env, everyMs: 0, keepMs: 0, limit: MOST };
    return Promise.all(CLEAN_PARTS.map((part) => store.cleanUp({ part, ...asked })));
  }),
  close: line("neutral", null),
};
