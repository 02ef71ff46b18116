// Writes the effects of one run under one claim, in the order of the calls: what waits to be sent, and where its journal is.

import { HoldfastError } from "../kernel/error.js";
import { type Claim, ClaimLost } from "../kernel/run/claim.js";
import { bytesOf, type Effect } from "../kernel/run/effect.js";
import type { CommitAnswer } from "../store/contract/run/runs.js";

/** The claim is held, but the journal is at another sequence than the holder expects: after a failover that lost its last commits. */
export class JournalMoved extends HoldfastError {
  readonly code = "JOURNAL_MOVED";
  readonly seq: number;

  constructor(claim: Claim, expected: number, seq: number) {
    super(
      `The journal of run ${claim.runId} is at ${seq}, not at ${expected}. The work ends here; the run continues when its lease has expired.`,
    );
    this.seq = seq;
  }
}

export interface Committed {
  /** The sequence of the last entry this commit wrote. */
  readonly seq: number;
  /** Grows when something arrives in the run's inbox; unknown when the reply had been lost. */
  readonly inboxSeq: number | null;
}

/** One call of `commit`. */
export interface Part {
  readonly effects: readonly Effect[];
  readonly bytes: number;
  /** Was refused together with others: is sent alone next time. */
  alone: boolean;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (error: unknown) => void;
}

/** One run under one claim. Commits are written in the order of the calls. */
export class RunWriter {
  readonly claim: Claim;
  seq: number;
  /** Why nothing more can be written; null while the claim is held. */
  closed: (() => HoldfastError) | null = null;
  readonly parts: Part[] = [];
  sending = false;
  readonly #turns: (() => void)[] = [];
  readonly #wake: (writer: RunWriter) => void;

  constructor(claim: Claim, seq: number, wake: (writer: RunWriter) => void) {
    this.claim = claim;
    this.seq = seq;
    this.#wake = wake;
  }

  commit(effects: readonly Effect[]): Promise<Committed> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(this.closed());
      this.parts.push({ effects, bytes: bytesOf(effects), alone: false, resolve, reject });
      if (!this.sending) this.#wake(this);
    });
  }

  /** Nothing else of this run is sent until the returned function is called: for a transaction that writes on its own. */
  async hold(): Promise<() => void> {
    while (this.sending) await new Promise<void>((resolve) => this.#turns.push(resolve));
    if (this.closed) {
      this.rest(); // the next one in line is refused, too
      throw this.closed();
    }
    this.sending = true;
    return () => this.rest();
  }

  /** All waiting parts are sent: a transaction that waits for the turn gets it, before parts that arrived meanwhile. */
  rest(): void {
    this.sending = false;
    const next = this.#turns.shift();
    if (next) next();
    else if (this.parts.length > 0) this.#wake(this);
  }

  /** Records what a transaction of this run wrote on its own, while it held the turn. */
  wrote(answer: CommitAnswer): Committed {
    if (answer.outcome === "refused") throw answer.error;
    const committed = this.answered(answer);
    if (!committed) throw this.closed!();
    return committed;
  }

  /** Follows the journal to where the answer says it is. Null: nothing more can be written. */
  answered(answer: CommitAnswer): Committed | null {
    if (answer.outcome === "accepted" || answer.outcome === "recorded") {
      this.seq = answer.seq;
      return { seq: answer.seq, inboxSeq: answer.outcome === "accepted" ? answer.inboxSeq : null };
    }
    if (answer.outcome === "moved") this.close(() => new JournalMoved(this.claim, this.seq, answer.seq));
    else this.close(() => new ClaimLost(this.claim));
    return null;
  }

  /** The error is created only when a caller needs it: every run that is released in order closes its writer, too. */
  close(reason: () => HoldfastError): void {
    this.closed = reason;
    for (const part of this.parts.splice(0)) part.reject(reason());
  }
}
