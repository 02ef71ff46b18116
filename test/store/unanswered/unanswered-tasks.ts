// The operations on runs that have tasks, for the test of lost replies.

import type { Effect } from "../../../src/kernel/run/effect.js";
import type { NewRun } from "../../../src/kernel/run/new-run.js";
import type { ClaimedRun } from "../../../src/store/contract/run/runs.js";
import type { Store } from "../../../src/store/contract/store.js";
import { commitOf, complete, json, newRun, park } from "../scene.js";
import { ids, type Operation, ownGroup } from "./unanswered-operation.js";

const ME = { by: "me" };
const FAILED: Effect = { kind: "fail", as: "failed", reason: json("no") };

interface Family {
  readonly store: Store;
  readonly parent: string;
  readonly tasks: readonly string[];
  /** Claims the first task. */
  readonly claim: (leaseMs?: number) => Promise<ClaimedRun>;
}

/** A parent that waits for two tasks, the second of which needs the first. */
function onFamily(act: (family: Family) => Promise<() => Promise<unknown>>) {
  const [parent, of] = [newRun({ group: ownGroup() }), ownGroup()];
  const [first, second] = [newRun({ group: of, crashLimit: 1 }), newRun({ group: of })];
  const [one, two] = [ids(), ids()];
  return async (store: Store) => {
    const claim = async (run: NewRun, drawn: typeof one, leaseMs: number) => {
      const groupIds = await store.runs.groupIds([run.group]);
      await new Promise((resolve) => setTimeout(resolve, 2));
      const [claimed] = await store.runs.claim({ ...drawn, groupIds, limit: 1, leaseMs });
      return claimed!;
    };
    await store.runs.insert([parent]);
    const held = await claim(parent, one, 60_000);
    const task = (run: NewRun, needs: string[]): Effect => ({ kind: "enqueue", name: "t", run, task: { needs } });
    const waits = park({ forTasks: true, wakeAfter: 1000 });
    await store.runs.commit([commitOf(held, task(first, []), task(second, [first.id]), waits)]);
    const tasks = [first.id, second.id];
    return act({ store, parent: parent.id, tasks, claim: (leaseMs = 60_000) => claim(first, two, leaseMs) });
  };
}

async function failedParent({ store, parent, claim }: Family): Promise<void> {
  await store.runs.commit([commitOf(await claim(), FAILED)]);
  await store.runs.cancelTasks(parent, ME);
  const record = (await store.runs.get(parent))!;
  const groupIds = await store.runs.groupIds([record.group]);
  const [woken] = await store.runs.claim({ ...FIXED, groupIds, limit: 1, leaseMs: 60_000 });
  await store.runs.commit([commitOf(woken!, FAILED)]);
}
const FIXED = ids();

async function failsBeforeThem(store: Store, parent: string): Promise<void> {
  const message = { key: "signal:go", messageId: FIXED.token, kind: "signal", name: "go", payload: null } as const;
  await store.inbox.send([{ runId: parent, ...message, sender: null }]);
  const groupIds = await store.runs.groupIds([(await store.runs.get(parent))!.group]);
  await new Promise((resolve) => setTimeout(resolve, 2));
  const [woken] = await store.runs.claim({ ...FIXED, groupIds, limit: 1, leaseMs: 60_000 });
  await store.runs.commit([commitOf(woken!, FAILED)]);
}

export function taskOperations(): Operation[] {
  const call = ids().token;
  return [
    {
      name: "commit: the end of a task",
      statement: "commit_tasks",
      prepare: onFamily(async ({ store, claim }) => {
        const held = await claim();
        return async () => (await store.runs.commit([commitOf(held, complete)]))[0];
      }),
    },
    {
      name: "reclaimExpired: a task that dies",
      statement: "end_crashed_task",
      answersWhatItDid: true,
      prepare: onFamily(async ({ store, claim }) => {
        await claim(0);
        return () => store.runs.reclaimExpired({ env: "test", limit: 10 });
      }),
    },
    {
      name: "cancel: a task",
      statement: "cancel_task",
      prepare: onFamily(
        async ({ store, tasks }) =>
          () =>
            store.runs.cancel(tasks[0]!, ME),
      ),
    },
    {
      name: "cancelTasks",
      statement: "cancel_tasks",
      prepare: onFamily(
        async ({ store, parent }) =>
          () =>
            store.runs.cancelTasks(parent, ME),
      ),
    },
    ...["cancel_tasks", "leave_tasks", "retry_runs"].map((statement): Operation => {
      return {
        name: `retry from the start of a run that left tasks, ${statement}`,
        statement,
        prepare: onFamily(async ({ store, parent, claim }) => {
          await claim();
          await failsBeforeThem(store, parent);
          return () => store.runs.retry([parent], { by: "me", callId: call, fromStart: true });
        }),
      };
    }),
    {
      name: "pause",
      statement: "pause_run",
      prepare: onFamily(async ({ store, parent, claim }) => {
        await claim();
        return () => store.runs.pause(parent, ME);
      }),
    },
    {
      name: "resume",
      statement: "resume_run",
      answersWhatItDid: true,
      prepare: onFamily(async ({ store, parent }) => {
        await store.runs.pause(parent, ME);
        return () => store.runs.resume(parent, ME);
      }),
    },
    {
      name: "retry: the tasks of a run",
      statement: "retry_tasks",
      prepare: onFamily(async (family) => {
        await failedParent(family);
        return () => family.store.runs.retry([family.parent], { by: "me", callId: call, fromStart: false });
      }),
    },
    {
      name: "retry: one task of a run",
      statement: "retry_runs",
      prepare: onFamily(async (family) => {
        await failedParent(family);
        const asked = { by: "me", callId: call, fromStart: false, tasks: [family.tasks[0]!], after: true };
        return () => family.store.runs.retry([family.parent], asked);
      }),
    },
    {
      name: "reconcile",
      statement: "reconcile_tasks",
      prepare: onFamily(
        async ({ store }) =>
          () =>
            store.runs.reconcile(),
      ),
    },
  ];
}
