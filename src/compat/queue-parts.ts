// What the operations of one queue object share.

import { Committer } from "../engine/committer.js";
import { nodeName } from "../kernel/name.js";
import { isSameGroup } from "../kernel/run/new-run.js";
import type { NodeStore } from "../store/contract/node/nodes.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import { HeldClaims } from "./held-claims.js";
import { type QueueOptions, type QueueSettings, queueSettings } from "./queue-options.js";

/** A job that will not be tried again: reported to the caller that finds it, because its worker may be dead. */
export interface DeadLetter {
  /** The id of the job. */
  readonly jobId: string;
  /** The workflow run that the job worked for. */
  readonly runId: string;
  /** The message it failed with last. */
  readonly error: string;
}

/** Called for each job that has no attempts left. */
export type OnDeadLetter = (letter: DeadLetter) => void;

export type QueueParts = Readonly<ReturnType<typeof queueParts>>;

export function queueParts(store: Store, options: QueueOptions) {
  const settings = queueSettings(options);
  const { group, world } = settings;
  let groupId: number | null = null;
  return {
    store,
    settings,
    committer: new Committer(store.runs, world),
    held: new HeldClaims(),
    /** Distinguishes this queue object from others that report dead letters. */
    token: world.token(),
    /** Dead letters that this queue object has looked at. */
    examined: new Set<string>(),
    workers: new WorkerNodes(store.nodes, settings),
    /** The number of the queue's claim group; looked up once. */
    async groupId() {
      groupId ??= (await store.runs.groupIds([group]))[0]!;
      return groupId;
    },
  };
}

/** The job's row, if the run exists and is a job of this queue. */
export async function jobRecord({ store, settings }: QueueParts, jobId: string): Promise<RunRecord | null> {
  const record = await store.runs.get(jobId);
  return record && isSameGroup(record.group, settings.group) ? record : null;
}

/** Maps worker ids to incarnations: users name workers, but claims are owned by incarnations. Each sign-on of a worker id is a new node. */
class WorkerNodes {
  readonly #nodes: NodeStore;
  readonly #settings: QueueSettings;
  readonly #present = new Map<string, Promise<string>>();

  constructor(nodes: NodeStore, settings: QueueSettings) {
    this.#nodes = nodes;
    this.#settings = settings;
  }

  /** The incarnation under which this worker claims; registered if it is new. */
  signOn(workerId: string): Promise<string> {
    const present = this.#present.get(workerId);
    if (present) return present;
    const registering = this.#register(nodeName(workerId, "workerId"));
    this.#present.set(workerId, registering);
    registering.catch(() => this.#present.delete(workerId));
    return registering;
  }

  async signOff(workerId: string): Promise<void> {
    const present = this.#present.get(workerId);
    this.#present.delete(workerId);
    if (present) await this.#nodes.stop(await present);
  }

  /** Sends the heartbeat of this process's workers. */
  async beat(): Promise<void> {
    for (const present of this.#present.values()) await this.#nodes.heartbeat(await present);
  }

  /** The worker id of this incarnation; an unknown incarnation is returned as it is. */
  async nameOf(incarnation: string): Promise<string> {
    const nodes = await this.#nodes.list({ env: this.#settings.group.env, stopped: true });
    return nodes.find((node) => node.incarnation === incarnation)?.identity ?? incarnation;
  }

  async #register(workerId: string): Promise<string> {
    const { group, world } = this.#settings;
    const { env, stack } = group;
    const incarnation = world.token();
    await this.#nodes.register({ incarnation, identity: workerId, name: workerId, env, stack, build: null });
    return incarnation;
  }
}
