// The store as one process sees it: every operation goes over that process's link, is applied whole when it arrives, and is
// recorded there.

import type { ProbeRequest } from "../store/contract/limit/breakers.js";
import type { Fire, FireAnswer } from "../store/contract/schedule/schedules.js";
import type { Store } from "../store/contract/store.js";
import type { Applied, Recorder } from "./applied.js";
import type { Link } from "./link.js";
import { remoteMachines } from "./remote-machines.js";
import { RemotePresence } from "./remote-presence.js";
import { RemoteTransaction } from "./remote-transaction.js";
import { remoteBreakers, remoteEvents } from "./remote-triggers.js";

export function remoteStore(link: Link): Store {
  const { database } = link;
  const { store } = database;

  function recorded<T>(applying: Promise<T>, record: (answer: T) => Applied): Promise<T> {
    return applying.then((answer) => {
      database.onApplied(record(answer), link.name);
      return answer;
    });
  }

  return {
    runs: { ...store.runs, ...recordedRuns(link, recorded), ...readRuns(link) },
    journal: {
      read: (runId, options) => link.call("read journal", () => store.journal.read(runId, options)),
      peek: (wanted) => link.call("peek", () => store.journal.peek(wanted)),
    },
    inbox: {
      send: (messages) =>
        link.call("send", () => recorded(store.inbox.send(messages), (answers) => ({ op: "send", messages, answers }))),
      unread: (runId) => link.call("read inbox", () => store.inbox.unread(runId)),
    },
    leases: remoteLeases(link),
    nodes: remoteNodes(link),
    queues: remoteQueues(link),
    schedules: {
      declare: (declaration) => link.call("declare schedules", () => store.schedules.declare(declaration)),
      due: (ids) => link.call("due schedules", () => store.schedules.due(ids)),
      fire: (fires) =>
        link.call("fire", async () => {
          const answers = await recorded(store.schedules.fire(fires), (told) => insertedBy(fires, told));
          for (const request of probesOf(fires, answers)) {
            database.onApplied({ op: "probe", request, taken: true }, link.name);
          }
          return answers;
        }),
      list: (env) => link.call("list schedules", () => store.schedules.list(env)),
      pause: (env, name, by) => link.call("pause schedules", () => store.schedules.pause(env, name, by)),
      resume: (env, name) => link.call("resume schedules", () => store.schedules.resume(env, name)),
    },
    events: remoteEvents(link, recorded),
    breakers: remoteBreakers(link, recorded),
    definitions: {
      save: (definition) => link.call("save definition", () => store.definitions.save(definition)),
      enable: (name, enabled, by) => link.call("enable definition", () => store.definitions.enable(name, enabled, by)),
      remove: (name) => link.call("remove definition", () => store.definitions.remove(name)),
      older: (env) => link.call("older definitions", () => store.definitions.older(env)),
      list: (env, options) => link.call("list definitions", () => store.definitions.list(env, options)),
    },
    timeouts: {
      schedule: (timeout) => link.call("schedule timeout", () => store.timeouts.schedule(timeout)),
      cancel: (key) => link.call("cancel timeout", () => store.timeouts.cancel(key)),
      get: (key) => link.call("get timeout", () => store.timeouts.get(key)),
      expired: (of, limit) => link.call("expired timeouts", () => store.timeouts.expired(of, limit)),
      claim: (requests) => link.call("claim timeouts", () => store.timeouts.claim(requests)),
      complete: (fences) => link.call("complete timeouts", () => store.timeouts.complete(fences)),
      release: (releases) => link.call("release timeouts", () => store.timeouts.release(releases)),
      dead: (of, page) => link.call("dead timeouts", () => store.timeouts.dead(of, page)),
      retry: (key) => link.call("retry timeout", () => store.timeouts.retry(key)),
      onScheduled: (of, hear) => store.timeouts.onScheduled(of, (inMs) => link.push(() => hear(inMs))),
    },
    machines: remoteMachines(link),
    attend: (attendee) => new RemotePresence(link, attendee).open(),
    housekeep: (round) =>
      link.call("housekeep", async () => {
        const report = await store.housekeep(round);
        if (report.registered) database.onHeard(round.incarnation);
        return report;
      }),
    reclaim: (round) =>
      link.call("reclaim", () => recorded(store.reclaim(round), (reclaimed) => ({ op: "sweep", reclaimed }))),
    cleanUp: (round) =>
      link.call("clean up", () => recorded(store.cleanUp(round), (cleaned) => ({ op: "clean", round, cleaned }))),
    close: async () => {},
  };
}

/** To those who watch, a schedule that fires is somebody who inserts runs. */
function insertedBy(fires: readonly Fire[], answers: readonly FireAnswer[]): Applied {
  const started = new Set(answers.flatMap((answer) => (answer.outcome === "fired" ? answer.runIds : [])));
  const runs = fires.flatMap((fire) => fire.runs).filter(({ id }) => started.has(id));
  return { op: "insert", runs, answers: runs.map(({ id: runId }) => ({ outcome: "inserted", runId })) };
}

/** A run that was to try and is there has taken its probe. */
function probesOf(fires: readonly Fire[], answers: readonly FireAnswer[]): ProbeRequest[] {
  const started = new Set(answers.flatMap((answer) => (answer.outcome === "fired" ? answer.runIds : [])));
  return fires.flatMap(({ probe }) => (probe && started.has(probe.runId) ? [probe] : []));
}

function remoteQueues(link: Link): Store["queues"] {
  const { queues } = link.database.store;
  return {
    pause: (env, queue, by) => link.call("pause queue", () => queues.pause(env, queue, by)),
    resume: (env, queue) => link.call("resume queue", () => queues.resume(env, queue)),
    list: (env) => link.call("list queues", () => queues.list(env)),
  };
}

function remoteLeases(link: Link): Store["leases"] {
  const { leases } = link.database.store;
  return {
    acquire: (request) => link.call("acquire lease", () => leases.acquire(request)),
    renew: (fence, leaseMs) => link.call("renew lease", () => leases.renew(fence, leaseMs)),
    complete: (fence) => link.call("complete lease", () => leases.complete(fence)),
    fail: (fence, detail) => link.call("fail lease", () => leases.fail(fence, detail)),
    release: (fence) => link.call("release lease", () => leases.release(fence)),
    owns: (fence) => link.call("owns lease", () => leases.owns(fence)),
    reclaimExpired: (options) => link.call("reclaim leases", () => leases.reclaimExpired(options)),
    get: (env, key) => link.call("get lease", () => leases.get(env, key)),
  };
}

function remoteNodes(link: Link): Store["nodes"] {
  const { store } = link.database;
  return {
    register: (node) =>
      link.call("register", async () => {
        // Only the first registration is a sign of life: a repeated one leaves the time as it is.
        const isNew = !link.database.tables.nodes.has(node.incarnation);
        const answer = await store.nodes.register(node);
        const reclaimed = answer.outcome === "registered" ? answer.reclaimed : [];
        link.database.onApplied({ op: "sweep", reclaimed, replaced: true }, link.name);
        if (isNew && answer.outcome === "registered") link.database.onHeard(node.incarnation);
        return answer;
      }),
    heartbeat: (incarnation) =>
      link.call("heartbeat", async () => {
        const registered = await store.nodes.heartbeat(incarnation);
        if (registered) link.database.onHeard(incarnation);
        return registered;
      }),
    claimsFrom: (incarnation, ids) => link.call("claims from", () => store.nodes.claimsFrom(incarnation, ids)),
    changeMode: (incarnation, change, options) =>
      link.call("change mode", () => store.nodes.changeMode(incarnation, change, options)),
    stop: (incarnation) => link.call("stop node", () => store.nodes.stop(incarnation)),
    list: (filter) => link.call("list nodes", () => store.nodes.list(filter)),
  };
}

function recordedRuns(link: Link, recorded: Recorder): Partial<Store["runs"]> {
  const { runs } = link.database.store;
  return {
    insert: (added, { tx } = {}) =>
      tx instanceof RemoteTransaction
        ? tx.insert(added)
        : link.call("insert", () =>
            recorded(runs.insert(added), (answers) => ({ op: "insert", runs: added, answers })),
          ),
    transact: async (work) => {
      const tx = new RemoteTransaction(link);
      return tx.seal(await work(tx));
    },
    retry: (runIds, options) =>
      link.call("retry", () =>
        recorded(runs.retry(runIds, options), (answers) => ({ op: "retry", runIds, options, answers })),
      ),
    claim: (request) =>
      link.call("claim", () => recorded(runs.claim(request), (granted) => ({ op: "claim", request, granted }))),
    renew: (claims, leaseMs) =>
      link.call("renew", () => {
        const answering = unlocked(link, claims, (free) => runs.renew(free, leaseMs));
        return recorded(answering, (answers) => ({ op: "renew", claims, leaseMs, answers }));
      }),
    commit: (commits) =>
      link.call("commit", () => {
        const answering = unlocked(link, commits, (free) => runs.commit(free));
        return recorded(answering, (answers) => ({ op: "commit", commits, answers }));
      }),
    admit: (whom) => link.call("admit", () => recorded(runs.admit(whom), (count) => ({ op: "admit", count }))),
    sweepExpired: (options) =>
      link.call("sweep", () => recorded(runs.sweepExpired(options), (reclaimed) => ({ op: "sweep", reclaimed }))),
    recover: (decisions, options) =>
      link.call("recover", () =>
        recorded(runs.recover(decisions, options), (reclaimed) => ({ op: "sweep", reclaimed })),
      ),
    reviewMisfits: (review) =>
      link.call("review misfits", () =>
        recorded(runs.reviewMisfits(review), (reviewed) => ({ op: "review", reviewed })),
      ),
    expireDeferred: (options) =>
      link.call("expire deferred", () =>
        recorded(runs.expireDeferred(options), (expired) => ({
          op: "expire",
          runIds: expired.map(({ runId }) => runId),
        })),
      ),
    wakeParked: (options) =>
      link.call("wake", () => recorded(runs.wakeParked(options), (count) => ({ op: "wake", count }))),
    cancelTasks: (runId, options) =>
      link.call("cancel tasks", () => recorded(runs.cancelTasks(runId, options), () => ({ op: "cancelTasks", runId }))),
    pause: (runId, options) =>
      link.call("pause", () => recorded(runs.pause(runId, options), () => ({ op: "pause", runId }))),
    resume: (runId, options) =>
      link.call("resume", () => recorded(runs.resume(runId, options), () => ({ op: "resume", runId }))),
    reconcile: () =>
      link.call("reconcile", () => recorded(runs.reconcile(), (answer) => ({ op: "reconcile", answer }))),
    cancel: (runId, options) =>
      link.call("cancel", () => recorded(runs.cancel(runId, options), (answer) => ({ op: "cancel", runId, answer }))),
  };
}

function readRuns(link: Link): Partial<Store["runs"]> {
  const { runs } = link.database.store;
  return {
    groupIds: (groups) => link.call("group ids", () => runs.groupIds(groups)),
    nextDue: (groupIds) => link.call("next due", () => runs.nextDue(groupIds)),
    orphans: (filter) => link.call("orphans", () => runs.orphans(filter)),
    unservedGroups: (query) => link.call("unserved groups", () => runs.unservedGroups(query)),
    stopping: (runId) => link.call("stopping", () => runs.stopping(runId)),
    keyOf: (runId) => link.call("key of", () => runs.keyOf(runId)),
    claims: (runId, options) => link.call("claims", () => runs.claims(runId, options)),
    get: (runId) => link.call("get", () => runs.get(runId)),
    glance: (runIds) => link.call("glance", () => runs.glance(runIds)),
    list: (filter, page) => link.call("list", () => runs.list(filter, page)),
    count: (filter) => link.call("count", () => runs.count(filter)),
  };
}

/** Rows that another statement has locked are skipped and answered `busy`, as PostgreSQL's SKIP LOCKED does. */
async function unlocked<Item, Answer>(
  link: Link,
  items: readonly Item[],
  apply: (free: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<readonly (Answer | { readonly outcome: "busy" })[]> {
  const locked = link.locked(items.length);
  const answers = await apply(items.filter((_, i) => !locked[i]));
  let next = 0;
  return items.map((_, i) => (locked[i] ? { outcome: "busy" } : answers[next++]!));
}
