// Notices waits for a signal that a plain `Promise.race` may have lost, and reports the next wait for the same signal.
//
// A lost wait still takes the next message. No rule can tell it from a wait in a parallel branch: both were made before other
// endings, both are open, and a promise does not show whether it is awaited. So nothing is decided here; `ctx.race` withdraws.

import type { Session } from "../engine/session.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Call } from "./call.js";

/** The replay in which calls are made. */
interface WaitingReplay {
  readonly session: Session;
  readonly open: { has(call: Call): boolean };
  readonly catchingUp: boolean;
}

export class LostWaits {
  readonly #replay: WaitingReplay;
  #delivered = 0;
  /** Waits without a message, and how many endings were delivered before each was made. */
  readonly #waits = new Map<Call, number>();
  /** Waits that the function went past: it received another ending and made a call. */
  readonly #passed = new WeakSet<Call>();
  /** The last message, if a passed wait received it, and how many calls had been made then. */
  #last: { readonly signal: string; readonly asked: number } | null = null;
  /** Signals with such a message, after which the function made no call until something else ended. */
  readonly #unused = new Set<string>();
  readonly #reported = new Set<string>();

  constructor(replay: WaitingReplay) {
    this.#replay = replay;
  }

  asked(call: Call): void {
    for (const [wait, madeAfter] of this.#waits) {
      if (!this.#replay.open.has(wait)) this.#waits.delete(wait);
      else if (madeAfter < this.#delivered) this.#passed.add(wait);
    }
    const { signalName: signal } = call;
    if (!signal) return;
    if (this.#unused.has(signal) || this.#hasPassed(signal)) this.#report(signal);
    this.#waits.set(call, this.#delivered);
  }

  #hasPassed(signal: string): boolean {
    for (const wait of this.#waits.keys()) if (wait.signalName === signal && this.#passed.has(wait)) return true;
    return false;
  }

  #report(signal: string): void {
    const { session, catchingUp } = this.#replay;
    if (catchingUp || this.#reported.has(signal)) return;
    this.#reported.add(signal);
    session.bus.emit("run.wait_lost", { runId: session.run.runId, signal, advice: "use ctx.race" });
  }

  /** `asked`: how many calls the function has made. */
  delivered({ kind }: JournalEntry, call: Call | null, asked: number): void {
    this.#delivered++;
    if (this.#last?.asked === asked) this.#unused.add(this.#last.signal);
    const isLate = call?.signalName && kind === "take" && this.#passed.has(call);
    this.#last = isLate ? { signal: call.signalName, asked } : null;
  }
}
