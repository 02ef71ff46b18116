// Maps worker ids to incarnations: users name workers, but claims are owned by incarnations. Each sign-on of a worker
// id is a new node.

import { nodeName } from "../kernel/name.js";
import type { NodeStore } from "../store/contract/node/nodes.js";
import type { QueueSettings } from "./queue-options.js";

export class WorkerNodes {
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
