// The cancellation of a run whose function may clean up: requested, raised once in the function, limited in time.
//
// The journal has the position. `cancelling` is written when no ordinary call is at work; in a replay it is delivered after the
// same endings as the first time, so that the same calls are rejected. Only clean-up begins after the request.

import type { Session } from "../engine/session.js";
import { HoldfastError } from "../kernel/error.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { OpenCalls } from "./open-calls.js";
import type { Ending, Recorded } from "./recorded.js";
import type { SessionOutcome } from "./settlement.js";
import type { StopGate } from "./stop-gate.js";

/** What a compensation or clean-up failed with, and which one it was. */
export class CompensationFailed extends HoldfastError {
  readonly code = "COMPENSATION_FAILED";

  constructor(name: string, cause: unknown) {
    super(
      `The compensation ${JSON.stringify(name)} failed; those registered before it did not run. A retry continues with it.`,
      { cause },
    );
  }
}

/** Thrown by the calls of a workflow that was cancelled or timed out, except inside `ctx.cleanup`. */
export class Cancelled extends HoldfastError {
  readonly code = "CANCELLED";
  /** A request, or the timeout of the run. */
  readonly reason: "requested" | "timeout";

  constructor(runId: string, reason: "requested" | "timeout") {
    const why = reason === "timeout" ? "took longer than its timeout" : "was cancelled";
    super(`Run ${runId} ${why}: only clean-up may begin (ctx.cleanup).`);
    this.reason = reason;
  }
}

/** Starts a compensation as a durable step. */
export interface Compensation {
  readonly name: string;
  readonly run: () => Promise<unknown>;
}

/** The replay whose function is cancelled. */
export interface CancelledReplay {
  readonly session: Session;
  readonly recorded: Recorded;
  readonly gate: StopGate;
  readonly open: OpenCalls;
  ended(ending: Ending): void;
  fail(error: unknown): void;
  wake(): void;
}

export class Cancellation {
  readonly #replay: CancelledReplay;
  readonly #cleanupMs: number;
  #request: JournalEntry | null;
  /** When the run's own timeout passed. */
  #timedOutAt: number | null = null;
  #raised: Cancelled | null = null;
  /** Its place is in the journal, or on its way there. */
  #isPlaced: boolean;
  #isWriting = false;
  readonly #compensations = new Set<Compensation>();
  #isCompensating = false;
  #failure: unknown = null;
  readonly #failedCleanups = new WeakSet<object>();

  constructor(replay: CancelledReplay, cleanupMs: number) {
    const { recorded, gate } = replay;
    this.#replay = replay;
    this.#cleanupMs = cleanupMs;
    this.#request = recorded.messages.get("cancel") ?? null;
    this.#isPlaced = recorded.endings.some(({ entry }) => entry.kind === "cancelling");
    if (this.#request) gate.closeToOrdinaryWork();
  }

  /** Ordinary calls no longer begin. */
  get isAsked(): boolean {
    return this.#request !== null || this.#timedOutAt !== null || this.#raised !== null;
  }

  /** The function has received it: its ordinary calls throw this. */
  get raised(): Cancelled | null {
    return this.#raised;
  }

  /** It is being recorded, or a compensation is under way. */
  get isBusy(): boolean {
    return this.#isWriting || this.#isCompensating;
  }

  /** When the run ends whatever its clean-up does, on the database's clock; null while nothing was asked. */
  get deadline(): number | null {
    const at = this.#request?.at ?? this.#timedOutAt;
    return at === null ? null : Math.max(at, this.#replay.recorded.since) + this.#cleanupMs;
  }

  /** The request is in the journal. */
  request(entry: JournalEntry): void {
    this.#request ??= entry;
    this.#abortOrdinaryWork();
  }

  /** The run's own timeout has passed. */
  timeOut(at: number): void {
    this.#timedOutAt ??= at;
    this.#abortOrdinaryWork();
  }

  #abortOrdinaryWork(): void {
    const { gate, open, session } = this.#replay;
    gate.closeToOrdinaryWork();
    const reason = new Cancelled(session.run.runId, this.#request ? "requested" : "timeout");
    for (const call of open) if (!call.isCleanup) call.abort?.(reason);
  }

  /** Writes where the function receives it, once none of its ordinary calls is at work. */
  place(): void {
    const { session, open } = this.#replay;
    if (!this.isAsked || this.#isPlaced || open.isBusy((call) => !call.isCleanup)) return;
    this.#isPlaced = true;
    this.#isWriting = true;
    const name = this.#request ? "cancel" : "timeout";
    session.commit([{ kind: "append", entry: { kind: "cancelling", name } }]).then(
      ({ seq }) => {
        this.#isWriting = false;
        const { epoch } = session.run;
        const at = session.databaseNow();
        const entry = { seq, epoch, kind: "cancelling", name, key: null, payload: null, at };
        this.#replay.ended({ id: null, entry });
      },
      (error) => this.#replay.fail(error),
    );
  }

  /** The function receives it now: returns what its open calls are rejected with. */
  raise({ name, at }: JournalEntry): Cancelled {
    const { gate, session } = this.#replay;
    const reason = name === "timeout" ? "timeout" : "requested";
    if (reason === "timeout") this.#timedOutAt ??= at;
    gate.closeToOrdinaryWork();
    this.#raised = new Cancelled(session.run.runId, reason);
    return this.#raised;
  }

  register(compensation: Compensation): () => void {
    this.#compensations.add(compensation);
    return () => this.#compensations.delete(compensation);
  }

  /** Of `ctx.cleanup`: a function that lets it through fails its run, so that an operator can retry the clean-up. */
  cleanupFailed(error: unknown): void {
    if (typeof error === "object" && error !== null && error !== this.#raised) this.#failedCleanups.add(error);
  }

  /** The end of the run: after its function and its compensations, or after its time. */
  outcome(hasEnded: boolean): SessionOutcome | null {
    const entry = this.#request;
    const end: SessionOutcome = entry ? { kind: "cancelled", entry } : { kind: "timeout" };
    if (this.#replay.session.databaseNow() >= this.deadline!) return end;
    if (!this.#raised || !hasEnded) return null;
    return this.#failure === null ? end : { kind: "threw", error: this.#failure };
  }

  /**
   * The function has ended: runs the last compensation that is left. False: none is left, or one has failed. `thrown`: what
   * the function threw.
   */
  compensates(thrown: unknown): boolean {
    if (!this.#raised || this.#replay.session.databaseNow() >= this.deadline!) return false;
    if (typeof thrown === "object" && thrown !== null && this.#failedCleanups.has(thrown)) this.#failure ??= thrown;
    if (this.#isCompensating) return true;
    const last = [...this.#compensations].at(-1);
    if (!last || this.#failure !== null) return false;
    this.#isCompensating = true;
    const settle = (failure: unknown) => {
      this.#compensations.delete(last);
      this.#isCompensating = false;
      this.#failure = failure;
      this.#replay.wake();
    };
    last.run().then(
      () => settle(null),
      (error) => settle(new CompensationFailed(last.name, error)),
    );
    return true;
  }
}
