// Instances as a user keeps them: a state, a sequence, and moves that are conditional on both.

import type { Fire } from "../../src/timeout/sweeper-options.js";
import type { ClaimedTimeout } from "../../src/timeout/timeout-store.js";

export interface Instance {
  state: string;
  /** One more with every event. */
  sequence: number;
  /** The sequence at which the present state was entered. */
  entered: number;
}

export class Instances {
  readonly #all = new Map<string, Instance>();
  /** Every timeout that moved its instance: `instance@sequence`. */
  readonly fired: string[] = [];

  add(id: string, state = "pending", sequence = 1): Instance {
    const instance = { state, sequence, entered: sequence };
    this.#all.set(id, instance);
    return instance;
  }

  get(id: string): Instance {
    return this.#all.get(id)!;
  }

  /** An event that changes the state, or (without one) that the instance stays in it. */
  send(id: string, state?: string): Instance {
    const instance = this.get(id);
    instance.sequence++;
    if (state !== undefined) Object.assign(instance, { state, entered: instance.sequence });
    return instance;
  }

  /** One conditional write, as `update … where state = $2 and entered = $3` is. */
  readonly fire: Fire = async (timeout) => this.expire(timeout);

  expire({
    instance: id,
    state,
    sequence,
  }: Pick<ClaimedTimeout, "instance" | "state" | "sequence">): "fired" | "stale" {
    const instance = this.#all.get(id);
    if (instance?.state !== state || instance.entered !== sequence) return "stale";
    this.send(id, "expired");
    this.fired.push(`${id}@${sequence}`);
    return "fired";
  }
}
