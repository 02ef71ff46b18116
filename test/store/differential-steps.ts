// Draws one operation after the other: mostly sensible ones, some stale, repeated or bad.

import type { Claim } from "../../src/kernel/claim.js";
import type { Effect } from "../../src/kernel/effect.js";
import { isUuid } from "../../src/kernel/id.js";
import type { KeyLifetime, NewLimit, NewRun, RunGroup } from "../../src/kernel/new-run.js";
import { RUN_STATES } from "../../src/kernel/run-state.js";
import type { NewDebounced } from "../../src/store/contract/events.js";
import type { MessageKind, NewMessage } from "../../src/store/contract/inbox.js";
import type { LeaseFence } from "../../src/store/contract/leases.js";
import type { NodeRegistration } from "../../src/store/contract/nodes.js";
import type { ClaimedRun, ClaimRequest, Commit, CommitAnswer } from "../../src/store/contract/runs.js";
import type { Fire, FireAnswer } from "../../src/store/contract/schedules.js";
import type { Snapshot } from "../../src/store/memory/snapshot.js";
import { Dice } from "./dice.js";
import type { BothStores, Call } from "./differential-stores.js";
import { group, json } from "./scene.js";

export const GROUPS: readonly RunGroup[] = [
  group("a"),
  group("b", { stack: "blue", version: "1" }),
  group("c", { env: "other" }),
];

export interface Step {
  readonly name: string;
  readonly call: Call;
  /** Learns from the answer of the memory store. */
  readonly learn?: (answer: never) => void;
}

const step = (name: string, call: Call, learn?: Step["learn"]): Step => ({ name, call, ...(learn ? { learn } : {}) });

interface Held {
  readonly claim: Claim;
  seq: number;
  readonly debounce?: ClaimedRun["debounce"];
}

/** What the generator remembers, so that it can also be late and repeat itself. */
export class Steps {
  readonly #dice: Dice;
  readonly #both: BothStores;
  readonly #runIds: string[] = [];
  readonly #held: Held[] = [];
  readonly #messages: NewMessage[] = [];
  readonly #nodes: string[] = [];
  readonly #fences: LeaseFence[] = [];
  #lastClaim: ((ids: readonly number[]) => ClaimRequest) | null = null;
  #lastCommits: readonly Commit[] = [];
  #lastRedrive: Step | null = null;
  #lastGathered: readonly NewDebounced[] = [];

  constructor(seed: number, both: BothStores) {
    this.#dice = new Dice(seed);
    this.#both = both;
  }

  next(): Step {
    return this.#dice.pick([
      [20, () => this.#insert()],
      [14, () => this.#claim()],
      [24, () => this.#commit()],
      [5, () => this.#renew()],
      [9, () => this.#send()],
      [5, () => this.#sweep()],
      [4, () => this.#wake()],
      [5, () => this.#cancel()],
      [4, () => this.#redrive()],
      [3, () => this.#transact()],
      [2, () => this.#retain()],
      [7, () => this.#admit()],
      [3, () => this.#queue()],
      [8, () => this.#schedule()],
      [11, () => this.#event()],
      [3, () => this.#breaker()],
      [10, () => this.#lease()],
      [5, () => this.#node()],
      [7, () => this.#read()],
    ]);
  }

  /** How far time goes before the next step. Each has an instant of its own: at one instant, turns are nobody's promise. */
  advanceMs(): number {
    return this.#dice.pick<number>([
      [60, 1],
      [25, () => this.#dice.int(2, 5)],
      [12, () => this.#dice.int(10, 60)],
      [3, () => this.#dice.int(500, 2000)],
    ]);
  }

  #insert(): Step {
    const runs = this.#dice.many(1, 4, () => this.#newRun());
    if (this.#dice.chance(0.1)) runs.push(runs[0]!);
    for (const { id } of runs) if (isUuid(id)) this.#runIds.push(id);
    return { name: "insert", call: (store) => store.runs.insert(runs) };
  }

  #newRun(): NewRun {
    const parentId = this.#dice.chance(0.25) ? this.#runId() : undefined;
    const run: NewRun = {
      id: this.#dice.chance(0.06) ? this.#runId() : this.#dice.uuid(),
      group: this.#dice.one(GROUPS),
      priority: this.#dice.int(0, 2),
      delayMs: this.#dice.pick<number>([
        [8, 0],
        [2, () => this.#dice.int(1, 50)],
      ]),
      crashLimit: this.#dice.int(1, 3),
      input: json(this.#dice.int(0, 9)),
      ...(parentId ? { parentId } : {}),
      ...(this.#dice.chance(0.4) ? { key: this.#key() } : {}),
      ...(this.#dice.chance(0.35) ? { limits: this.#limits() } : {}),
    };
    if (!this.#dice.chance(0.05)) return run;
    return this.#dice.one<NewRun>([
      { ...run, input: { codec: "json", data: "\0" } },
      { ...run, id: "not-a-uuid" },
      { ...run, delayMs: -1 },
      { ...run, crashLimit: 0 },
      { ...run, limits: [{ kind: "slots", key: "", max: 1 }] },
      { ...run, group: { ...run.group, queue: "\ud800" } },
    ]);
  }

  /** Few keys, so that lines form; each key has one limit or two, as after a deployment that changed it. */
  #limits(): NewLimit[] {
    const customer = this.#dice.one(["ann", "bob"]);
    const all: NewLimit[] = [
      { kind: "serial", key: `serial ${customer}`, max: 1 },
      { kind: "slots", key: `slots ${customer}`, max: this.#dice.int(1, 2) },
      { kind: "slots", key: "slots", max: 3 },
      { kind: "rate", key: "rate", max: this.#dice.one([1, 4]), perMs: this.#dice.one([20, 1500]) },
    ];
    return all.filter(() => this.#dice.chance(0.5));
  }

  #admit(): Step {
    const runIds = this.#dice.many(1, 5, () => this.#runId());
    if (this.#dice.chance(0.05)) runIds.push("nobody");
    // All keys fit into one window: which ones a smaller one would see is nobody's promise.
    const whom = this.#dice.chance(0.5) ? { runIds } : { keys: 100 };
    return { name: "admit", call: (store) => store.runs.admit(whom) };
  }

  /** Few subjects and short windows, so that events meet the taking of those before them. */
  #event(): Step {
    const declared = GROUPS.flatMap(({ env, stack, queue, program, version }) =>
      this.#dice
        .many(0, 2, () => ({ env, stack, queue, program, version }))
        .map((one, i) => ({
          ...one,
          id: `${program} on ${i}`,
          event: this.#dice.one(["x", "y"]),
          where: this.#dice.one([[], [{ a: 1 }], [{ a: 1, b: { c: "d" } }, { a: 2 }]]),
          subject: null,
          debounceMs: this.#dice.one([null, 20]),
          lifetime: this.#dice.one<KeyLifetime>(["live", "archived", { forMs: 50 }]),
          crashLimit: this.#dice.int(1, 3),
          breaker: this.#dice.one([null, { threshold: 2, halfOpenMs: 50 }]),
        })),
    );
    const env = this.#dice.one(["test", "other"]);
    const mine = [...new Map(declared.filter((one) => one.env === env).map((one) => [one.id, one])).values()];
    const incarnation = this.#nodes.length > 0 ? this.#dice.one(this.#nodes.slice(-4)) : this.#dice.uuid();
    const declaration = { incarnation, env, subscriptions: mine, starting: this.#dice.chance(0.6) };
    const plains = ["{}", '{"a":1}', '{"a":2,"b":{"c":"d"}}', '{"a":1,"b":{"c":"d","e":[1]}}'];
    const events = this.#dice.many(1, 3, () => ({
      ...this.#dice.one([
        { env: "test", stack: null },
        { env: "test", stack: "blue" },
        { env: "other", stack: null },
      ]),
      event: this.#dice.one(["x", "y", "z"]),
      plain: this.#dice.one(plains),
    }));
    const again = this.#lastGathered.length > 0 && this.#dice.chance(0.1);
    const gathered = again ? this.#lastGathered : this.#dice.many(1, 3, () => this.#gathered());
    this.#lastGathered = gathered;
    return this.#dice.pick<Step>([
      [4, step("events.subscribe", (store) => store.events.subscribe(declaration))],
      [1, step("events.subscriptions", (store) => store.events.subscriptions(env))],
      [2, step("events.match", (store) => store.events.match(events))],
      [5, step("events.debounce", (store) => store.events.debounce(gathered))],
      [6, () => this.#settleDebounced()],
    ]);
  }

  #gathered(): NewDebounced {
    const { key: _key, parentId: _parent, ...run } = this.#newRun();
    const windowMs = this.#dice.one([0, 5, 40]);
    const subject = this.#dice.chance(0.03) ? "" : this.#dice.one(["a", "b"]);
    const id = this.#dice.uuid();
    this.#runIds.push(id);
    return { run: { ...run, id }, ticket: { subscription: "a on 0", subject, windowMs } };
  }

  /** Mostly of a run that gathers, when one is held. */
  #settleDebounced(): Step {
    const gathering = this.#held.filter(({ debounce }) => debounce).slice(-3);
    const nobody = { claim: { runId: this.#runId(), epoch: 1, token: this.#dice.uuid() }, seq: 1 };
    const held: Held = gathering.length > 0 && this.#dice.chance(0.9) ? this.#dice.one(gathering) : nobody;
    const { claim, seq } = held;
    const known = held.debounce ?? { subscription: "a on 0", subject: "a", windowMs: 5 };
    // A longer window is what one more event makes of it.
    const ticket = this.#dice.chance(0.3) ? { ...known, windowMs: known.windowMs + 100 } : known;
    return step("events.settleDebounced", (store) => store.events.settleDebounced(claim, seq, ticket));
  }

  #breaker(): Step {
    const { env, program } = this.#dice.one(GROUPS);
    const question = { env, program, threshold: this.#dice.int(0, 3), halfOpenMs: this.#dice.one([0, 50]) };
    const [run] = this.#both.snapshot().runs;
    const probe = {
      env,
      program,
      opening: run ? `${run.id}:0` : "x",
      probe: this.#dice.int(1, 2),
      runId: this.#runId(),
    };
    const runId = this.#runId();
    return this.#dice.pick<Step>([
      [4, step("breakers.read", (store) => store.breakers.read([question]))],
      [2, step("breakers.takeProbe", (store) => store.breakers.takeProbe(probe))],
      [1, step("breakers.isProbe", (store) => store.breakers.isProbe(runId))],
    ]);
  }

  #queue(): Step {
    const [env, queue] = this.#dice.one([["test", "a"] as const, ["test", "b"] as const, ["other", "c"] as const]);
    const listed = this.#dice.chance(0.2) ? "none" : env;
    return this.#dice.pick<Step>([
      [2, step("queues.pause", (store) => store.queues.pause(env, queue, "me"))],
      [3, step("queues.resume", (store) => store.queues.resume(env, queue))],
      [3, step("queues.list", (store) => store.queues.list(listed))],
    ]);
  }

  #schedule(): Step {
    const of = this.#dice.one(GROUPS);
    const { env } = of;
    const rows = this.#both.snapshot().schedules;
    const name = this.#dice.chance(0.5) || rows.length === 0 ? of.program : this.#dice.one(rows).id;
    const ids = rows.map(({ id }) => id).filter(() => this.#dice.chance(0.7));
    return this.#dice.pick<Step>([
      [4, () => this.#declare(of)],
      [7, () => this.#fire(rows)],
      [2, step("schedules.due", (store) => store.schedules.due(ids))],
      [1, step("schedules.list", (store) => store.schedules.list(env))],
      [1, step("schedules.pause", (store) => store.schedules.pause(env, name, "me"))],
      [1, step("schedules.resume", (store) => store.schedules.resume(env, name))],
    ]);
  }

  #declare({ env, stack, ...of }: RunGroup): Step {
    const group = { ...of, env, stack, version: this.#dice.one([null, "1", "2"]) };
    const schedules = ["every 1s", "every 2s", "every 3s"]
      .filter(() => this.#dice.chance(0.6))
      .map((key) => ({ id: this.#dice.uuid(), group, key, spec: String(this.#dice.int(0, 3)) }));
    if (this.#dice.chance(0.05) && schedules[0]) schedules.push(schedules[0]);
    const removeAfterMs = this.#dice.one([null, null, 0, 60, 600]);
    const declaration = { env, stack, programs: [of.program], schedules, removeAfterMs };
    return step("schedules.declare", (store) => store.schedules.declare(declaration));
  }

  /** Mostly from where the schedule is, sometimes from where it was. */
  #fire(rows: Snapshot["schedules"]): Step {
    const fires = rows
      .filter(() => this.#dice.chance(0.5))
      .map(({ id, last }): Fire => {
        const runs = this.#dice.many(0, 2, () => ({ ...this.#newRun(), key: this.#key() }));
        const window = last + this.#dice.int(0, 50);
        const next = this.#dice.chance(0.1) ? null : window + this.#dice.int(0, 200);
        return { scheduleId: id, seenLast: this.#dice.chance(0.8) ? last : last - 1, last: window, next, runs };
      });
    const learn = (answers: readonly FireAnswer[]) => {
      for (const answer of answers) if (answer.outcome === "fired") this.#runIds.push(...answer.runIds);
    };
    return step("schedules.fire", (store) => store.schedules.fire(fires), learn);
  }

  #key(): NonNullable<NewRun["key"]> {
    const lifetime = this.#dice.one<KeyLifetime>(["live", "archived", { forMs: this.#dice.int(0, 40) }]);
    const onMismatch = this.#dice.one(["conflict", "skip"] as const);
    return {
      scope: this.#dice.one(["s", "t"]),
      key: `k${this.#dice.int(0, 7)}`,
      payloadHash: this.#dice.one(["x", "y"]),
      lifetime,
      onMismatch,
    };
  }

  #claim(): Step {
    if (this.#lastClaim && this.#dice.chance(0.1)) return this.#claimWith(this.#lastClaim);
    const wanted = GROUPS.map((_, i) => i).filter(() => this.#dice.chance(0.7));
    const [owner, token] = [
      this.#dice.chance(0.5) && this.#nodes.length > 0 ? this.#dice.one(this.#nodes) : this.#dice.uuid(),
      this.#dice.uuid(),
    ];
    const leaseMs = this.#dice.one([0, 10, 40, 3000]);
    const limit = untied(
      this.#both.snapshot(),
      wanted.map((i) => GROUPS[i]!),
      this.#dice.int(1, 6),
    );
    this.#lastClaim = (ids) => ({ owner, token, groupIds: wanted.map((i) => ids[i]!), limit, leaseMs });
    return this.#claimWith(this.#lastClaim);
  }

  #claimWith(request: (ids: readonly number[]) => ClaimRequest): Step {
    const learn = (claimed: readonly ClaimedRun[]) => {
      for (const { runId, epoch, token, seq, debounce } of claimed) {
        this.#held.push({ claim: { runId, epoch, token }, seq, debounce });
      }
    };
    return { name: "claim", call: (store, ids) => store.runs.claim(request(ids)), learn };
  }

  #commit(): Step {
    const again = this.#lastCommits.length > 0 && this.#dice.chance(0.12);
    const commits = again ? this.#lastCommits : this.#commits();
    this.#lastCommits = commits;
    const learn = (answers: readonly CommitAnswer[]) => {
      answers.forEach((answer, i) => {
        const held = this.#held.find(
          ({ claim }) => claim.token === commits[i]!.claim.token && claim.runId === commits[i]!.claim.runId,
        );
        if (held && (answer.outcome === "accepted" || answer.outcome === "moved")) held.seq = answer.seq;
      });
    };
    return { name: "commit", call: (store) => store.runs.commit(commits), learn };
  }

  #commits(): Commit[] {
    const commits = this.#dice.many(1, 4, (): Commit => {
      const { claim, seq } = this.#someClaim();
      const off = this.#dice.chance(0.08) ? this.#dice.one([-1, 1, 2]) : 0;
      return { claim, expectedSeq: Math.max(seq + off, 0), effects: this.#effects(claim.runId) };
    });
    // Mostly one per claim, as the contract asks.
    if (this.#dice.chance(0.05)) return commits;
    return [...new Map(commits.map((commit) => [commit.claim.runId, commit])).values()];
  }

  #effects(runId: string): Effect[] {
    if (this.#dice.chance(0.02)) return [];
    const effects = this.#dice.many(0, 2, () => this.#effect(runId));
    if (effects.length === 0 || this.#dice.chance(0.5)) effects.push(this.#settling(runId));
    if (this.#dice.chance(0.02)) effects.push({ kind: "append", entry: { kind: "step", name: "after" } });
    return effects;
  }

  #effect(runId: string): Effect {
    const entry = {
      kind: "step",
      name: `n${this.#dice.int(0, 3)}`,
      ...(this.#dice.chance(0.5) ? { key: "k", payload: json(this.#dice.int(0, 3)) } : {}),
    };
    return this.#dice.pick<Effect>([
      [6, { kind: "append", entry }],
      [3, () => ({ kind: "take", messageKey: this.#messageKeyOf(runId) })],
      [2, () => ({ kind: "enqueue", name: "child", run: this.#child() })],
      [0.3, { kind: "append", entry: { kind: "step", name: "\ud800" } }],
    ]);
  }

  #child(): Extract<Effect, { kind: "enqueue" }>["run"] {
    const {
      key: _key,
      parentId: _parent,
      ...run
    } = {
      ...this.#newRun(),
      id: this.#dice.chance(0.08) ? this.#runId() : this.#dice.uuid(),
      delayMs: this.#dice.int(0, 20),
    };
    this.#runIds.push(run.id);
    return run;
  }

  #messageKeyOf(runId: string): string {
    const unread = this.#both
      .snapshot()
      .inbox.filter((message) => message.runId === runId && message.takenSeq === null);
    return unread.length > 0 && this.#dice.chance(0.9) ? this.#dice.one(unread).key : "signal:none";
  }

  #takenOf(runId: string): string[] {
    const taken = this.#both.snapshot().inbox.filter((message) => message.runId === runId && message.takenSeq !== null);
    return taken.filter(() => this.#dice.chance(0.4)).map(({ key }) => key);
  }

  #settling(runId: string): Effect {
    const known = this.#both.snapshot().runs.find((run) => run.id === runId)?.inboxSeq ?? 0;
    const seenInboxSeq = this.#dice.chance(0.8) ? known : Math.max(known - 1, 0);
    const wakeInMs = this.#dice.one([null, 0, 10, 5000]);
    return this.#dice.pick<Effect>([
      [4, { kind: "complete", output: json("done") }],
      [
        3,
        () => ({
          kind: "fail",
          as: this.#dice.one(["failed", "dead", "cancelled", "skipped", "quarantined"] as const),
          reason: json("no"),
        }),
      ],
      [4, () => ({ kind: "retry", delayMs: this.#dice.int(0, 30), error: json("no") })],
      [8, () => ({ kind: "park", wakeInMs, wakeAfter: this.#dice.int(1, 3), seenInboxSeq })],
      [3, { kind: "handBack" }],
      [1, { kind: "pause" }],
      [2, () => ({ kind: "continue", input: json("next"), reopen: this.#takenOf(runId) })],
      [0.3, { kind: "retry", delayMs: -1, error: json("no") }],
    ]);
  }

  #renew(): Step {
    const claims = this.#dice.many(1, 4, () => this.#someClaim().claim);
    if (this.#dice.chance(0.2)) claims.push(this.#dice.one(claims));
    if (this.#dice.chance(0.05)) claims.push({ ...claims[0]!, runId: "nobody" });
    const leaseMs = this.#dice.one([0, 20, 3000]);
    return { name: "renew", call: (store) => store.runs.renew(claims, leaseMs) };
  }

  #send(): Step {
    const messages =
      this.#dice.chance(0.15) && this.#messages.length > 0
        ? [this.#dice.one(this.#messages)]
        : this.#dice.many(1, 3, () => this.#message());
    this.#messages.push(...messages);
    return { name: "send", call: (store) => store.inbox.send(messages) };
  }

  #message(): NewMessage {
    const kind = this.#dice.one<MessageKind>(["signal", "decision", "timeout", "child", "cancel"]);
    const wait = this.#dice.one(["wait:a", "wait:b"]);
    const fitting = {
      signal: `signal:${this.#dice.int(0, 999)}`,
      decision: wait,
      timeout: wait,
      cancel: wait,
      child: "k",
    };
    const message: NewMessage = {
      runId: this.#runId(),
      key: this.#dice.chance(0.9) ? fitting[kind] : this.#dice.one(["cancel", "signal:0", "wait:a", "child:x"]),
      messageId: this.#dice.uuid(),
      kind,
      name: "go",
      payload: this.#dice.chance(0.5) ? json(1) : null,
      sender: this.#dice.one([null, "me"]),
    };
    return this.#dice.chance(0.04) ? { ...message, name: "a\0b" } : message;
  }

  #sweep(): Step {
    const limit = this.#dice.int(1, 6);
    return { name: "sweepExpired", call: (store) => store.runs.sweepExpired({ limit }) };
  }

  #wake(): Step {
    const limit = this.#dice.one([1, 3, 100]);
    return { name: "wakeParked", call: (store) => store.runs.wakeParked({ limit }) };
  }

  #cancel(): Step {
    const runId = this.#runId();
    const options = { by: "me", ...(this.#dice.chance(0.5) ? { reason: "why" } : {}) };
    return { name: "cancel", call: (store) => store.runs.cancel(runId, options) };
  }

  #redrive(): Step {
    if (this.#lastRedrive && this.#dice.chance(0.15)) return this.#lastRedrive;
    const runIds = this.#dice.many(1, 4, () => this.#runId());
    if (this.#dice.chance(0.05)) runIds.push("nobody");
    const options = { by: "me", callId: this.#dice.uuid(), fromStart: this.#dice.chance(0.4) };
    this.#lastRedrive = { name: "redrive", call: (store) => store.runs.redrive(runIds, options) };
    return this.#lastRedrive;
  }

  #transact(): Step {
    const { claim, seq } = this.#someClaim();
    const expectedSeq = this.#dice.chance(0.1) ? seq + 1 : seq;
    const entry = { kind: "transaction", name: "t", payload: json(this.#dice.int(0, 3)) };
    const commit: Commit = { claim, expectedSeq, effects: [{ kind: "append", entry }] };
    const learn = (answer: CommitAnswer) => {
      const held = this.#held.find((one) => one.claim === claim);
      if (held && (answer.outcome === "accepted" || answer.outcome === "moved")) held.seq = answer.seq;
    };
    return { name: "transact", call: (store) => store.runs.transact(async () => commit), learn };
  }

  #retain(): Step {
    const options = {
      env: this.#dice.one(["test", "other"]),
      endedBeforeMs: this.#dice.one([0, 30, 1000]),
      limit: this.#dice.int(1, 8),
    };
    if (this.#dice.chance(0.6)) return { name: "archive", call: (store) => store.runs.archive(options) };
    return { name: "prune", call: (store) => store.runs.prune(options) };
  }

  #lease(): Step {
    const env = this.#dice.one(["test", "other"]);
    const key = `lease-${this.#dice.int(0, 4)}`;
    const fence =
      this.#fences.length > 0
        ? this.#mutated(this.#dice.one(this.#fences.slice(-8)))
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

  #node(): Step {
    const known =
      this.#nodes.length > 0 && this.#dice.chance(0.8) ? this.#dice.one(this.#nodes.slice(-6)) : this.#dice.uuid();
    const node: NodeRegistration = {
      stack: null,
      incarnation: this.#dice.chance(0.3) ? known : this.#dice.uuid(),
      identity: "i",
      name: "n",
      env: "test",
      build: "1",
      ...(this.#dice.chance(0.3) && { executors: [{ name: "gpu", slots: 1, queues: ["q"] }] }),
      ...this.#dice.pick<object>([
        [4, {}],
        [4, { leaseMs: 3000, heartbeatMs: this.#dice.one([10, 1000]) }],
        [3, { stack: "lone", alone: true, leaseMs: 50, heartbeatMs: this.#dice.one([3, 3000]) }],
        [1, { stack: "lone", leaseMs: 50, heartbeatMs: 30 }],
      ]),
    };
    const serves = GROUPS.map((_, i) => i).filter(() => this.#dice.chance(0.3));
    const stopped = this.#dice.chance(0.5);
    return this.#dice.pick<Step>([
      [
        5,
        () => {
          this.#nodes.push(node.incarnation);
          return step("nodes.register", (store, ids) =>
            store.nodes.register({ ...node, serves: serves.map((i) => ids[i]!) }),
          );
        },
      ],
      [3, step("nodes.heartbeat", (store) => store.nodes.heartbeat(known))],
      [1, step("nodes.stop", (store) => store.nodes.stop(known))],
      [2, step("nodes.list", (store) => store.nodes.list({ env: "test", stopped }))],
    ]);
  }

  #read(): Step {
    const runId = this.#runId();
    const filter = {
      env: this.#dice.one(["test", "other", "none"]),
      ...(this.#dice.chance(0.3) ? { states: this.#dice.many(0, 3, () => this.#dice.one(RUN_STATES)) } : {}),
      ...(this.#dice.chance(0.2) ? { stack: "blue" } : {}),
      ...(this.#dice.chance(0.2) ? { queue: "a", program: "a" } : {}),
      archived: this.#dice.chance(0.2),
    };
    const page = {
      limit: this.#dice.int(1, 20),
      ...(this.#dice.chance(0.3) ? { before: this.#dice.chance(0.1) ? "x" : runId } : {}),
    };
    const part = this.#dice.one([{}, { after: 1 }, { limit: 2 }, { after: 2, limit: 1 }]);
    return this.#dice.pick<Step>([
      [2, step("get", (store) => store.runs.get(runId))],
      [2, step("nextDue", (store, ids) => store.runs.nextDue(ids))],
      [2, step("list", (store) => store.runs.list(filter, page))],
      [1, step("count", (store) => store.runs.count(filter))],
      [3, step("journal.read", (store) => store.journal.read(runId, part))],
      [3, step("inbox.unread", (store) => store.inbox.unread(runId))],
    ]);
  }

  /** Mostly one that is or was held, sometimes with a part of its fence wrong. */
  #someClaim(): Held {
    const recent = this.#held.slice(-25);
    if (recent.length === 0) return { claim: { runId: this.#runId(), epoch: 1, token: this.#dice.uuid() }, seq: 1 };
    const held = this.#dice.one(recent);
    return this.#dice.chance(0.06) ? { ...held, claim: this.#mutated(held.claim) } : held;
  }

  #mutated<F extends { readonly epoch: number; readonly token: string }>(fence: F): F {
    return this.#dice.pick<F>([
      [8, fence],
      [1, { ...fence, epoch: fence.epoch + 1 }],
      [1, () => ({ ...fence, token: this.#dice.uuid() })],
    ]);
  }

  #runId(): string {
    return this.#runIds.length > 0 && this.#dice.chance(0.96)
      ? this.#dice.one(this.#runIds.slice(-60))
      : this.#dice.uuid();
  }
}

/** A limit that does not cut between runs of equal turn: which of those goes first is nobody's promise. */
function untied(snapshot: Snapshot, groups: readonly RunGroup[], limit: number): number {
  const paused = new Set(snapshot.pausedQueues.map(({ queue }) => queue));
  const queues = new Set(groups.map((one) => one.queue).filter((queue) => !paused.has(queue)));
  const turns = snapshot.runs
    .filter((run) => run.state === "waiting" && queues.has(run.group.queue))
    .map((run) => run.priority * 1e15 + run.availableAt)
    .sort((a, b) => a - b);
  let cut = limit;
  while (cut < turns.length && turns[cut] === turns[cut - 1]) cut++;
  return cut;
}
