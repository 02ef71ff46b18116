// Isolation as a property: nothing that happens in one env changes an answer in another. The same operations are done in an env
// of a store of its own, and in the same env of a store where a noisy neighbour uses the same names and keys.

import { afterAll, describe, expect, test } from "vitest";
import type { NewRun, RunGroup } from "../../src/kernel/run/new-run.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { ClaimedRun } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { Dice } from "../store/differential/dice.js";
import { json } from "../store/scene.js";

const STEPS = 120;

/** One actor in one env: it remembers what it holds, and draws the same from the same seed. */
class Tenant {
  readonly #dice: Dice;
  readonly #env: string;
  readonly #runs: string[] = [];
  readonly #claims: ClaimedRun[] = [];
  readonly #nodes: string[] = [];
  readonly #fences: { key: string; epoch: number; token: string }[] = [];

  constructor(seed: number, env: string) {
    this.#dice = new Dice(seed);
    this.#env = env;
  }

  #group(): RunGroup {
    const stack = this.#dice.one([null, "blue"]);
    return { env: this.#env, stack, queue: "q", program: this.#dice.one(["p", "q"]), version: null };
  }

  #run(): NewRun {
    const key = { scope: "s", key: this.#dice.one(["k1", "k2"]), payloadHash: "h", lifetime: "live" } as const;
    const id = this.#dice.uuid();
    this.#runs.push(id);
    return {
      id,
      group: this.#group(),
      priority: this.#dice.int(0, 2),
      delayMs: 0,
      crashLimit: 3,
      input: json(1),
      ...(this.#dice.chance(0.4) && { key: { ...key, onMismatch: "conflict" } }),
      ...(this.#dice.chance(0.3) && { limits: [{ kind: "slots", key: "shared", max: 2 } as const] }),
      ...(this.#dice.chance(0.2) && { deferred: { by: "n", expiresInMs: null } }),
    };
  }

  /** What to call next. Drawn before the store is known, so that both stores get the same. */
  next(): (store: Store) => Promise<unknown> {
    const env = this.#env;
    const run = this.#run();
    const [token, owner, limit] = [this.#dice.uuid(), this.#dice.uuid(), this.#dice.int(1, 3)];
    const groups = [null, "blue"].flatMap((stack) =>
      ["p", "q"].map((program) => ({ env, stack, queue: "q", program, version: null })),
    );
    const claim = this.#claims.length > 0 ? this.#dice.one(this.#claims) : null;
    const id = this.#dice.one(this.#runs);
    const key = this.#dice.one(["lease-1", "lease-2"]);
    const fence = this.#fences.at(-1);
    const node = this.#nodes.at(-1) ?? owner;
    const schedule = { id: this.#dice.uuid(), group: groups[0]!, key: "every 1m", spec: "{}" };
    const old = { env, endedBeforeMs: 0, limit: 5 };
    const event = { env, stack: null, event: "e", plain: "{}" };
    const calls: [number, (store: Store) => Promise<unknown>][] = [
      [20, (store) => store.runs.insert([run])],
      [
        14,
        async (store) => {
          const groupIds = await store.runs.groupIds(groups);
          const claimed = await store.runs.claim({ owner, token, groupIds, limit, leaseMs: 600_000 });
          for (const one of claimed) if (!this.#claims.some((held) => held.token === one.token)) this.#claims.push(one);
          return claimed.map(({ runId, epoch, seq }) => ({ runId, epoch, seq }));
        },
      ],
      [
        10,
        (store) =>
          claim
            ? store.runs.commit([
                { claim, expectedSeq: claim.seq, effects: [{ kind: "complete", output: json("done") }] },
              ])
            : Promise.resolve([]),
      ],
      [3, (store) => store.runs.cancel(id, { by: "me" })],
      [4, (store) => store.runs.count({ env })],
      [
        4,
        async (store) => (await store.runs.list({ env }, { limit: 50 })).runs.map(({ id: one, state }) => [one, state]),
      ],
      [2, (store) => store.runs.archive(old)],
      [1, (store) => store.runs.prune(old)],
      [2, (store) => store.runs.orphans({ env, staleMs: 0, limit: 10 })],
      [2, (store) => store.runs.keyOf(id)],
      [2, (store) => store.runs.declare(node, [{ group: groups[0]!, limits: [], recovery: "fail" }])],
      [2, (store) => store.runs.limitsOf(groups[0]!)],
      [
        4,
        async (store) => {
          const answer = await store.leases.acquire({ env, key, owner: "me", token, leaseMs: 600_000 });
          if (answer.outcome !== "busy" && !this.#fences.some((one) => one.token === answer.lease.token)) {
            this.#fences.push({ key, epoch: answer.lease.epoch, token: answer.lease.token });
          }
          return answer.outcome === "busy" ? { busy: answer.owner } : { epoch: answer.lease.epoch };
        },
      ],
      [2, (store) => (fence ? store.leases.complete({ env, ...fence }) : Promise.resolve(null))],
      [1, (store) => store.leases.reclaimExpired({ env, limit: 5 })],
      [2, (store) => store.queues.pause(env, "q", "me")],
      [3, (store) => store.queues.resume(env, "q")],
      [
        2,
        async (store) =>
          (await store.queues.list(env)).map(({ queue, counts, paused }) => ({ queue, counts, by: paused?.by })),
      ],
      [
        2,
        async (store) => {
          if (!this.#nodes.includes(owner)) this.#nodes.push(owner);
          const who = { incarnation: owner, identity: "i", name: "n", env, stack: null, build: null };
          const serves = await store.runs.groupIds(groups);
          return store.nodes.register({ ...who, serves, heartbeatMs: 600_000 });
        },
      ],
      [2, (store) => store.nodes.changeMode(node, { set: "trigger_only" }, { keep: true, by: "me" })],
      [2, async (store) => (await store.nodes.list({ env })).map(({ incarnation, mode }) => ({ incarnation, mode }))],
      [
        2,
        async (store) => {
          const programs = ["p"];
          await store.schedules.declare({ env, stack: null, programs, schedules: [schedule], removeAfterMs: null });
          return (await store.schedules.list(env)).schedules.map(({ key: one, group }) => ({ one, group }));
        },
      ],
      [1, (store) => store.schedules.pause(env, "p", "me")],
      [1, async (store) => (await store.schedules.list(env)).schedules.map(({ paused }) => paused?.by ?? null)],
      [2, (store) => store.events.match([event])],
      [1, (store) => store.events.subscriptions(env)],
      [2, (store) => store.breakers.read([{ env, program: "p", threshold: 1, halfOpenMs: 600_000 }])],
      [1, (store) => store.breakers.takeProbe({ env, program: "p", opening: "o", probe: 1, runId: owner })],
      [2, (store) => store.runs.reconcile({ env })],
      [
        2,
        (store) =>
          store.runs
            .unservedGroups({ env, own: "x", stacks: null, programs: [{ queue: "q", program: "p", version: null }] })
            .then((found) => found.map(({ group }) => group)),
      ],
    ];
    // Boxed, because the dice would call a bare function.
    return this.#dice.pick(calls.map(([weight, call]): [number, { call: typeof call }] => [weight, { call }])).call;
  }
}

/** Removes what differs between stores: numbers of groups, and times. */
function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (name, part) =>
      name === "groupId" || (typeof part === "number" && part > 1e12) ? undefined : part,
    ),
  );
}

async function sameBeside(alone: Store, shared: Store, seed: number): Promise<number> {
  const env = `a-${process.pid}-${seed}`;
  const tenant = new Tenant(seed, env);
  const neighbour = new Tenant(seed + 1_000_000, `${env}-b`);
  let compared = 0;
  for (let step = 0; step < STEPS; step++) {
    const call = tenant.next();
    const wanted = comparable(await call(alone));
    await neighbour.next()(shared);
    expect({ seed, step, answer: comparable(await call(shared)) }).toEqual({ seed, step, answer: wanted });
    compared++;
    await neighbour.next()(shared);
  }
  return compared;
}

describe("every answer in an env is as if no other env existed", () => {
  test("on the memory store", async () => {
    for (let seed = 1; seed <= 60; seed++) {
      // The order within one instant is not defined, so time advances with every read of the clock.
      let now = 1_800_000_000_000;
      const world = { ...systemWorld(), wallNow: () => ++now };
      expect(await sameBeside(memoryStore({ world }), memoryStore({ world }), seed)).toBe(STEPS);
    }
  });

  describe("on PostgreSQL", () => {
    const { url, schema, pool } = testSchema();
    afterAll(() => pool.query(`drop schema if exists ${schema}_alone cascade`));
    test("four histories", { timeout: 60_000 }, async () => {
      const stores = [openPostgres(url, { schema: `${schema}_alone` }), openPostgres(url, { schema })] as const;
      for (const store of stores) await store.migrate();
      for (let seed = 1; seed <= 4; seed++) expect(await sameBeside(...stores, seed)).toBe(STEPS);
      await Promise.all(stores.map((store) => store.close()));
    });
  });
});
