// Tasks that end at the same moment, in one batch and on eight connections: each task that waits for them is ready once, nothing is
// stuck, nothing deadlocks. HOLDFAST_DAGS=1000 runs as many.

import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Effect } from "../../../src/kernel/run/effect.js";
import type { RunGroup } from "../../../src/kernel/run/new-run.js";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import type { Store } from "../../../src/store/contract/store.js";
import { endCrashedTask } from "../../../src/store/postgres/claim/reclaimed.js";
import {
  claimFrom,
  claimNew,
  commitOf,
  complete,
  countingWorld,
  group,
  newRun,
  park,
  scene,
  shuffled,
  stateOf,
} from "../scene.js";

const s = scene();
const DAGS = Number(process.env["HOLDFAST_DAGS"] ?? 60);
const COMMITTERS = 8;
const BATCH = 25;

/** Needs of each task, by their places. */
type Shape = readonly (readonly number[])[];
/** Five diamonds in a row: 20 tasks. */
const DIAMONDS: Shape = Array.from({ length: 5 }, (_, i): Shape => {
  const first = i * 4;
  return [i === 0 ? [] : [first - 1], [first], [first], [first + 1, first + 2]];
}).flat();
/** Sixteen that all feed the same three. */
const FAN: Shape = [...Array.from({ length: 16 }, () => []), ...Array.from({ length: 3 }, () => [...Array(16).keys()])];

function started(shape: Shape, of: RunGroup): Effect[] {
  const runs = shape.map(() => newRun({ group: of }));
  return shape.map((needs, i) => ({
    kind: "enqueue",
    name: `t${i}`,
    run: runs[i]!,
    task: { needs: needs.map((need) => runs[need]!.id) },
  }));
}

/** This many DAGs, begun; their tasks and their own runs wait under these groups. */
async function begin(dags: number, shape: Shape): Promise<{ tasks: RunGroup; own: RunGroup }> {
  const [tasks, own] = [group(`t-${randomUUID()}`), group(`d-${randomUUID()}`)];
  await s.store.runs.insert(Array.from({ length: dags }, () => newRun({ group: own })));
  const claims = await claimFrom(s.store, own, { limit: dags });
  const commits = claims.map((claim) => commitOf(claim, ...started(shape, tasks), park({ forTasks: true })));
  const answers = await s.store.runs.commit(commits);
  expect(answers.every(({ outcome }) => outcome === "accepted")).toBe(true);
  return { tasks, own };
}

/** Claims and ends tasks until all have ended; what is locked is sent again. */
async function work(store: Store, of: RunGroup, seed: number, isOver: () => boolean): Promise<number> {
  let done = 0;
  const owner = randomUUID();
  while (!isOver()) {
    const claims = await claimFrom(store, of, { limit: BATCH, owner });
    let left: readonly ClaimedRun[] = shuffled(claims, seed + done);
    while (left.length > 0) {
      const answers = await store.runs.commit(left.map((claim) => commitOf(claim, complete)));
      done += answers.filter(({ outcome }) => outcome === "accepted").length;
      left = left.filter((_, i) => answers[i]!.outcome === "busy");
    }
  }
  return done;
}

async function race(shape: Shape, dags: number, url?: string): Promise<void> {
  const worlds = Array.from({ length: COMMITTERS }, () => countingWorld());
  const stores = worlds.map((world) => s.open({ world, ...(url && { url }) }));
  const { tasks, own } = await begin(dags, shape);
  let over = false;
  const workers = stores.map((store, i) => work(store, tasks, i * 1000, () => over));
  const states = async (of: RunGroup) => s.store.runs.count({ env: "test", queue: of.queue });
  const until = Date.now() + 60_000;
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    over = (await states(own)).waiting === dags || Date.now() > until;
  }
  const done = (await Promise.all(workers)).reduce((sum, n) => sum + n, 0);
  expect(await states(own)).toEqual({ waiting: dags });
  expect(await states(tasks)).toEqual({ completed: dags * shape.length });
  expect(done).toBe(dags * shape.length);
  const [row] = await s.rows<{ epoch: number; pending: number }>(
    "select max(epoch)::int as epoch, max(pending)::int as pending from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group where g.queue = any($1)",
    [[tasks.queue, own.queue]],
  );
  expect(row).toEqual({ epoch: 1, pending: 0 });
  // A deadlock would be repeated after a pause.
  expect(worlds.map(({ retries }) => retries)).toEqual(worlds.map(() => 0));
}

test("diamonds: each task is ready once, however the ends of its needs meet", () => race(DIAMONDS, DAGS), 120_000);

test("wide joins, also when the planner groups by hashing", async () => {
  const hashing = new URL(s.url);
  hashing.searchParams.set("options", "-c enable_sort=off -c enable_hashagg=on");
  await race(FAN, Math.ceil(DAGS / 4), hashing.href);
}, 120_000);

test("a run that commits while its own tasks end in the same batch counts every one of them", async () => {
  const { tasks, own } = await begin(1, [[], [], []]);
  const claims = await claimFrom(s.store, tasks, { limit: 3 });
  const [parent] = await s.rows<{ id: string }>(
    "select r.id from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group where g.queue = $1",
    [own.queue],
  );
  await s.store.inbox.send([
    {
      runId: parent!.id,
      key: "signal:1",
      messageId: randomUUID(),
      kind: "signal",
      name: "x",
      payload: null,
      sender: null,
    },
  ]);
  const [woken] = await claimFrom(s.store, own);
  const again = commitOf(woken!, { kind: "take", messageKey: "signal:1" }, park({ forTasks: true, seenInboxSeq: 1 }));
  const answers = await s.store.runs.commit([...claims.slice(0, 2).map((claim) => commitOf(claim, complete)), again]);
  expect(answers.map(({ outcome }) => outcome)).toEqual(["accepted", "accepted", "accepted"]);
  expect(await s.store.runs.get(parent!.id)).toMatchObject({ state: "parked", pending: 1 });
  await s.store.runs.commit([commitOf(claims[2]!, complete)]);
  expect(await s.store.runs.get(parent!.id)).toMatchObject({ state: "waiting", pending: 0 });
});

test("a task is ended as dead only under the claim that was found dead, and only while its lease has expired", async () => {
  const { tasks } = await begin(1, [[]]);
  const [claim] = await claimFrom(s.store, tasks);
  const { runId, epoch } = claim!;
  await s.rows("update {s}.runs set crash_limit = 1 where id = $1", [runId]);
  const bury = (of: number, gone: boolean) => s.rows(s.text(endCrashedTask), [runId, of, gone, "dead", null, 1]);
  expect(await bury(epoch, false)).toEqual([]);
  expect(await bury(epoch - 1, true)).toEqual([]);
  expect(await stateOf(s.store, runId)).toBe("running");
  expect(await bury(epoch, true)).toHaveLength(1);
  expect(await stateOf(s.store, runId)).toBe("dead");
});

test("rows that were changed by hand are found and repaired, and nothing else is touched", async () => {
  const { tasks, own } = await begin(2, [[], [0], []]);
  const [first] = await claimFrom(s.store, tasks);
  await s.store.runs.commit([commitOf(first!, complete)]);
  expect((await s.store.runs.reconcile()).replayed).toBe(0);
  const in_ = "claim_group in (select id from {s}.claim_groups where queue = $1)";
  await s.rows(`update {s}.runs set pending = 3 where state = 'blocked' and ${in_}`, [tasks.queue]);
  await s.rows(`update {s}.runs set pending = 0 where state = 'parked' and ${in_}`, [own.queue]);
  await s.rows(
    `update {s}.runs set state = 'cancelled', counts = false, ended_at = now() where ended_at is null and state = 'waiting' and ${in_}`,
    [tasks.queue],
  );
  expect((await s.store.runs.reconcile()).replayed).toBeGreaterThan(2);
  expect(await s.store.runs.reconcile()).toMatchObject({ replayed: 0 });
  const blocked = await s.rows(`select from {s}.runs where state = 'blocked' and ${in_}`, [tasks.queue]);
  expect(blocked).toEqual([]);
});

test("commits, cancels, pauses, resumes and reclaims of the same tasks never deadlock, and every count is right", async () => {
  const { tasks, own } = await begin(20, FAN);
  const parents = await s.rows<{ id: string }>(
    "select r.id from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group where g.queue = $1",
    [own.queue],
  );
  const worlds = Array.from({ length: 4 }, () => countingWorld());
  const stores = worlds.map((world) => s.open({ world }));
  let over = false;
  const workers = stores.slice(0, 2).map((store, i) => work(store, tasks, i, () => over));
  const people = stores.slice(2).map(async (store, i) => {
    for (const { id } of shuffled(parents, i)) {
      await store.runs.pause(id, { by: "ann" });
      await store.runs.resume(id, { by: "ann" });
      const [task] = (await store.journal.read(id))!.entries.filter(({ kind }) => kind === "task").slice(i, i + 1);
      await store.runs.cancel(task!.key!, { by: "bob" });
      await store.runs.reclaimExpired({ env: "test", limit: 100 });
      if (i === 0) await store.runs.cancelTasks(id, { by: "bob" });
    }
  });
  await Promise.all(people);
  const until = Date.now() + 30_000;
  const open = async () =>
    (
      await s.rows(
        "select from {s}.runs r join {s}.claim_groups g on g.id = r.claim_group where g.queue = $1 and ended_at is null",
        [tasks.queue],
      )
    ).length;
  while ((await open()) > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
  over = true;
  await Promise.all(workers);
  expect(await open()).toBe(0);
  expect((await s.store.runs.reconcile()).replayed).toBe(0);
  expect(worlds.slice(0, 2).map(({ retries }) => retries)).toEqual([0, 0]);
}, 90_000);

/** Runs `request` on a parent whose commit is under way and starts one more task; answers the task's id. */
async function whileStarting(claim: ClaimedRun, request: () => Promise<unknown>): Promise<string> {
  const task = newRun({ group: group(`t-${randomUUID()}`) });
  const tx = await s.pool.connect();
  const { rows } = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
  /** Sessions that wait for this transaction, or for one of those. */
  const waiters = async (n: number) =>
    expect
      .poll(() =>
        s.rows(
          `with recursive waits(pid) as (
             select $1::int
             union
             select a.pid from pg_stat_activity a join waits w on w.pid = any(pg_blocking_pids(a.pid))
           ) select from waits where pid <> $1`,
          [rows[0]!.pid],
        ),
      )
      .toHaveLength(n);
  try {
    await tx.query("begin");
    // The commit holds its run and waits here: this transaction has inserted a run of the same id.
    await s.store.runs.insert([{ ...task, group: group(`x-${randomUUID()}`) }], { tx });
    const committed = s.store.runs.commit([
      commitOf(claim, { kind: "enqueue", name: "late", run: task, task: { needs: [] } }, park({ forTasks: true })),
    ]);
    await waiters(1);
    const requested = request();
    await waiters(2);
    await tx.query("rollback");
    expect((await committed).map(({ outcome }) => outcome)).toEqual(["accepted"]);
    await requested;
  } finally {
    tx.release();
  }
  return task.id;
}

test("a pause that waits for its run's commit also pauses the tasks which that commit starts", async () => {
  const [claim] = await claimNew(s.store, 1);
  const task = await whileStarting(claim!, () => s.store.runs.pause(claim!.runId, { by: "ann" }));
  expect(await stateOf(s.store, claim!.runId)).toBe("paused");
  expect(await stateOf(s.store, task)).toBe("paused");
});

test("a resume that waits for its run's commit also resumes the tasks which that commit starts", async () => {
  const [claim] = await claimNew(s.store, 1);
  await s.store.runs.pause(claim!.runId, { by: "ann" });
  const task = await whileStarting(claim!, () => s.store.runs.resume(claim!.runId, { by: "ann" }));
  expect(await stateOf(s.store, claim!.runId)).toBe("waiting");
  expect(await stateOf(s.store, task)).toBe("waiting");
});
