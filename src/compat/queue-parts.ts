// What the operations of one queue object share.

import { Committer } from "../engine/committer.js";
import type { RunGroup } from "../kernel/run/new-run.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import { HeldClaims } from "./held-claims.js";
import { type QueueOptions, type QueueSettings, queueSettings } from "./queue-options.js";
import { WorkerNodes } from "./worker-nodes.js";

export interface QueueParts {
  readonly store: Store;
  readonly settings: QueueSettings;
  readonly committer: Committer;
  readonly held: HeldClaims;
  readonly workers: WorkerNodes;
  /** The number of the queue's claim group; looked up once. */
  groupId(): Promise<number>;
}

/** A job that will not be tried again: reported to the caller that finds it, because its worker may be dead. */
export interface DeadLetter {
  readonly jobId: string;
  readonly runId: string;
  readonly error: string;
}

export type OnDeadLetter = (letter: DeadLetter) => void;

export function queueParts(store: Store, options: QueueOptions): QueueParts {
  const settings = queueSettings(options);
  const { group, world } = settings;
  let groupId: number | null = null;
  return {
    store,
    settings,
    committer: new Committer(store.runs, world),
    held: new HeldClaims(),
    workers: new WorkerNodes(store.nodes, settings),
    async groupId() {
      groupId ??= (await store.runs.groupIds([group]))[0]!;
      return groupId;
    },
  };
}

/** The job's row, if the run exists and is a job of this queue. */
export async function jobRecord({ store, settings }: QueueParts, jobId: string): Promise<RunRecord | null> {
  const record = await store.runs.get(jobId);
  return record && sameGroup(record.group, settings.group) ? record : null;
}

function sameGroup(a: RunGroup, b: RunGroup): boolean {
  return a.env === b.env && a.stack === b.stack && a.queue === b.queue && a.program === b.program;
}
