// Runs a function over its journal: recorded calls are answered from it, new ones are made, and when nothing but waiting is
// left the run gives its claim back.
//
// The function sees one ending at a time, one turn of the event loop apart, in the order of the journal; the first time,
// too. So `Promise.race` decides today as it did when the log was written.

import type { Session } from "../engine/session.js";
import { sleep } from "../kernel/world.js";
import type { JournalEntry } from "../store/contract/journal.js";
import type { Call } from "./call.js";
import { type CallId, type Ending, type Recorded, readRecorded, Waits } from "./recorded.js";

/** How a round of work on a run ended. */
export type Outcome =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown }
  /** Everything the function waits for lies outside. `wakeAt` is the earliest deadline on the database's clock. */
  | { readonly kind: "waits"; readonly wakeAt: number | null }
  | { readonly kind: "handBack" }
  | { readonly kind: "cancelled"; readonly entry: JournalEntry }
  /** Code and journal do not fit: recorded, but not asked for. */
  | { readonly kind: "mismatch"; readonly missing: readonly JournalEntry[]; readonly asked: readonly string[] };

export class Replay {
  readonly session: Session;
  readonly recorded: Recorded;
  readonly #waits: Waits;
  readonly #calls = new Map<CallId, Call>();
  readonly #open = new Set<Call>();
  /** Recorded or just written, not yet told to the function. */
  readonly #untold: Ending[];
  #settled: { kind: "returned"; value: unknown } | { kind: "threw"; error: unknown } | null = null;
  #asked = 0;
  #cancelled: JournalEntry | null = null;
  #wake: (() => void) | null = null;

  constructor(session: Session, history: readonly JournalEntry[]) {
    this.session = session;
    this.#waits = new Waits(history);
    this.recorded = readRecorded(history, this.#waits);
    this.#untold = [...this.recorded.endings];
    this.#cancelled = history.find(({ kind, key }) => kind === "take" && key === "cancel") ?? null;
  }

  /** Registers a call of the function's; it is made when the journal turns out not to have it. */
  ask(call: Call): void {
    this.#asked++;
    this.#calls.set(call.id, call);
    this.#open.add(call);
  }

  has(id: CallId): boolean {
    return this.#calls.has(id);
  }

  /** An ending that was just written to the journal. */
  ended(ending: Ending): void {
    this.#untold.push(ending);
    this.poke();
  }

  /** A signal that was just taken into the journal: it ends the next wait for its name. */
  signalled(entry: JournalEntry): void {
    this.ended({ id: this.#waits.next(entry.name), entry });
  }

  /** A wait that expired consumes no signal. */
  expired(id: CallId): void {
    this.#waits.expire(id);
  }

  cancelled(entry: JournalEntry): void {
    this.#cancelled = entry;
    this.poke();
  }

  /** A call has failed in a way that ends the whole round: the claim is lost, or we made a mistake. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.poke();
  }
  #failure: { error: unknown } | null = null;

  async run(body: Promise<unknown>, takeMessages: () => Promise<void>): Promise<Outcome> {
    body.then(
      (value) => {
        this.#settled = { kind: "returned", value };
      },
      (error) => {
        this.#settled = { kind: "threw", error };
      },
    );
    for (;;) {
      await this.#untilIdle();
      const outcome = this.#judge();
      if (outcome) return outcome;
      if (this.#startCalls() || this.#expireCalls()) continue;
      const seen = this.session.inboxSeq;
      await takeMessages();
      if (this.#tellable() || this.#cancelled) continue;
      if (this.session.inboxSeq > seen) continue;
      if (this.session.stopping && !this.#busy()) return { kind: "handBack" };
      if (!this.#busy()) return { kind: "waits", wakeAt: this.#wakeAt() };
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

  #tellable(): Ending | undefined {
    return this.#untold.find(({ id }) => {
      const call = this.#calls.get(id);
      return call !== undefined && this.#open.has(call);
    });
  }

  #tell(ending: Ending): void {
    this.#untold.splice(this.#untold.indexOf(ending), 1);
    const call = this.#calls.get(ending.id)!;
    this.#open.delete(call);
    call.tell(ending.entry);
  }

  /** Only when the function is idle: parallel branches may ask in another order than they did. */
  #judge(): Outcome | null {
    if (this.#cancelled) return { kind: "cancelled", entry: this.#cancelled };
    const missing = this.#untold.map(({ entry }) => entry).filter(({ kind }) => kind !== "take");
    const fresh = [...this.#open].filter((call) => !call.started);
    if (missing.length > 0 && (this.#settled || fresh.length > 0 || !this.#busy())) {
      return { kind: "mismatch", missing, asked: fresh.map(({ title }) => title) };
    }
    return this.#settled;
  }

  #startCalls(): boolean {
    if (this.session.stopping) return false;
    const fresh = [...this.#open].filter((call) => !call.started);
    for (const call of fresh) call.start();
    return fresh.length > 0;
  }

  #expireCalls(): boolean {
    const now = this.session.databaseNow();
    const due = [...this.#open].filter(({ deadline, running }) => !running && deadline !== null && deadline <= now);
    for (const call of due) call.expire();
    return due.length > 0;
  }

  async #untilChange(): Promise<void> {
    const wakeAt = this.#wakeAt();
    const timer = new AbortController();
    const events = [this.#poked(), this.session.changed()];
    if (wakeAt !== null) {
      const leftMs = Math.max(wakeAt - this.session.databaseNow(), 1);
      events.push(sleep(this.session.world, leftMs, timer.signal).catch(() => {}));
    }
    await Promise.race(events);
    timer.abort();
  }

  /** Whether something of this process's own is under way: a step, a write. */
  #busy(): boolean {
    return [...this.#open].some((call) => call.started && call.running);
  }

  #wakeAt(): number | null {
    const deadlines = [...this.#open].flatMap((call) => call.deadline ?? []);
    return deadlines.length > 0 ? Math.min(...deadlines) : null;
  }

  #poked(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Something of a call's has changed: look again. */
  poke(): void {
    this.#wake?.();
    this.#wake = null;
  }
}
