// Maps worker ids to incarnations: users name workers, but claims are owned by incarnations. Each sign-on of a worker
// id is a new node.

import { nodeName } from "../kernel/name.js";
import type { World } from "../kernel/world.js";
import type { NodeStore } from "../store/contract/node/nodes.js";

export interface WorkerNodesOptions {
  readonly nodes: NodeStore;
  readonly env: string;
  readonly stack: string | null;
  readonly world: World;
}

export class WorkerNodes {
  readonly #options: WorkerNodesOptions;
  readonly #present = new Map<string, Promise<string>>();

  constructor(options: WorkerNodesOptions) {
    this.#options = options;
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
    if (present) await this.#options.nodes.stop(await present);
  }

  /** Sends the heartbeat of this process's workers. */
  async beat(): Promise<void> {
    for (const present of this.#present.values()) await this.#options.nodes.heartbeat(await present);
  }

  /** The worker id of this incarnation; an unknown incarnation is returned as it is. */
  async nameOf(incarnation: string): Promise<string> {
    const nodes = await this.#options.nodes.list({ env: this.#options.env, stopped: true });
    return nodes.find((node) => node.incarnation === incarnation)?.identity ?? incarnation;
  }

  async #register(workerId: string): Promise<string> {
    const { nodes, env, stack, world } = this.#options;
    const incarnation = world.token();
    await nodes.register({ incarnation, identity: workerId, name: workerId, env, stack, build: null });
    return incarnation;
  }
}
