// Draws one operation after the other: mostly sensible ones, some stale, repeated or bad. Those on runs are here.

import { isUuid } from "../../../src/kernel/id.js";
import { type Claim, claimToken } from "../../../src/kernel/run/claim.js";
import { RUN_STATES } from "../../../src/kernel/run/run-state.js";
import type { MessageKind, NewMessage } from "../../../src/store/contract/inbox/inbox.js";
import { namesOf } from "../../../src/store/contract/run/misfits.js";
import type { ClaimedRun, ClaimRequest, Commit, CommitAnswer } from "../../../src/store/contract/run/runs.js";
import { json } from "../scene.js";
import { Dice } from "./dice.js";
import { EffectDraws } from "./differential-effects.js";
import { HouseSteps } from "./differential-house-steps.js";
import { MachineSteps } from "./differential-machines.js";
import { ModeSteps } from "./differential-mode-steps.js";
import { NewRunDraws } from "./differential-new-runs.js";
import { BUILDS, type Drawer, GROUPS, type Held, type Step, step, untied } from "./differential-step.js";
import type { BothStores } from "./differential-stores.js";
import { TimeoutSteps } from "./differential-timeouts.js";
import { TriggerSteps } from "./differential-trigger-steps.js";

/** The first families, on which the others depend. */
const BASIC = 3;

/** What the generator remembers, so that it can also be late and repeat itself. */
export class Steps {
  readonly #dice: Dice;
  readonly #both: BothStores;
  readonly #runIds: string[] = [];
  readonly #held: Held[] = [];
  readonly #messages: NewMessage[] = [];
  readonly #nodes: string[] = [];
  readonly #triggers: TriggerSteps;
  readonly #house: HouseSteps;
  readonly #modes: ModeSteps;
  readonly #timeouts: TimeoutSteps;
  readonly #machines: MachineSteps;
  readonly #effects: EffectDraws;
  readonly #newRuns: NewRunDraws;
  /** Each history prefers other families, so that some reach what takes many steps of one. */
  #lean: readonly number[] | null = null;
  #lastClaim: ((ids: readonly number[]) => ClaimRequest) | null = null;
  #lastCommits: readonly Commit[] = [];
  #lastRetry: Step | null = null;

  constructor(seed: number, both: BothStores) {
    this.#dice = new Dice(seed);
    this.#both = both;
    this.#newRuns = new NewRunDraws(this.#dice, () => this.#runId());
    const drawer: Drawer = {
      dice: this.#dice,
      both,
      runIds: this.#runIds,
      held: this.#held,
      nodes: this.#nodes,
      newRun: () => this.#newRuns.newRun(),
      newKey: () => this.#newRuns.newKey(),
      runId: () => this.#runId(),
      mutated: (fence) => this.#mutated(fence),
    };
    this.#effects = new EffectDraws(drawer);
    this.#triggers = new TriggerSteps(drawer);
    this.#house = new HouseSteps(drawer);
    this.#modes = new ModeSteps(drawer);
    this.#timeouts = new TimeoutSteps(this.#dice, both);
    this.#machines = new MachineSteps(this.#dice, both);
  }

  next(): Step {
    const families: readonly (readonly [number, () => Step])[] = [
      [20, () => this.#insert()],
      [14, () => this.#claim()],
      [24, () => this.#commit()],
      [5, () => this.#renew()],
      [9, () => this.#send()],
      [5, () => this.#sweep()],
      [4, () => this.#wake()],
      [6, () => this.#cancel()],
      [6, () => this.#operate()],
      [4, () => this.#retry()],
      [3, () => this.#transact()],
      [2, () => this.#retain()],
      [7, () => this.#admit()],
      [3, () => this.#house.queue()],
      [5, () => this.#house.definition()],
      [10, () => this.#triggers.schedule()],
      [11, () => this.#triggers.event()],
      [3, () => this.#triggers.breaker()],
      [10, () => this.#house.lease()],
      [7, () => this.#house.node()],
      [3, () => this.#modes.recovery()],
      [3, () => this.#modes.deferred()],
      [2, () => this.#modes.mode()],
      [16, () => this.#house.misfits()],
      [8, () => this.#timeouts.next()],
      [12, () => this.#machines.next()],
      [10, () => this.#read()],
    ];
    this.#lean ??= families.map((_, i) => (i < BASIC ? 1 : this.#dice.one([0.25, 1, 5])));
    return this.#dice.pick(families.map(([weight, draw], i) => [weight * this.#lean![i]!, draw]));
  }

  /** How far time advances before the next step. Each has an instant of its own: the order within one is not defined. */
  advanceMs(): number {
    return this.#dice.pick<number>([
      [60, 1],
      [25, () => this.#dice.int(2, 5)],
      [12, () => this.#dice.int(10, 60)],
      [3, () => this.#dice.int(500, 2000)],
    ]);
  }

  #insert(): Step {
    const runs = this.#dice.many(1, 4, () => this.#newRuns.newRun());
    if (this.#dice.chance(0.1)) runs.push(runs[0]!);
    for (const { id } of runs) if (isUuid(id)) this.#runIds.push(id);
    return { name: "insert", call: (store) => store.runs.insert(runs) };
  }

  #admit(): Step {
    const runIds = this.#dice.many(1, 5, () => this.#runId());
    if (this.#dice.chance(0.05)) runIds.push("nobody");
    // All keys fit into one window: which ones a smaller one returns is not defined.
    const whom = this.#dice.chance(0.5) ? { runIds } : { env: runIds.length === 1 ? "other" : "test", keys: 100 };
    return { name: "admit", call: (store) => store.runs.admit(whom) };
  }

  #claim(): Step {
    if (this.#lastClaim && this.#dice.chance(0.1)) return this.#claimWith(this.#lastClaim);
    const wanted = GROUPS.map((_, i) => i).filter(() => this.#dice.chance(0.7));
    const owner = this.#dice.chance(0.5) && this.#nodes.length > 0 ? this.#dice.one(this.#nodes) : this.#dice.uuid();
    const token = this.#dice.chance(0.7) ? claimToken(this.#dice.uuid(), owner) : this.#dice.uuid();
    const build = this.#dice.one([null, ...BUILDS]);
    const leaseMs = this.#dice.one([0, 10, 40, 3000]);
    // From the token, not drawn: the histories stay what they were.
    const asks = { 0: 0, 1: 1, 2: 1 }[token[0]!] as 0 | 1 | undefined;
    const suspects = asks === undefined ? {} : { suspects: asks };
    const all = untied(
      this.#both.snapshot(),
      wanted.map((i) => GROUPS[i]!),
      this.#dice.int(1, 6),
      namesOf(build, owner),
    );
    // Where suspects are skipped, the cut would be elsewhere, maybe between equals.
    const limit = "suspects" in suspects ? 100 : all;
    const asked = { owner, token, limit, leaseMs, build, ...suspects };
    this.#lastClaim = (ids) => ({ ...asked, groupIds: wanted.map((i) => ids[i]!) });
    return this.#claimWith(this.#lastClaim);
  }

  #claimWith(request: (ids: readonly number[]) => ClaimRequest): Step {
    const learn = (claimed: readonly ClaimedRun[]) => {
      for (const { runId, epoch, token, counts, seq, debounce } of claimed) {
        const claim: Claim & { counts: boolean } = { runId, epoch, token, counts };
        this.#held.push({ claim, seq, debounce });
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
      return { claim, expectedSeq: Math.max(seq + off, 0), effects: this.#effects.draw(claim.runId) };
    });
    // Mostly one per claim, as the contract asks.
    if (this.#dice.chance(0.05)) return commits;
    return [...new Map(commits.map((commit) => [commit.claim.runId, commit])).values()];
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
    const kind = this.#dice.one<Exclude<MessageKind, "pause">>(["signal", "decision", "timeout", "child", "cancel"]);
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
    const env = this.#dice.chance(0.1) ? "other" : "test";
    return { name: "reclaimExpired", call: (store) => store.runs.reclaimExpired({ env, limit }) };
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

  /** Mostly of a run that has tasks, or of one at work. */
  #operate(): Step {
    const parents = this.#both.snapshot().journal.filter(({ kind }) => kind === "task");
    const atWork = this.#held.slice(-4).map(({ claim }) => claim);
    const some: readonly { readonly runId: string }[] = this.#dice.chance(0.7) ? parents.slice(-12) : atWork;
    const waits = this.#both.snapshot().runs.filter(({ pending }) => pending > 0);
    const { runId } = some.length > 0 && this.#dice.chance(0.85) ? this.#dice.one(some) : { runId: this.#runId() };
    return this.#dice.pick<Step>([
      [4, step("pause", (store) => store.runs.pause(runId, { by: "me" }))],
      [5, step("resume", (store) => store.runs.resume(runId, { by: "you" }))],
      [1, step("cancelTasks", (store) => store.runs.cancelTasks(runId, { by: "me" }))],
      [waits.length > 0 ? 2 : 0, step("cancelTasks", (store) => store.runs.cancelTasks(waits[0]!.id, { by: "me" }))],
      [2, step("cancel", (store) => store.runs.cancel(runId, { by: "me" }))],
      [3, step("stopping", (store) => store.runs.stopping(runId))],
      [1, step("reconcile", (store) => store.runs.reconcile())],
    ]);
  }

  #retry(): Step {
    if (this.#lastRetry && this.#dice.chance(0.15)) return this.#lastRetry;
    const runIds = this.#dice.many(1, 4, () => this.#runId());
    if (this.#dice.chance(0.05)) runIds.push("nobody");
    const fromStart = this.#dice.chance(0.4);
    const note = !fromStart && this.#dice.chance(0.3) ? { note: json(this.#dice.int(0, 3)) } : {};
    const named = !fromStart && this.#dice.chance(0.4) ? this.#someTasks(runIds) : {};
    const options = { by: "me", callId: this.#dice.uuid(), fromStart, ...note, ...named };
    this.#lastRetry = { name: "retry", call: (store) => store.runs.retry(runIds, options) };
    return this.#lastRetry;
  }

  /** Tasks of these runs, or of others. */
  #someTasks(runIds: string[]): { readonly tasks: readonly string[]; readonly after: boolean } {
    const tasks = this.#both.snapshot().runs.filter(({ parentId }) => parentId !== null);
    if (tasks.length === 0) return { tasks: runIds, after: false };
    const some = this.#dice.many(1, 3, () => this.#dice.one(tasks));
    if (this.#dice.chance(0.8)) runIds.push(...some.map(({ parentId }) => parentId!));
    return { tasks: some.map(({ id }) => id), after: this.#dice.chance(0.5) };
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
    // By the number that was drawn: another draw would change every history.
    const narrow = [
      {},
      { states: ["failed", "dead"] as const },
      { program: "a", queue: "a" },
      { runIds: [this.#both.unknownId] },
    ][options.limit % 4];
    const which = options.endedBeforeMs === 30 ? { ...options, ...narrow } : options;
    if (this.#dice.chance(0.6)) return { name: "archive", call: (store) => store.runs.archive(which) };
    return { name: "prune", call: (store) => store.runs.prune(which) };
  }

  #read(): Step {
    const unread = this.#both.snapshot().inbox.filter(({ takenSeq }) => takenSeq === null);
    const told = unread.length > 0 && this.#dice.chance(0.7) ? this.#dice.one(unread).runId : this.#runId();
    const runId = this.#runId();
    const filter = {
      env: this.#dice.one(["test", "other", "none"]),
      ...(this.#dice.chance(0.3) ? { states: this.#dice.many(0, 3, () => this.#dice.one(RUN_STATES)) } : {}),
      ...(this.#dice.chance(0.2) ? { stack: "blue" } : {}),
      ...(this.#dice.chance(0.2) ? { queue: "a", program: "a" } : {}),
      ...(this.#dice.chance(0.2) ? { attributes: { a: "eu" } } : {}),
      ...(this.#dice.chance(0.1) ? { parent: runId } : {}),
      ...(this.#dice.chance(0.1) ? { keyPrefix: "k" } : {}),
      ...(this.#dice.chance(0.1) ? { deferred: true as const } : {}),
      archived: this.#dice.chance(0.2),
    };
    const page = {
      limit: this.#dice.int(1, 20),
      ...(this.#dice.chance(0.3) ? { before: this.#dice.chance(0.1) ? "x" : runId } : {}),
    };
    const peeked = this.#dice.many(1, 3, () => {
      return { runId: this.#runId(), what: this.#dice.one(["start", "end"] as const) };
    });
    const shown = this.#both.snapshot().journal.filter(({ kind }) => kind === "set");
    const setId = shown.length > 0 && this.#dice.chance(0.6) ? this.#dice.one(shown).runId : runId;
    const part = this.#dice.one([{}, { after: 1 }, { limit: 2 }, { after: 2, limit: 1 }]);
    return this.#dice.pick<Step>([
      [2, step("get", (store) => store.runs.get(runId))],
      [2, step("claims", (store) => store.runs.claims(runId, { limit: 3 }))],
      [2, step("nextDue", (store, ids) => store.runs.nextDue(ids))],
      [2, step("list", (store) => store.runs.list(filter, page))],
      [1, step("count", (store) => store.runs.count(filter))],
      [3, step("journal.peek", (store) => store.journal.peek(peeked))],
      [3, step("journal.read", (store) => store.journal.read(runId, part))],
      [4, step("journal.lastSet", (store) => store.journal.lastSet(setId, "status"))],
      [3, step("inbox.unread", (store) => store.inbox.unread(told))],
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
