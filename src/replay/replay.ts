// Runs a function over its journal: recorded calls are answered from it, new ones are made, and when nothing but waiting is
// left the run gives its claim back.
//
// The function sees one ending at a time, one turn of the event loop apart, in the order of the journal; the first time,
// too. So `Promise.race` decides today as it did when the log was written.

import type { Session } from "../engine/session.js";
import type { Payload } from "../kernel/codec/payload.js";
import { tamed } from "../kernel/codec/stored-error.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Call } from "./call.js";
import { type CallId, type Ending, endingOf, type Recorded } from "./recorded.js";
import { type Mail, StopGate } from "./stop-gate.js";

/** The reason with which steps are aborted that still run when their run is over. */
export class RunOver extends HoldfastError {
  readonly code = "RUN_OVER";

  constructor(runId: string) {
    super(`Run ${runId} is over; nobody waits for this step any more.`);
  }
}

/** How a round of work on a run ended. */
export type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** Everything the function waits for lies outside. `wakeAt` is the earliest deadline on the database's clock. */
  | { readonly kind: "waits"; readonly wakeAt: number | null; readonly wakeAfter: number }
  /** Begin anew with this input; these messages were told to nobody. */
  | { readonly kind: "anew"; readonly input: Payload; readonly reopen: readonly string[] }
  /** The run's own time is over. */
  | { readonly kind: "timeout" }
  /** Its log has grown beyond what is allowed. */
  | { readonly kind: "tooLong"; readonly length: number }
  | { readonly kind: "handBack" }
  | { readonly kind: "cancelled"; readonly entry: JournalEntry }
  /** Code and journal do not fit: recorded, but not asked for. */
  | { readonly kind: "mismatch"; readonly missing: readonly JournalEntry[]; readonly asked: readonly string[] };

export interface ReplayLimits {
  /** From the start of the generation, or from when the run was opened again. */
  readonly timeoutMs: number | null;
  /** Counted from here instead, on the database's clock. */
  readonly since?: number;
  /** The function as a whole is tried again: what it throws counts, whatever the log still has. */
  readonly retried?: boolean;
  /** Only time at work counts: a run that waits is not woken when its time is over. */
  readonly atWork?: boolean;
  /** Entries of one generation. */
  readonly historyLimit: number;
}

/** Stands for a call that has been told its ending. */
const OVER: Call = {
  id: "",
  title: "",
  started: true,
  running: false,
  deadline: null,
  start() {},
  expire() {},
  tell() {},
};

export class Replay {
  readonly session: Session;
  readonly recorded: Recorded;
  readonly gate = new StopGate();
  readonly #calls = new Map<CallId, Call>();
  readonly #open = new Set<Call>();
  /** Those that hold others back while they are being recorded. */
  readonly #firsts = new Set<Call>();
  readonly #messages: Map<string, JournalEntry>;
  /** Recorded or just written, not yet told to the function; in the order of the journal. */
  readonly #untold: Set<Ending>;
  /** Ends what runs when the run itself is over: cancelled, out of time, or done without waiting for it. */
  #isOver = false;
  /** Made when somebody asks for the signal: most runs never do, and it is not cheap. */
  #over: AbortController | null = null;
  #signal: AbortSignal | null = null;
  readonly #deadline: number | null;
  #settled: Extract<Outcome, { kind: "returned" | "threw" }> | null = null;
  /** The function ended after it was asked to: what it answered may be a part of its work. */
  endedLate = false;
  #failure: { error: unknown } | null = null;
  #asked = 0;
  #inStep = false;
  #cancelled: JournalEntry | null = null;
  /** Somebody wants it given back: the row knows what becomes of it then. */
  #paused = false;
  readonly #retried: boolean;
  #anew: Payload | null = null;
  readonly #historyLimit: number;
  readonly #atWork: boolean;
  #wake: (() => void) | null = null;

  constructor(session: Session, recorded: Recorded, limits: ReplayLimits) {
    const { timeoutMs, historyLimit, since, retried = false, atWork = false } = limits;
    this.session = session;
    this.recorded = recorded;
    this.#untold = new Set(this.recorded.endings);
    this.#messages = new Map(this.recorded.messages);
    this.#cancelled = this.recorded.messages.get("cancel") ?? null;
    this.#deadline = timeoutMs === null ? null : (since ?? this.recorded.since) + timeoutMs;
    this.#retried = retried;
    this.#historyLimit = historyLimit;
    this.#atWork = atWork;
  }

  /** Somebody wants it to stop: nothing of it is to begin. */
  get stopped(): Outcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    return this.#paused ? { kind: "handBack" } : null;
  }

  /** For user code: aborts when the claim is lost, the node has no more time, or the run is over. */
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

  /** Whether a step's work is the one who asks, until its first await. */
  get insideStep(): boolean {
    return this.#inStep;
  }

  /** Calls a step's work: until its first await, it is known to be the one who asks. */
  inStep<T>(work: () => T): T {
    this.#inStep = true;
    try {
      return work();
    } finally {
      this.#inStep = false;
    }
  }

  /** Registers a call of the function's; it is made when the journal turns out not to have it. */
  ask(call: Call): void {
    // Once the outer step is recorded nobody asks for the inner one any more, and the log would not fit.
    if (this.#inStep) throw new InvalidInput(call.title, "cannot be called inside a step; call it before or after it");
    this.#asked++;
    this.#calls.set(call.id, call);
    this.#open.add(call);
    if (call.first) this.#firsts.add(call);
    this.poke();
  }

  /** Ends this generation: once the function is idle, the run begins anew. */
  beginAnew(input: Payload): void {
    this.#anew = input;
    this.poke();
  }

  /** Whether the log goes on beyond where the function is: what it asks now that is not recorded was not asked then. */
  get catchingUp(): boolean {
    if ([...this.#untold].some(({ entry }) => entry.kind !== "take")) return true;
    return [...this.recorded.begun.keys()].some((id) => !this.#calls.has(id));
  }

  isRecorded(id: CallId): boolean {
    return this.recorded.endings.some((ending) => ending.id === id);
  }

  has(id: CallId): boolean {
    return this.#calls.has(id);
  }

  /** An ending that was just written to the journal. */
  ended(ending: Ending): void {
    this.#keep(ending);
    this.poke();
  }

  /** Writers that were answered together come back in any order; the function is told in the journal's. */
  #keep(ending: Ending): void {
    const later = [...this.#untold].filter(({ entry }) => entry.seq > ending.entry.seq);
    for (const one of later) this.#untold.delete(one);
    for (const one of [ending, ...later]) this.#untold.add(one);
  }

  /** The message with this key in the inbox, if it was taken in. */
  messageOf(key: string): JournalEntry | undefined {
    return this.#messages.get(key);
  }

  /** A message that was just taken into the journal. */
  received(entry: JournalEntry): void {
    this.#messages.set(entry.key!, entry);
    if (entry.key === "cancel") this.#cancelled = entry;
    if (entry.key?.startsWith("pause:")) this.#pause();
    const ending = endingOf(entry, this.session.run.baseSeq);
    if (ending) this.#keep(ending);
    for (const call of this.#open) call.hear?.(entry);
    this.poke();
  }

  /** What runs is aborted and waited for, as when the node stops: given back meanwhile, two could do it at once. */
  #pause(): void {
    this.#paused = true;
    this.session.stop(Promise.resolve());
    this.session.expire();
  }

  /** A call has failed in a way that ends the whole round: the claim is lost, or we made a mistake. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.poke();
  }

  async run(body: Promise<unknown>, mail: Mail): Promise<Outcome> {
    body.then(
      (value) => this.#settle({ kind: "returned", value }),
      (error) => this.#settle({ kind: "threw", error: tamed(error) }),
    );
    this.session.onChange(() => this.poke());
    try {
      return await this.#loop(mail);
    } finally {
      this.#isOver = true;
      this.#over?.abort(this.#runOver());
    }
  }

  #settle(as: Extract<Outcome, { kind: "returned" | "threw" }>): void {
    this.#settled = as;
    this.endedLate = this.session.workSignal.aborted;
    this.poke();
  }

  async #loop(mail: Mail): Promise<Outcome> {
    for (;;) {
      await this.#untilIdle();
      const outcome = this.#judge();
      if (outcome) return outcome;
      // Before anything begins: what the last answer of the store brought may be a request to stop.
      if (mail.isDue) {
        await mail.take();
        continue;
      }
      if (this.#startCalls() || this.#expireCalls()) continue;
      if (!this.#busy()) {
        // What is tried again as a whole works outside of calls, too: given back meanwhile, two would do it at once.
        if (this.session.stopping && !(this.#retried && this.#elsewhere())) return { kind: "handBack" };
        if (!this.#elsewhere() && ![...this.#open].some((call) => call.lingers))
          return { kind: "waits", wakeAt: this.#wakeAt(!this.#atWork), wakeAfter: this.#wakeAfter() };
      }
      await this.#untilChange();
    }
  }

  /** Tells endings one turn apart until the function asks nothing more by itself. */
  async #untilIdle(): Promise<void> {
    for (;;) {
      const before = this.#asked;
      await this.session.world.turn();
      if (this.#failure) throw this.#failure.error;
      if (this.session.signal.aborted) throw this.session.signal.reason;
      const next = this.#tellable();
      if (next) this.#tell(next);
      else if (this.#asked === before) return;
    }
  }

  /** The first ending whose call is open. One whose call has ended another way (a race with its timeout) is dropped. */
  #tellable(): { ending: Ending; call: Call } | null {
    if (this.#heldBack()) return null;
    for (const ending of this.#untold) {
      const call = this.#callOf(ending);
      if (!call) continue;
      if (this.#open.has(call)) return { ending, call };
      this.#untold.delete(ending);
    }
    return null;
  }

  /** Whether a call is being recorded that must stand in the log before anything more is told. */
  #heldBack(): boolean {
    for (const call of this.#firsts) {
      if (this.#open.has(call) && call.running && ![...this.#untold].some(({ id }) => id === call.id)) return true;
    }
    return false;
  }

  #callOf({ id, entry }: Ending): Call | undefined {
    if (id !== null) return this.#calls.get(id);
    for (const call of this.#open) if (call.signalName === entry.name) return call;
    return undefined;
  }

  #tell({ ending, call }: { ending: Ending; call: Call }): void {
    this.#untold.delete(ending);
    this.#open.delete(call);
    // Known to be over, but not kept: it holds what its step was given, and a graph may go round for ever.
    this.#calls.set(call.id, OVER);
    call.tell(ending.entry);
  }

  /** Only when the function is idle: parallel branches may ask in another order than they did. */
  #judge(): Outcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    if (this.#heldBack()) return null;
    if (this.#retried && this.#settled?.kind === "threw") return this.#settled;
    const missing = [...this.#untold].map(({ entry }) => entry).filter(({ kind }) => kind !== "take");
    if (missing.length > 0 && !this.#elsewhere()) {
      const asked = [...this.#open].filter((call) => !call.started).map(({ title }) => title);
      return { kind: "mismatch", missing, asked };
    }
    // A task has only its answer: given back, that would be lost.
    if (this.#paused && this.#settled && !this.#retried) return { kind: "handBack" };
    if (this.#settled) return this.#settled;
    if (this.#anew) return { kind: "anew", input: this.#anew, reopen: this.#untoldSignals() };
    if (this.#deadline !== null && this.session.databaseNow() >= this.#deadline) return { kind: "timeout" };
    const { length } = this.session;
    return length >= this.#historyLimit ? { kind: "tooLong", length } : null;
  }

  #untoldSignals(): string[] {
    return [...this.#untold].flatMap(({ id, entry }) => (id === null ? entry.key! : []));
  }

  #startCalls(): boolean {
    if (this.session.stopping) return false;
    const fresh = [...this.#open].filter((call) => !call.started);
    for (const call of fresh) call.start();
    return fresh.length > 0;
  }

  /** A node that stops leaves what is due to the next holder: for a step it would be another attempt. */
  #expireCalls(): boolean {
    if (this.session.stopping) return false;
    const now = this.session.databaseNow();
    const due = [...this.#open].filter(({ deadline, running }) => !running && deadline !== null && deadline <= now);
    for (const call of due) call.expire();
    return due.length > 0;
  }

  async #untilChange(): Promise<void> {
    const wakeAt = this.#wakeAt();
    let cancel = () => {};
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (wakeAt === null) return;
      cancel = this.session.world.after(Math.max(wakeAt - this.session.databaseNow(), 1), resolve);
    });
    cancel();
  }

  /**
   * Whether the function awaits something that is not ours, an import or a hash: it asks for nothing and has not ended.
   * Parked, it would sleep for ever; it is waited for, and what the log still has may be asked for afterwards.
   */
  #elsewhere(): boolean {
    return this.#open.size === 0 && this.#settled === null && this.#anew === null;
  }

  /** Whether something of this process's own is under way: a step, a write. */
  #busy(): boolean {
    return [...this.#open].some((call) => call.started && call.running);
  }

  #wakeAt(forTimeout = true): number | null {
    // A call that is just writing its expiry has no deadline left: waiting for it would be a loop of short sleeps.
    const deadlines = [...this.#open].flatMap((call) =>
      call.running || this.session.stopping ? [] : (call.deadline ?? []),
    );
    if (forTimeout && this.#deadline !== null) deadlines.push(this.#deadline);
    return deadlines.length > 0 ? Math.min(...deadlines) : null;
  }

  /** How many children must end before it is worth waking: all of a group, one otherwise. */
  #wakeAfter(): number {
    const sizes = [...this.#open].flatMap((call) => call.wakeAfter?.() ?? []);
    return sizes.length > 0 ? Math.min(...sizes) : 1;
  }

  /** Something of a call's has changed: look again. */
  poke(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
