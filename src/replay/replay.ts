// Runs a function over its journal: answers recorded calls, makes new ones, and releases the claim when only waits are left.
//
// The function receives one ending at a time, one turn of the event loop apart, in journal order; also the first time.
// So `Promise.race` decides in a replay as it did when the journal was written.

import type { Session } from "../engine/session.js";
import type { Payload } from "../kernel/codec/payload.js";
import { tamed } from "../kernel/codec/stored-error.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Call } from "./call.js";
import { type CallId, type Ending, endingOf, type Recorded } from "./recorded.js";
import type { SessionOutcome } from "./settlement.js";
import { type Mail, StopGate } from "./stop-gate.js";

/** Abort reason for steps still running when their run has ended. */
export class RunOver extends HoldfastError {
  readonly code = "RUN_OVER";

  constructor(runId: string) {
    super(`Run ${runId} has ended; the result of this step is no longer needed.`);
  }
}

export interface ReplayLimits {
  /** From the start of the generation, or from the operator's retry. */
  readonly timeoutMs: number | null;
  /** Count from here instead, on the database's clock. */
  readonly since?: number;
  /** The function is tried again as a whole: what it throws counts, even if the journal has more. */
  readonly retried?: boolean;
  /** Only working time counts: a waiting run is not woken for its timeout. */
  readonly atWork?: boolean;
  /** The most entries of one generation. */
  readonly historyLimit: number;
}

export class Replay {
  readonly session: Session;
  readonly recorded: Recorded;
  readonly gate = new StopGate();
  /**
   * Null: its ending was delivered. The call itself is not kept: it references its step's data, and a graph may loop for
   * ever.
   */
  readonly #calls = new Map<CallId, Call | null>();
  readonly #open = new Set<Call>();
  /** Calls that hold back all endings while they are being recorded. */
  readonly #holdingBack = new Set<Call>();
  readonly #messages: Map<string, JournalEntry>;
  /** Endings recorded or just written but not yet delivered, in journal order. */
  readonly #undelivered: Set<Ending>;
  /** True when the run has ended while work continues: cancelled, timed out, or returned without awaiting it. */
  #isOver = false;
  /** Created on first use: most runs never ask for the signal, and an AbortController is not cheap. */
  #over: AbortController | null = null;
  #signal: AbortSignal | null = null;
  readonly #deadline: number | null;
  #settled: Extract<SessionOutcome, { kind: "returned" | "threw" }> | null = null;
  /** The function returned after it was asked to stop: the result may be partial. */
  endedLate = false;
  #failure: { error: unknown } | null = null;
  #asked = 0;
  #inStep = false;
  #cancelled: JournalEntry | null = null;
  /** The run is to be released; its row says what happens to it then. */
  #paused = false;
  readonly #retried: boolean;
  #nextInput: Payload | null = null;
  readonly #historyLimit: number;
  readonly #atWork: boolean;
  #wake: (() => void) | null = null;
  /** Something changed since the function was last found idle. */
  #isWoken = false;

  constructor(session: Session, recorded: Recorded, limits: ReplayLimits) {
    const { timeoutMs, historyLimit, since, retried = false, atWork = false } = limits;
    this.session = session;
    this.recorded = recorded;
    this.#undelivered = new Set(this.recorded.endings);
    this.#messages = new Map(this.recorded.messages);
    this.#cancelled = this.recorded.messages.get("cancel") ?? null;
    this.#deadline = timeoutMs === null ? null : (since ?? this.recorded.since) + timeoutMs;
    this.#retried = retried;
    this.#historyLimit = historyLimit;
    this.#atWork = atWork;
  }

  /** A stop was requested: nothing more may begin. */
  get stopped(): SessionOutcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    return this.#paused ? { kind: "handBack" } : null;
  }

  /** For user code: aborts when the claim is lost, the node's grace period ends, or the run has ended. */
  get signal(): AbortSignal {
    if (!this.#signal) {
      this.#over = new AbortController();
      if (this.#isOver) this.#over.abort(this.#runOver());
      this.#signal = AbortSignal.any([this.session.workSignal, this.#over.signal]);
    }
    return this.#signal;
  }

  throwIfOver(): void {
    this.session.signal.throwIfAborted();
    if (this.#isOver) throw this.#runOver();
  }

  #runOver(): RunOver {
    return new RunOver(this.session.run.runId);
  }

  /** True while a step's work runs synchronously, until its first await. */
  get insideStep(): boolean {
    return this.#inStep;
  }

  /** Calls a step's work and marks the calls it makes until its first await. */
  inStep<Info, Tx, T>(work: (info: Info, tx: Tx) => T, info: Info, tx: Tx): T {
    this.#inStep = true;
    try {
      return work(info, tx);
    } finally {
      this.#inStep = false;
    }
  }

  /** Registers a call; it is made if the journal does not have it. */
  ask(call: Call): void {
    // Once the outer step is recorded, a replay would not make the inner call, and the journal would not fit.
    if (this.#inStep) throw new InvalidInput(call.title, "cannot be called inside a step; call it before or after it");
    this.#asked++;
    this.#calls.set(call.id, call);
    this.#open.add(call);
    if (call.first) this.#holdingBack.add(call);
    this.wake();
  }

  /** Ends this generation: once the function is idle, the run continues as new. */
  continueAsNew(input: Payload): void {
    this.#nextInput = input;
    this.wake();
  }

  /** Whether the journal continues beyond the function's position: a call without an entry was not made then. */
  get catchingUp(): boolean {
    if ([...this.#undelivered].some(({ entry }) => entry.kind !== "take")) return true;
    return [...this.recorded.begun.keys()].some((id) => !this.#calls.has(id));
  }

  isRecorded(id: CallId): boolean {
    return this.recorded.endings.some((ending) => ending.id === id);
  }

  has(id: CallId): boolean {
    return this.#calls.has(id);
  }

  /** Takes an ending that was just written to the journal. */
  ended(ending: Ending): void {
    this.#keep(ending);
    this.wake();
  }

  /** Writers in one batch resume in any order; the function receives endings in journal order. */
  #keep(ending: Ending): void {
    if (this.#undelivered.size === 0) return void this.#undelivered.add(ending);
    const later = [...this.#undelivered].filter(({ entry }) => entry.seq > ending.entry.seq);
    for (const one of later) this.#undelivered.delete(one);
    for (const one of [ending, ...later]) this.#undelivered.add(one);
  }

  /** The message with this inbox key, if it was taken in. */
  messageOf(key: string): JournalEntry | undefined {
    return this.#messages.get(key);
  }

  /** Takes a message that was just written to the journal. */
  received(entry: JournalEntry): void {
    this.#messages.set(entry.key!, entry);
    if (entry.key === "cancel") this.#cancelled = entry;
    if (entry.key?.startsWith("pause:")) this.#pause();
    const ending = endingOf(entry, this.session.run.baseSeq);
    if (ending) this.#keep(ending);
    for (const call of this.#open) call.onMessage?.(entry);
    this.wake();
  }

  /** Aborts running work and waits for it, as when the node stops: after a release, two nodes could do it at once. */
  #pause(): void {
    this.#paused = true;
    this.session.stop(Promise.resolve());
    this.session.expire();
  }

  /** A call failed in a way that ends the whole session: the claim is lost, or there is a bug. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.wake();
  }

  async run(body: Promise<unknown>, mail: Mail): Promise<SessionOutcome> {
    body.then(
      (value) => this.#settle({ kind: "returned", value }),
      (error) => this.#settle({ kind: "threw", error: tamed(error) }),
    );
    this.session.onChange(() => this.wake());
    try {
      return await this.#loop(mail);
    } finally {
      this.#isOver = true;
      this.#over?.abort(this.#runOver());
    }
  }

  #settle(as: Extract<SessionOutcome, { kind: "returned" | "threw" }>): void {
    this.#settled = as;
    this.endedLate = this.session.workSignal.aborted;
    this.wake();
  }

  async #loop(mail: Mail): Promise<SessionOutcome> {
    for (;;) {
      const outcome = await this.#untilIdle();
      if (outcome) return outcome;
      // First, because the store's last answer may have brought a request to stop.
      if (mail.isDue) {
        await mail.take();
        continue;
      }
      if (!this.session.stopping) {
        this.#startCalls();
        this.#expireCalls();
      }
      // A call that was just started may have ended at once, such as a wait for a message that is here already.
      if (this.#isWoken) continue;
      if (!this.#busy()) {
        // A function that is tried again as a whole also works outside of calls: after a release, two nodes could do it
        // at once.
        if (this.session.stopping && !(this.#retried && this.#awaitsOutside())) return { kind: "handBack" };
        if (!this.#awaitsOutside() && ![...this.#open].some((call) => call.lingers)) {
          this.session.world.parks?.(this.session.run.runId, this.#open);
          return { kind: "waits", wakeAt: this.#wakeAt(!this.#atWork), wakeAfter: this.#wakeAfter() };
        }
      }
      await this.#untilChange();
    }
  }

  /**
   * Delivers endings one turn apart until the function makes no more calls. The ending of the only open call is delivered at once:
   * no other one can come in the same batch. With nothing left to deliver, calls that come a turn later are made a turn later.
   * The idle function is judged before anything else can happen: an ending that came in between would look as if it was missing.
   */
  async #untilIdle(): Promise<SessionOutcome | null> {
    let only = this.#open.size === 1 && this.#undelivered.size === 1 ? this.#deliverable() : null;
    for (;;) {
      const before = this.#asked;
      if (!only) await this.session.world.turn();
      if (this.#failure) throw this.#failure.error;
      if (this.session.signal.aborted) throw this.session.signal.reason;
      const next = only ?? this.#deliverable();
      only = null;
      if (next) this.#tell(next);
      else if (this.#asked === before || this.#undelivered.size === 0) {
        this.#isWoken = false;
        return this.#judge();
      }
    }
  }

  /** The first ending whose call is open. An ending whose call has ended another way (a race with its timeout) is dropped. */
  #deliverable(): { ending: Ending; call: Call } | null {
    if (this.#heldBack()) return null;
    for (const ending of this.#undelivered) {
      const call = this.#callOf(ending);
      if (call === undefined) continue;
      if (call && this.#open.has(call)) return { ending, call };
      this.#undelivered.delete(ending);
    }
    return null;
  }

  /** Whether a call must be in the journal before any ending is delivered. */
  #heldBack(): boolean {
    for (const call of this.#holdingBack) {
      if (this.#open.has(call) && call.running && ![...this.#undelivered].some(({ id }) => id === call.id)) return true;
    }
    return false;
  }

  #callOf({ id, entry }: Ending): Call | null | undefined {
    if (id !== null) return this.#calls.get(id);
    for (const call of this.#open) if (call.signalName === entry.name) return call;
    return undefined;
  }

  #tell({ ending, call }: { ending: Ending; call: Call }): void {
    this.#undelivered.delete(ending);
    this.#open.delete(call);
    this.#calls.set(call.id, null);
    call.deliver(ending.entry);
  }

  /** Only when the function is idle: parallel branches may make their calls in another order than before. */
  #judge(): SessionOutcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    if (this.#heldBack()) return null;
    if (this.#retried && this.#settled?.kind === "threw") return this.#settled;
    if (this.#undelivered.size > 0 && !this.#awaitsOutside()) {
      const missing = [...this.#undelivered].map(({ entry }) => entry).filter(({ kind }) => kind !== "take");
      const asked = [...this.#open].filter((call) => !call.started).map(({ title }) => title);
      if (missing.length > 0) return { kind: "mismatch", missing, asked };
    }
    // A task has only its result, which a release would lose.
    // A step that the function did not wait for still runs: the next holder could start it a second time.
    if (this.#paused && this.#settled && !this.#retried) return this.#busy() ? null : { kind: "handBack" };
    if (this.#settled) return this.#settled;
    if (this.#nextInput) return { kind: "continueAsNew", input: this.#nextInput, reopen: this.#undeliveredSignals() };
    if (this.#deadline !== null && this.session.databaseNow() >= this.#deadline) return { kind: "timeout" };
    const { length } = this.session;
    return length >= this.#historyLimit ? { kind: "tooLong", length } : null;
  }

  #undeliveredSignals(): string[] {
    return [...this.#undelivered].flatMap(({ id, entry }) => (id === null ? entry.key! : []));
  }

  #startCalls(): void {
    for (const call of this.#open) if (!call.started) call.start();
  }

  /** A stopping node leaves expired calls to the next holder: a step would count another attempt. */
  #expireCalls(): void {
    for (const call of this.#open) {
      if (!call.running && call.deadline !== null && call.deadline <= this.session.databaseNow()) call.expire();
    }
  }

  /** After a timeout: until nothing of the function works in this process any more, the claim is lost or the node's grace has passed. */
  async untilQuiet(): Promise<void> {
    while (!this.session.workSignal.aborted && (this.#busy() || this.#awaitsOutside()))
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  #untilChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      const wakeAt = this.#wakeAt();
      if (wakeAt === null) return;
      const cancel = this.session.world.after(Math.max(wakeAt - this.session.databaseNow(), 1), resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  /**
   * Whether the function awaits something outside the context, such as an import: it makes no call and has not ended.
   * Parked, it would sleep for ever, so it is waited for; afterwards it may still make the journal's calls.
   */
  #awaitsOutside(): boolean {
    return this.#open.size === 0 && this.#settled === null && this.#nextInput === null;
  }

  /** Whether this process is working for the run: a step or a write. */
  #busy(): boolean {
    for (const call of this.#open) if (call.started && call.running) return true;
    return false;
  }

  #wakeAt(forTimeout = true): number | null {
    // A call that is writing its expiry has no deadline left: waiting for it would become a loop of short sleeps.
    let nearest = (forTimeout ? this.#deadline : null) ?? Number.POSITIVE_INFINITY;
    for (const { running, deadline } of this.#open) {
      if (!running && deadline !== null && !this.session.stopping) nearest = Math.min(nearest, deadline);
    }
    return nearest === Number.POSITIVE_INFINITY ? null : nearest;
  }

  /** How many children must end before waking is useful: all of a group, otherwise one. */
  #wakeAfter(): number {
    const sizes = [...this.#open].flatMap((call) => call.wakeAfter?.() ?? []);
    return sizes.length > 0 ? Math.min(...sizes) : 1;
  }

  /** A call has changed: look again. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
    this.#wake = null;
  }
}
