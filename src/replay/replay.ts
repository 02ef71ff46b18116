// Runs a function over its journal: answers recorded calls, makes new ones, and releases the claim when only waits are left.
//
// The function receives one ending at a time, one turn of the event loop apart, in journal order; also the first time.
// So `Promise.race` decides in a replay as it did when the journal was written.

import type { Session } from "../engine/session.js";
import type { Payload } from "../kernel/codec/payload.js";
import { tamed } from "../kernel/codec/stored-error.js";
import { InvalidInput } from "../kernel/error.js";
import type { Message } from "../store/contract/inbox/inbox.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Call } from "./call.js";
import { Cancellation } from "./cancellation.js";
import { Change } from "./change.js";
import { Children } from "./children.js";
import { Deliveries, type Delivery } from "./deliveries.js";
import { HoldingBack } from "./holding-back.js";
import { LostWaits } from "./lost-waits.js";
import { OpenCalls } from "./open-calls.js";
import { type CallId, type Ending, endingOf, type Recorded } from "./recorded.js";
import { mayDoze, type ReplayLimits } from "./replay-limits.js";
import { RunOverSignal } from "./run-over.js";
import type { SessionOutcome } from "./settlement.js";
import { StepWork } from "./step-work.js";
import { type Mail, StopGate } from "./stop-gate.js";

export class Replay {
  readonly session: Session;
  readonly recorded: Recorded;
  readonly gate = new StopGate();
  /** Null: its ending was delivered. The call itself is not kept: it references its step's data, and a graph may loop for ever. */
  readonly #calls = new Map<CallId, Call | null>();
  readonly open = new OpenCalls();
  readonly #lostWaits = new LostWaits(this);
  readonly #holdingBack = new HoldingBack();
  /** Messages taken in during this session, by their inbox key. */
  #received: Map<string, JournalEntry> | null = null;
  /** Endings recorded or just written but not yet delivered, in journal order. */
  readonly #undelivered: Deliveries;
  readonly children: Children;
  /** For a function that may clean up. */
  readonly cancellation: Cancellation | null;
  readonly #over: RunOverSignal;
  readonly #deadline: number | null;
  #settled: Extract<SessionOutcome, { kind: "returned" | "threw" }> | null = null;
  /** The function returned after it was asked to stop: the result may be partial. */
  endedLate = false;
  #failure: { error: unknown } | null = null;
  #asked = 0;
  readonly stepWork = new StepWork();
  #cancelled: JournalEntry | null = null;
  /** The run is to be released; its row says what happens to it then. */
  #paused = false;
  #nextInput: Payload | null = null;
  readonly #limits: ReplayLimits;
  readonly #change = new Change();
  /** Only the park is left to do once the new calls have begun: their first entries are written with it. */
  parksNext = false;

  constructor(session: Session, recorded: Recorded, limits: ReplayLimits) {
    const { timeoutMs, since, cleanupMs } = limits;
    this.session = session;
    this.#over = new RunOverSignal(session);
    this.recorded = recorded;
    this.#undelivered = new Deliveries(recorded.endings);
    this.children = new Children(recorded);
    this.cancellation = cleanupMs === undefined ? null : new Cancellation(this, cleanupMs);
    this.#cancelled = this.cancellation ? null : (recorded.messages.get("cancel") ?? null);
    this.#deadline = timeoutMs === null ? null : (since ?? this.recorded.since) + timeoutMs;
    this.#limits = limits;
  }

  /** A stop was requested: nothing more may begin. */
  get stopped(): SessionOutcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    return this.#paused ? { kind: "handBack" } : null;
  }

  /** For user code: aborts when the claim is lost, the node's grace period ends, or the run has ended. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  throwIfOver(): void {
    this.#over.throwIfOver();
  }

  /** Called when this session has ended, also when its run was only released. */
  onOver(callback: () => void): void {
    this.#over.onHappened(callback);
  }

  /** Registers a call; it is made if the journal does not have it. */
  ask(call: Call): void {
    // Once the outer step is recorded, a replay would not make the inner call, and the journal would not fit.
    if (this.stepWork.isRunning)
      throw new InvalidInput(call.title, "cannot be called inside a step; call it before or after it");
    this.#asked++;
    const cancelled = call.isCleanup ? null : this.cancellation?.raised;
    if (cancelled) {
      this.#calls.set(call.id, null);
      call.withdraw(cancelled);
      return;
    }
    this.#calls.set(call.id, call);
    this.#lostWaits.asked(call);
    this.open.add(call);
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
    if (this.#undelivered.missing.length > 0) return true;
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
    this.#undelivered.keep(ending);
    this.wake();
  }

  /** Called before requests to stop are written: once they are in the journal, nothing more may begin. */
  closeGate(messages: readonly Message[]): void {
    if (this.cancellation && messages.every(({ kind }) => kind !== "pause")) this.gate.closeToOrdinaryWork();
    else this.gate.close();
  }

  /** Ends a call without an ending. Work under way is still waited for: the run is not released before it ends. */
  withdraw(call: Call, error: Error): Promise<void> | null {
    if (!this.open.has(call)) return null;
    this.#calls.set(call.id, null);
    return this.open.withdraw(call, error);
  }

  /** The run ends: its children that are still open end as they were started to. */
  async endChildren(): Promise<void> {
    const children = [...this.open].filter(({ isChild }) => isChild);
    if (children.length === 0) return;
    const error = this.#over.error();
    await Promise.all(children.map((call) => this.withdraw(call, error)));
  }

  /** The message with this inbox key, if it was taken in. */
  messageOf(key: string): JournalEntry | undefined {
    return this.#received?.get(key) ?? this.recorded.messages.get(key);
  }

  /** Takes a message that was just written to the journal. */
  received(entry: JournalEntry): void {
    this.#received ??= new Map();
    this.#received.set(entry.key!, entry);
    this.children.received(entry);
    if (entry.key === "cancel" && !this.cancellation) this.#cancelled = entry;
    else if (entry.key === "cancel") this.cancellation?.request(entry);
    if (entry.key?.startsWith("pause:")) this.#pause();
    const ending = endingOf(entry, this.session.run.baseSeq);
    if (ending) this.#undelivered.keep(ending);
    for (const call of this.open) call.onMessage?.(entry);
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
      this.#over.happened();
    }
  }

  #settle(as: Extract<SessionOutcome, { kind: "returned" | "threw" }>): void {
    this.#settled = as;
    this.endedLate = this.session.over.aborted;
    this.wake();
  }

  async #loop(mail: Mail): Promise<SessionOutcome> {
    for (;;) {
      const outcome = await this.#untilIdle();
      if (outcome) return outcome;
      // A compensation was asked for: the journal may have its ending.
      if (this.#change.isNew) continue;
      // First, because the store's last answer may have brought a request to stop.
      if (mail.isDue) {
        await mail.take();
        continue;
      }
      if (!this.session.stopping) {
        this.cancellation?.place();
        // What the function has received is in the journal before anything begins that may follow from it.
        if (this.session.owes && !this.open.onlyWaits) {
          await this.session.pay();
          continue;
        }
        this.parksNext = this.#parksNext();
        this.open.start(this.#mayBegin);
        this.open.expire(this.session.databaseNow(), this.#mayBegin);
      }
      // A call that was just started may have ended at once, such as a wait for a message that is here already.
      if (this.#change.isNew) continue;
      let dozes = false;
      // Outside of calls, a graph writes for its function: the run is not released meanwhile.
      const writes = this.session.isWriting && !this.#busy();
      if (!writes && !this.#busy()) {
        // A function that is tried again as a whole also works outside of calls: after a release, two nodes could do it at once.
        if (this.session.stopping && !(this.#limits.retried && this.#awaitsOutside())) return { kind: "handBack" };
        if (!this.#awaitsOutside() && !this.open.lingers) {
          const wakeInMs = this.open.parkMs(this.#wakeAt(!this.#limits.atWork), this.session.databaseNow());
          dozes = this.open.onlySleeps && mayDoze(this.#limits) && this.session.seat?.mayDoze(wakeInMs) === true;
          if (!dozes) this.session.world.parks?.(this.session.run.runId, this.open);
          if (!dozes) return { kind: "waits", wakeInMs, wakeAfter: this.open.wakeAfter };
        }
      }
      // What is owed does not wait for a step, or for what the function awaits outside.
      if (this.session.owes) await this.session.pay();
      else if (writes) await this.session.written();
      else if (!dozes) await this.#untilChange();
      else if (!(await this.session.seat!.doze(this.#untilChange()))) return { kind: "handBack" };
    }
  }

  /** Nothing of this run is at work or on its way, and nothing asks it to stop. */
  get #isCalm(): boolean {
    return !this.#busy() && !this.session.isWriting && !this.gate.isClosed;
  }

  /** Near the limit of its history a run is judged after each entry. */
  #parksNext(): boolean {
    if (!this.#isCalm || this.open.lingers || !this.open.onlyWaits) return false;
    return this.session.length + this.open.size < this.#limits.historyLimit;
  }

  /**
   * Whether an ending of this call can only be the next entry of the journal: then the function may receive it before it is written.
   * A next holder that does not find it decides the same, because nothing began in between.
   */
  isAlone(call: Call): boolean {
    if (this.open.size !== 1 || !this.open.has(call) || this.#undelivered.size > 0 || this.catchingUp) return false;
    return this.#isCalm && this.session.isConfirmed && !this.session.stopping;
  }

  /**
   * Delivers endings one turn apart until the function makes no more calls. The ending of the only open call is delivered at once:
   * no other one can come in the same batch. With nothing left to deliver, calls that come a turn later are made a turn later.
   * The idle function is judged before anything else can happen: an ending that came in between would look as if it was missing.
   */
  async #untilIdle(): Promise<SessionOutcome | null> {
    let only = this.open.size === 1 && this.#undelivered.size === 1 ? this.#deliverable() : null;
    for (;;) {
      const before = this.#asked;
      if (!only) await this.session.world.turn();
      if (this.#failure) throw this.#failure.error;
      this.session.lost.throwIfAborted();
      const next = only ?? this.#deliverable();
      only = null;
      if (next) this.#tell(next);
      else if (this.#asked === before || this.#undelivered.size === 0) {
        this.#change.isNew = false;
        return this.#judge();
      }
    }
  }

  #deliverable(): Delivery | null {
    if (this.#heldBack()) return null;
    return this.#undelivered.next(
      (ending) => this.#callOf(ending),
      (call) => this.open.has(call),
    );
  }

  #heldBack(): boolean {
    return this.#holdingBack.isOn((call) => this.open.has(call) && !this.#undelivered.has(call.id));
  }

  #callOf({ id, entry }: Ending): Call | null | undefined {
    if (id !== null) return this.#calls.get(id);
    for (const call of this.open) if (call.signalName === entry.name) return call;
    return undefined;
  }

  #tell({ ending, call }: Delivery): void {
    this.#undelivered.delete(ending);
    this.#lostWaits.delivered(ending.entry, call, this.#asked);
    if (!call) {
      const cancelled = this.cancellation?.raise(ending.entry);
      for (const one of cancelled ? [...this.open] : []) if (!one.isCleanup) this.withdraw(one, cancelled!);
      return;
    }
    this.open.delete(call);
    this.#calls.set(call.id, null);
    call.deliver(ending.entry);
  }

  /** Only when the function is idle: parallel branches may make their calls in another order than before. */
  #judge(): SessionOutcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    if (this.#heldBack()) return null;
    const hasEnded = this.#settled !== null || this.#nextInput !== null;
    const thrown = this.#settled?.kind === "threw" ? this.#settled.error : null;
    // Before the journal is compared: it may have what compensations ask for.
    if (hasEnded && !this.#paused && this.cancellation?.compensates(thrown)) return null;
    if (this.#limits.retried && this.#settled?.kind === "threw") return this.#settled;
    if (this.#undelivered.size > 0 && !this.#awaitsOutside()) {
      const { missing } = this.#undelivered;
      const asked = [...this.open].filter((call) => !call.started).map(({ title }) => title);
      if (missing.length > 0) return { kind: "mismatch", missing, asked };
    }
    // A task has only its result, which a release would lose.
    // A step that the function did not wait for still runs: the next holder could start it a second time.
    if (this.#paused && this.#settled && !this.#limits.retried) return this.#busy() ? null : { kind: "handBack" };
    if (this.cancellation?.isAsked) return this.cancellation.outcome(hasEnded);
    if (this.#settled) return this.#settled;
    if (this.#nextInput) return { kind: "continueAsNew", input: this.#nextInput, reopen: this.#undelivered.signals };
    if (this.#deadline !== null && this.session.databaseNow() >= this.#deadline) {
      if (!this.cancellation) return { kind: "timeout" };
      this.cancellation.timeOut(this.#deadline);
      return null;
    }
    const { length } = this.session;
    return length >= this.#limits.historyLimit ? { kind: "tooLong", length } : null;
  }

  /** A cancelled run only cleans up. */
  readonly #mayBegin = (call: Call): boolean => call.isCleanup || !this.cancellation?.isAsked;

  /** After a timeout: until nothing of the function works in this process any more, the claim is lost or the node's grace has passed. */
  async untilQuiet(): Promise<void> {
    // An ending that was on its way at the timeout is written, and never delivered.
    const isAtWork = () => this.open.isBusy(({ id }) => !this.#undelivered.has(id));
    while (!this.session.over.aborted && (isAtWork() || this.#awaitsOutside())) await this.#change.next();
  }

  #untilChange(): Promise<void> {
    const { world } = this.session;
    const wakeAt = this.#wakeAt();
    return this.#change.next(wakeAt === null ? null : { world, ms: Math.max(wakeAt - this.session.databaseNow(), 1) });
  }

  /** The function awaits something outside the context, such as an import: it makes no call, has not ended, and would be parked for ever. */
  #awaitsOutside(): boolean {
    return this.open.size === 0 && this.#settled === null && this.#nextInput === null;
  }

  /** Whether this process is working for the run: a step or a write. */
  #busy(): boolean {
    return this.open.isBusy() || this.cancellation?.isBusy === true;
  }

  /** A stopping node leaves expired calls to the next holder: a step would count another attempt. */
  #wakeAt(forTimeout = true): number | null {
    const limit = this.cancellation?.isAsked ? this.cancellation.deadline : this.#deadline;
    const ofCalls = this.session.stopping ? null : this.open.deadline(this.#mayBegin);
    const both = [forTimeout ? limit : null, ofCalls].filter((at) => at !== null);
    return both.length === 0 ? null : Math.min(...both);
  }

  /** A call has changed: look again. */
  wake(): void {
    this.#change.happened();
  }
}
