// Every operation of the contract that writes, each on rows of its own, so that it can be done twice: with and without a fault.

import { randomUUID } from "node:crypto";
import type { Effect } from "../../../src/kernel/run/effect.js";
import type { NewLimit, NewRun } from "../../../src/kernel/run/new-run.js";
import type { LeaseFence } from "../../../src/store/contract/lease/leases.js";
import type { NodeRegistration } from "../../../src/store/contract/node/nodes.js";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import type { Store } from "../../../src/store/contract/store.js";
import { append, commitOf, complete, json, newRun, park, signal } from "../scene.js";
import { auditOperations } from "./unanswered-audit.js";
import { definitionOperations } from "./unanswered-definitions.js";
import { machineOperations } from "./unanswered-machines.js";
import { misfitOperations } from "./unanswered-misfits.js";
import { modeOperations } from "./unanswered-mode-operations.js";
import { ids, key, type Operation, ownGroup } from "./unanswered-operation.js";
import { taskOperations } from "./unanswered-tasks.js";
import { timeoutOperations } from "./unanswered-timeouts.js";
import { triggerOperations } from "./unanswered-trigger-operations.js";

async function claimed(store: Store, runs: readonly NewRun[], leaseMs: number, ids: { owner: string; token: string }) {
  await store.runs.insert(runs);
  const groupIds = await store.runs.groupIds([runs[0]!.group]);
  return store.runs.claim({ ...ids, groupIds, limit: runs.length, leaseMs });
}

/** One claimed run, then `act` on it. */
function onClaim(
  act: (store: Store, claim: ClaimedRun) => Promise<unknown>,
  { leaseMs = 60_000, ...more }: Partial<NewRun> & { leaseMs?: number } = {},
) {
  const run = newRun({ group: ownGroup(), ...more });
  const drawn = ids();
  return async (store: Store) => {
    const [claim] = await claimed(store, [run], leaseMs, drawn);
    return () => act(store, claim!);
  };
}

function commits(name: string, effects: readonly Effect[], statement = "commit_runs"): Operation {
  return {
    name: `commit: ${name}`,
    statement,
    prepare: onClaim(async (store, claim) => (await store.runs.commit([commitOf(claim, ...effects)]))[0]),
  };
}

/** A parked parent with one claimed child. */
function onChild(act: (store: Store, child: ClaimedRun) => Promise<unknown>, leaseMs = 60_000) {
  const parent = newRun({ group: ownGroup() });
  const child = newRun({ group: ownGroup(), parentId: parent.id, crashLimit: 1 });
  const [one, two] = [ids(), ids()];
  return async (store: Store) => {
    const [parentClaim] = await claimed(store, [parent], 60_000, one);
    await store.runs.commit([commitOf(parentClaim!, park())]);
    const [childClaim] = await claimed(store, [child], leaseMs, two);
    return () => act(store, childClaim!);
  };
}

function onLease(act: (store: Store, fence: LeaseFence) => Promise<unknown>, leaseMs = 60_000) {
  const fence = { env: "test", key: randomUUID(), owner: "me", token: randomUUID() };
  return async (store: Store) => {
    await store.leases.acquire({ ...fence, leaseMs });
    return () => act(store, { ...fence, epoch: 1 });
  };
}

const NODE = { identity: "i", name: "n", env: "test", stack: null, build: null };

function onNode(act: (store: Store, incarnation: string) => Promise<unknown>, registered = true) {
  const node = { ...NODE, incarnation: randomUUID() };
  return async (store: Store) => {
    if (registered) await store.nodes.register(node);
    return () => (registered ? act(store, node.incarnation) : store.nodes.register(node));
  };
}

/** A lone node that fell silent with a claim; another lone node follows it. */
function onFollower(act: (store: Store, follower: NodeRegistration) => Promise<unknown>) {
  const who = {
    identity: "i",
    name: "n",
    env: "test",
    stack: null,
    build: null,
    alone: true,
    heartbeatMs: 1,
    leaseMs: 1,
  };
  const [silent, follower] = [randomUUID(), randomUUID()];
  const run = newRun({ group: ownGroup() });
  const drawn = { owner: silent, token: randomUUID() };
  return async (store: Store) => {
    await store.nodes.register({ ...who, incarnation: silent });
    await claimed(store, [run], 60_000, drawn);
    while ((await store.nodes.list({ env: "test" })).some(({ alive }) => alive));
    return () => act(store, { ...who, incarnation: follower });
  };
}

function inserts(run: NewRun) {
  return async (store: Store) => {
    await store.runs.groupIds([run.group]);
    return () => store.runs.insert([run]);
  };
}

const message = (claim: ClaimedRun) => signal(claim.runId, "k", { messageId: claim.token, payload: json(1) });
const cancel = (store: Store, runId: string) => store.runs.cancel(runId, { by: "me", reason: "why" });
const old = { env: "test", endedBeforeMs: 0, limit: 100 };

async function ended(store: Store, claim: ClaimedRun): Promise<void> {
  await store.runs.commit([commitOf(claim, complete)]);
}

function retained(statement: string, act: (store: Store) => Promise<unknown>): Operation {
  const run = newRun({ group: ownGroup(), key: key() });
  const drawn = ids();
  return {
    name: statement,
    statement,
    answersWhatItDid: true,
    async prepare(store) {
      const [claim] = await claimed(store, [run], 60_000, drawn);
      await ended(store, claim!);
      return () => act(store);
    },
  };
}

function claims(): Operation {
  const from = ownGroup();
  const [runs, drawn] = [[newRun({ group: from }), newRun({ group: from }), newRun({ group: from })], ids()];
  return {
    name: "claim",
    statement: "claim_runs",
    async prepare(store) {
      await store.runs.insert(runs);
      const groupIds = await store.runs.groupIds([from]);
      return async () => {
        const granted = await store.runs.claim({ ...drawn, groupIds, limit: 2, leaseMs: 60_000 });
        return granted.map(({ groupId, ...claim }) => claim);
      };
    },
  };
}

function limitedRun(): NewRun {
  const from = ownGroup();
  const limits: NewLimit[] = [
    { kind: "slots", key: `slots ${from.queue}`, max: 1 },
    { kind: "rate", key: `rate ${from.queue}`, max: 1, perMs: 1000 },
  ];
  return newRun({ group: from, limits });
}

/** A slot that is free again, and a run that waits for it. */
function admits(statement: string, act: (store: Store, ended: string) => Promise<unknown>): Operation {
  const [first, drawn] = [limitedRun(), ids()];
  const second = { ...newRun(), group: first.group, limits: first.limits! };
  return {
    name: `admit, at ${statement}`,
    statement,
    answersWhatItDid: true,
    async prepare(store) {
      const [claim] = await claimed(store, [first], 60_000, drawn);
      await store.runs.insert([second]);
      await ended(store, claim!);
      return () => act(store, first.id);
    },
  };
}

/** With ids of its own at each call. */
export function operations(): readonly Operation[] {
  const child = newRun({ group: ownGroup() });
  const takeAndMore: Effect[] = [{ kind: "take", messageKey: "k" }, append("took")];
  const acquire = { env: "test", key: randomUUID(), owner: "me", token: randomUUID(), leaseMs: 60_000 };
  const freshGroup = ownGroup();

  return [
    {
      name: "groupIds",
      statement: "insert_groups",
      prepare: async (store) => async () => (await store.runs.groupIds([freshGroup])).length,
    },
    { name: "insert", statement: "insert_runs", prepare: inserts(newRun({ group: ownGroup() })) },
    {
      name: "insert with a key",
      statement: "insert_keyed_runs",
      prepare: inserts(newRun({ group: ownGroup(), key: key() })),
    },
    { name: "insert with limits", statement: "insert_limited_runs", prepare: inserts(limitedRun()) },
    {
      name: "insert with limits and a key",
      statement: "insert_limited_keyed_runs",
      prepare: inserts({ ...limitedRun(), key: key() }),
    },
    { name: "insert with limits, at the admission", statement: "admit_for_runs", prepare: inserts(limitedRun()) },
    admits("admit_for_runs", (store, id) => store.runs.admit({ runIds: [id] })),
    admits("admit_keys", (store) => store.runs.admit({ env: "test", keys: 100 })),
    admits("next_lines", (store) => store.runs.admit({ env: "test", keys: 100 })),
    claims(),
    {
      name: "queues.pause",
      statement: "pause_queue",
      prepare: async (store) => () => store.queues.pause("test", "work", "me"),
    },
    {
      name: "queues.resume",
      statement: "resume_queue",
      prepare: async (store) => {
        await store.queues.pause("test", "work", "me");
        return () => store.queues.resume("test", "work");
      },
    },
    ...definitionOperations(),
    {
      name: "renew",
      statement: "renew_claims",
      prepare: onClaim((store, claim) => store.runs.renew([claim], 60_000)),
    },
    commits("append", [append("a"), append("b")]),
    commits("a single entry", [append("a")], "commit_entry"),
    commits("complete", [append("a"), complete]),
    commits("fail", [{ kind: "fail", as: "failed", reason: json("no") }]),
    commits("retry", [{ kind: "retry", delayMs: 1000, error: json("no") }]),
    commits("park", [park({ wakeInMs: 60_000 })]),
    commits("hand back", [{ kind: "handBack" }]),
    commits("pause", [{ kind: "pause" }]),
    commits("misfit", [{ kind: "misfit", build: "v1", reason: json("unfit") }], "commit_runs_and_more"),
    ...misfitOperations(),
    commits("continue as new", [{ kind: "continue", input: json("next"), reopen: [] }], "commit_runs_and_more"),
    {
      name: "retry",
      statement: "retry_runs",
      prepare: onClaim(async (store, claim) => {
        await store.runs.commit([commitOf(claim, { kind: "fail", as: "failed", reason: json("no") })]);
        return store.runs.retry([claim.runId], { by: "me", callId: claim.token, fromStart: false });
      }),
    },
    commits("enqueue", [{ kind: "enqueue", name: "child", run: child }, append("started")], "commit_runs_and_more"),
    {
      name: "commit: take",
      statement: "commit_runs_and_more",
      prepare: onClaim(async (store, claim) => {
        await store.inbox.send([message(claim)]);
        return (await store.runs.commit([commitOf(claim, ...takeAndMore)]))[0];
      }),
    },
    {
      name: "commit: the end of a child",
      statement: "commit_runs",
      prepare: onChild(async (store, c) => (await store.runs.commit([commitOf(c, complete)]))[0]),
    },
    {
      name: "commit: the end of a child, at the ring",
      statement: "wake_runs",
      prepare: onChild(async (store, c) => (await store.runs.commit([commitOf(c, complete)]))[0]),
    },
    {
      name: "reclaimExpired",
      statement: "reclaim_expired",
      answersWhatItDid: true,
      prepare: onClaim((store) => store.runs.reclaimExpired({ env: "test", limit: 10 }), { leaseMs: 0 }),
    },
    {
      name: "reclaimExpired to dead",
      statement: "reclaim_expired",
      answersWhatItDid: true,
      prepare: onChild((store) => store.runs.reclaimExpired({ env: "test", limit: 10 }), 0),
    },
    {
      name: "wakeParked",
      statement: "wake_parked",
      answersWhatItDid: true,
      prepare: onClaim(async (store, claim) => {
        await store.runs.commit([commitOf(claim, park({ wakeInMs: 0 }))]);
        return store.runs.wakeParked({ limit: 10 });
      }),
    },
    {
      name: "cancel of a running run",
      statement: "cancel_run",
      prepare: onClaim((store, claim) => cancel(store, claim.runId)),
    },
    {
      name: "cancel of a parked child",
      statement: "cancel_run",
      prepare: onChild(async (store, c) => {
        await store.runs.commit([commitOf(c, park())]);
        return cancel(store, c.runId);
      }),
    },
    {
      name: "send to a running run",
      statement: "send_messages",
      prepare: onClaim((store, claim) => store.inbox.send([message(claim)])),
    },
    {
      name: "send to a parked run",
      statement: "send_messages",
      prepare: onClaim(async (store, claim) => {
        await store.runs.commit([commitOf(claim, park())]);
        return store.inbox.send([message(claim)]);
      }),
    },
    {
      name: "send to a parked run, at the ring",
      statement: "wake_runs",
      prepare: onClaim(async (store, claim) => {
        await store.runs.commit([commitOf(claim, park())]);
        return store.inbox.send([message(claim)]);
      }),
    },
    {
      name: "leases.acquire",
      statement: "acquire_lease",
      prepare: async (store) => () => store.leases.acquire(acquire),
    },
    {
      name: "leases.acquire by theft",
      statement: "acquire_lease",
      prepare: onLease(
        (store, fence) => store.leases.acquire({ ...fence, owner: "thief", token: acquire.token, leaseMs: 60_000 }),
        0,
      ),
    },
    {
      name: "leases.renew",
      statement: "renew_lease",
      repeatedByCaller: true,
      prepare: onLease((store, fence) => store.leases.renew(fence, 60_000)),
    },
    {
      name: "leases.complete",
      statement: "finish_lease",
      prepare: onLease((store, fence) => store.leases.complete(fence)),
    },
    {
      name: "leases.fail",
      statement: "finish_lease",
      prepare: onLease((store, fence) => store.leases.fail(fence, "why")),
    },
    {
      name: "leases.release",
      statement: "finish_lease",
      prepare: onLease((store, fence) => store.leases.release(fence)),
    },
    {
      name: "leases.reclaimExpired",
      statement: "reclaim_leases",
      answersWhatItDid: true,
      prepare: onLease((store) => store.leases.reclaimExpired({ env: "test", limit: 10 }), 0),
    },
    ...triggerOperations(),
    ...modeOperations(),
    ...timeoutOperations(),
    ...taskOperations(),
    ...machineOperations(),
    ...auditOperations(),
    { name: "nodes.register", statement: "register_node", prepare: onNode(async () => null, false) },
    {
      name: "nodes.register with programs",
      statement: "register_node",
      prepare: onNode((store, incarnation) => {
        const programs = [{ name: "p", kind: "dag", shape: "{}", inputSchema: null }];
        return store.nodes.register({ ...NODE, incarnation: incarnation.replace(/^./, "e"), programs });
      }),
    },
    {
      name: "nodes.register beside a live one",
      statement: "register_node",
      prepare: onNode((store, incarnation) =>
        store.nodes.register({ ...NODE, incarnation: incarnation.replace(/^./, "f"), alone: true }),
      ),
    },
    ...["register_node", "reclaim_claims_of"].map((statement): Operation => {
      const prepare = onFollower((store, follower) => store.nodes.register(follower));
      return {
        name: `nodes.register in the place of a dead one, ${statement}`,
        statement,
        prepare,
        answersWhatItDid: true,
      };
    }),
    {
      name: "nodes.heartbeat",
      statement: "heartbeat_node",
      prepare: onNode((store, node) => store.nodes.heartbeat(node)),
    },
    { name: "nodes.stop", statement: "stop_node", prepare: onNode((store, node) => store.nodes.stop(node)) },
    retained("archive_runs", (store) => store.runs.archive(old)),
    retained("prune_runs", (store) => store.runs.prune(old)),
  ];
}
