// Draws operations other than on runs: paused queues, named leases, nodes.

import type { LeaseFence } from "../../../src/store/contract/lease/leases.js";
import type { NodeRegistration } from "../../../src/store/contract/node/nodes.js";
import type { Dice } from "./dice.js";
import { BUILDS, type Drawer, GROUPS, type Step, step } from "./differential-step.js";

const SHAPES = [null, "{}", '{"kind":"dag"}'] as const;

export class HouseSteps {
  readonly #dice: Dice;
  readonly #drawn: Drawer;
  readonly #fences: LeaseFence[] = [];

  constructor(drawn: Drawer) {
    this.#dice = drawn.dice;
    this.#drawn = drawn;
  }

  queue(): Step {
    const [env, queue] = this.#dice.one([["test", "a"] as const, ["test", "b"] as const, ["other", "c"] as const]);
    const listed = this.#dice.chance(0.2) ? "none" : env;
    return this.#dice.pick<Step>([
      [2, step("queues.pause", (store) => store.queues.pause(env, queue, "me"))],
      [3, step("queues.resume", (store) => store.queues.resume(env, queue))],
      [3, step("queues.list", (store) => store.queues.list(listed))],
    ]);
  }

  definition(): Step {
    const name = {
      env: this.#dice.one(["test", "other"]),
      kind: this.#dice.one(["actor", "dag"] as const),
      name: this.#dice.one(["a", "b::c"]),
    };
    const programs = this.#dice.one([["a"], ["a", "b"], ["c"]]);
    const body = this.#dice.one(['{"n":1}', '{"n":2}', "[]", "{"]);
    const enabled = this.#dice.chance(0.5);
    const expected = this.#dice.chance(0.5) ? {} : { expectedVersion: this.#dice.int(0, 3) };
    return this.#dice.pick<Step>([
      [
        4,
        step("definitions.save", (store) => store.definitions.save({ ...name, body, programs, by: "me", ...expected })),
      ],
      [4, step("definitions.enable", (store) => store.definitions.enable(name, enabled, "me"))],
      [1, step("definitions.remove", (store) => store.definitions.remove(name))],
      [3, step("definitions.list", (store) => store.definitions.list(name.env))],
      [3, step("definitions.older", (store) => store.definitions.older(name.env))],
    ]);
  }

  lease(): Step {
    const env = this.#dice.one(["test", "other"]);
    const key = `lease-${this.#dice.int(0, 4)}`;
    const fence =
      this.#fences.length > 0
        ? this.#drawn.mutated(this.#dice.one(this.#fences.slice(-8)))
        : { env, key, epoch: 1, token: this.#dice.uuid() };
    const leaseMs = this.#dice.one([0, 20, 3000]);
    const token = this.#dice.chance(0.15) ? fence.token : this.#dice.uuid();
    const owner = this.#dice.one(["ann", "bob"]);
    const learn = (answer: { lease?: { epoch: number; token: string } }) => {
      if (answer.lease) this.#fences.push({ env, key, epoch: answer.lease.epoch, token: answer.lease.token });
    };
    return this.#dice.pick<Step>([
      [8, step("leases.acquire", (store) => store.leases.acquire({ env, key, owner, token, leaseMs }), learn)],
      [3, step("leases.renew", (store) => store.leases.renew(fence, leaseMs))],
      [2, step("leases.complete", (store) => store.leases.complete(fence))],
      [2, step("leases.fail", (store) => store.leases.fail(fence, "why"))],
      [2, step("leases.release", (store) => store.leases.release(fence))],
      [2, step("leases.owns", (store) => store.leases.owns(fence))],
      [2, step("leases.reclaimExpired", (store) => store.leases.reclaimExpired({ env, limit: 3 }))],
      [2, step("leases.get", (store) => store.leases.get(env, key))],
    ]);
  }

  /** All at once: which ones a smaller page returns is not defined. */
  misfits(): Step {
    const env = this.#dice.one(["test", "test", "other"]);
    const { nodes } = this.#drawn;
    const known = nodes.length > 0 ? this.#dice.one(nodes.slice(-6)) : this.#dice.uuid();
    const newcomer = this.#dice.chance(0.4) ? { newcomer: known } : {};
    const node = { stack: null, identity: "m", name: "m", env, build: this.#dice.one(BUILDS), heartbeatMs: 1000 };
    const incarnation = this.#dice.uuid();
    return this.#dice.pick<Step>([
      [6, step("reviewMisfits", (store) => store.runs.reviewMisfits({ env, limit: 1000, ...newcomer }))],
      [
        3,
        () => {
          nodes.push(incarnation);
          return step("nodes.register", (store, ids) => store.nodes.register({ ...node, incarnation, serves: ids }));
        },
      ],
      [3, step("nodes.stop", (store) => store.nodes.stop(known))],
    ]);
  }

  node(): Step {
    const known =
      this.#drawn.nodes.length > 0 && this.#dice.chance(0.8)
        ? this.#dice.one(this.#drawn.nodes.slice(-6))
        : this.#dice.uuid();
    const node: NodeRegistration = {
      stack: null,
      incarnation: this.#dice.chance(0.3) ? known : this.#dice.uuid(),
      identity: "i",
      name: "n",
      env: "test",
      build: this.#dice.one(BUILDS),
      ...(this.#dice.chance(0.3) && { executors: [{ name: "gpu", slots: 1, queues: ["q"] }] }),
      ...this.#dice.pick<object>([
        [4, {}],
        [4, { leaseMs: 3000, heartbeatMs: this.#dice.one([10, 1000]) }],
        [3, { stack: "lone", alone: true, leaseMs: 50, heartbeatMs: this.#dice.one([3, 3000]) }],
        [1, { stack: "lone", leaseMs: 50, heartbeatMs: 30 }],
      ]),
    };
    const serves = GROUPS.map((_, i) => i).filter(() => this.#dice.chance(0.6));
    const stopped = this.#dice.chance(0.5);
    // By what was drawn already: another draw would change every history after it.
    const isOdd = serves.length % 2 === 1;
    const told = isOdd
      ? { programs: [{ name: "p", kind: "dag", shape: SHAPES[serves[0]! % 3] ?? null, inputSchema: null }] }
      : {};
    const listed = stopped ? "none" : "test";
    const programs = step("nodes.programs", (store) => store.nodes.programs(listed));
    return this.#dice.pick<Step>([
      [
        5,
        () => {
          this.#drawn.nodes.push(node.incarnation);
          return step("nodes.register", (store, ids) =>
            store.nodes.register({ ...node, ...told, serves: serves.map((i) => ids[i]!) }),
          );
        },
      ],
      [3, step("nodes.heartbeat", (store) => store.nodes.heartbeat(known))],
      [1, step("nodes.stop", (store) => store.nodes.stop(known))],
      [2, isOdd ? programs : step("nodes.list", (store) => store.nodes.list({ env: "test", stopped }))],
    ]);
  }
}
