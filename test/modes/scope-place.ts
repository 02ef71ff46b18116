// One env with something of every kind in it, for the walk over all operations. Everything of an env bears its mark: its name, and
// the first letters of every id.

import type { NewRun, RunGroup } from "../../src/kernel/run/new-run.js";
import type { EventToStart, Subscription } from "../../src/store/contract/event/events.js";
import type { NewInstance } from "../../src/store/contract/machine/machines.js";
import type { ClaimedRun } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import type { Dice } from "../store/differential/dice.js";
import { json } from "../store/scene.js";

export type Mark = "aaaaaaaa" | "bbbbbbbb";

/** The longest list, the shortest lease. */
export const MOST = 1000;
export const SHORT_MS = 10;

export class Place {
  readonly env: string;
  readonly #mark: Mark;
  readonly #dice: Dice;
  readonly node: string;
  readonly runs: string[] = [];
  claims: readonly ClaimedRun[] = [];
  instance = "";
  schedule = "";
  lease = { key: "lease", epoch: 1, token: "" };
  fence = { generation: "", token: "" };

  constructor(mark: Mark, dice: Dice) {
    this.#mark = mark;
    this.#dice = dice;
    this.env = `env-${mark}`;
    this.node = this.id();
  }

  id(): string {
    return `${this.#mark}${this.#dice.uuid().slice(8)}`;
  }

  group(more: Partial<RunGroup> = {}): RunGroup {
    return { env: this.env, stack: null, queue: "q", program: "p", version: null, ...more };
  }

  get groups(): readonly RunGroup[] {
    const stacks = [null, "blue"] as const;
    return stacks.flatMap((stack) => ["p", "m"].map((program) => this.group({ stack, program })));
  }

  run(more: Partial<NewRun> = {}): NewRun {
    const id = this.id();
    this.runs.push(id);
    return { id, group: this.group(), priority: 0, delayMs: 0, crashLimit: 1, input: json(1), ...more };
  }

  /** Any of its runs. */
  any(): string {
    return this.#dice.one(this.runs);
  }

  subscription(more: Partial<Subscription> = {}): Subscription {
    return {
      ...{
        id: "p on e",
        scope: "p on e",
        env: this.env,
        stack: null,
        event: "e",
        program: "p",
        queue: "q",
        version: null,
      },
      ...{ where: [], subject: null, debounceMs: null, lifetime: "archived", crashLimit: 1, breaker: null },
      ...more,
    };
  }

  event(): EventToStart {
    const place = { id: this.id(), env: this.env, stack: null, event: "e", plain: "{}" };
    return { ...place, key: this.#dice.one(["k1", "k2"]), payloadHash: "h", input: json(1) };
  }

  gathered(subject: string) {
    return { run: this.run(), ticket: { subscription: "p on e", subject, windowMs: 0 } };
  }

  newInstance(): NewInstance {
    this.instance = this.id();
    const timer = { id: this.id(), generation: 1, kind: "after", name: "t", payload: json(1), delayMs: 0 } as const;
    const group = this.group({ queue: "m", program: "m" });
    return {
      ...{ key: this.instance, id: this.instance, group, inputHash: "h", redact: [], token: this.id() },
      ...{ events: [{ kind: "start", name: "start", key: null, payload: json(1), by: null }], status: "active" },
      ...{ value: '"s"', version: null, snapshot: json(1), timers: [timer], told: [], effects: [] },
    };
  }

  timeout(instance = "i") {
    return { env: this.env, scope: "s", instance };
  }

  registration(more: object = {}) {
    const who = { incarnation: this.node, identity: "host", name: "host", env: this.env, stack: null, build: null };
    return { ...who, heartbeatMs: SHORT_MS, leaseMs: SHORT_MS, ...more };
  }

  declaration(starting = true) {
    const subscriptions = [this.subscription(), this.subscription({ id: "p on e blue", stack: "blue" })];
    return { incarnation: this.node, env: this.env, subscriptions, starting };
  }

  schedules(removeAfterMs: number | null = null) {
    const schedules = [{ id: this.id(), group: this.group(), key: "every 1s", spec: "{}" }];
    return { env: this.env, stack: null, programs: ["p"], schedules, removeAfterMs };
  }

  definition() {
    const body = JSON.stringify({ of: this.id() });
    return { env: this.env, kind: "dag", name: "d", body, programs: ["d"], by: "me" } as const;
  }

  /** Runs in every state, orphans, overdue and held ones; a node that is silent at once; a queue, schedules, timers and all the rest. */
  async fill(store: Store): Promise<void> {
    const { env, node } = this;
    const serves = await store.runs.groupIds(this.groups);
    await store.nodes.register(this.registration({ serves }));
    await store.runs.declare(node, [{ group: this.group(), limits: [], recovery: "fail" }]);
    const slots = (overflow?: "drop") => [
      { kind: "slots", key: "line", max: 1, ...(overflow && { overflow }) } as const,
    ];
    const key = { scope: "p", key: "k", payloadHash: "h", lifetime: "live", onMismatch: "skip" } as const;
    await store.runs.insert([this.run(), this.run({ group: this.group({ stack: "blue" }) }), this.run({ key })]);
    this.claims = await store.runs.claim({
      owner: node,
      token: this.id(),
      groupIds: serves,
      limit: 2,
      leaseMs: SHORT_MS,
    });
    const [first, second] = this.claims;
    const park = { kind: "park", wakeInMs: 0, wakeAfter: 1, seenInboxSeq: 0 } as const;
    await store.runs.commit([{ claim: first!, expectedSeq: 1, effects: [park] }]);
    await store.runs.commit([{ claim: second!, expectedSeq: 1, effects: [{ kind: "complete", output: json(1) }] }]);
    await store.runs.insert([
      this.run({ limits: slots() }),
      this.run({ limits: slots() }),
      this.run({ limits: slots("drop") }),
    ]);
    await store.runs.insert([
      this.run({ priority: 5, deferred: { by: "host", expiresInMs: 0 } }),
      this.run(),
      this.run(),
      this.run(),
    ]);
    this.claims = await store.runs.claim({
      owner: node,
      token: this.id(),
      groupIds: serves,
      limit: 3,
      leaseMs: SHORT_MS,
    });
    // A place is free, and the next run has not been admitted yet.
    const limited = this.claims.find((one) => one.limited)!;
    await store.runs.commit([{ claim: limited, expectedSeq: 1, effects: [{ kind: "complete", output: json(1) }] }]);
    await store.inbox.send([this.message(this.claims[0]!.runId)]);
    await store.queues.pause(env, "other", "me");
    [this.schedule = ""] = await store.schedules.declare(this.schedules());
    await store.events.subscribe(this.declaration());
    await store.events.start([this.event()]);
    await store.events.debounce([this.gathered("subject")]);
    await store.definitions.save(this.definition());
    await store.breakers.takeProbe({ env, program: "p", opening: "o", probe: 1, runId: this.any() });
    const lease = await store.leases.acquire({ env, key: "lease", owner: "me", token: this.id(), leaseMs: SHORT_MS });
    if (lease.outcome !== "busy") this.lease = { key: "lease", epoch: lease.lease.epoch, token: lease.lease.token };
    const made = {
      ...this.timeout(),
      generation: this.id(),
      state: "s",
      sequence: 1,
      deadline: { inMs: 0 },
      keep: false,
    };
    await store.timeouts.schedule(made);
    const token = this.id();
    await store.timeouts.claim([
      { ...this.timeout(), generation: made.generation, node: "me", token, claimMs: SHORT_MS },
    ]);
    this.fence = { generation: made.generation, token };
    await store.machines.create([this.newInstance()]);
  }

  message(runId: string) {
    const messageId = this.id();
    return {
      runId,
      key: `signal:${messageId}`,
      messageId,
      kind: "signal",
      name: "s",
      payload: json(1),
      sender: null,
    } as const;
  }
}
