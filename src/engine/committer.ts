// The committer gathers the effects of all runs that a node holds and writes them in one batch per flush.
//
// It alone knows each run's sequence and assigns the numbers when it sends a flush, so parallel branches of one run
// that commit at the same moment are sent as one fence row with all their entries.

import { buggify } from "../kernel/buggify.js";
import { fitting } from "../kernel/chunk.js";
import { HoldfastError } from "../kernel/error.js";
import { gather } from "../kernel/lane.js";
import { type Claim, ClaimLost } from "../kernel/run/claim.js";
import { bytesOf, type Effect, settles } from "../kernel/run/effect.js";
import type { World } from "../kernel/world.js";
import type { Commit, CommitAnswer, RunStore } from "../store/contract/run/runs.js";
import { UnknownFlushes } from "./unknown-flushes.js";

const MAX_ROWS = 1000;
const MAX_BYTES = 4 * 1024 * 1024;
const PART_LIMITS = {
  maxRows: MAX_ROWS,
  maxBytes: MAX_BYTES,
  sizeOf: ({ effects, bytes }: Part) => ({ rows: effects.length, bytes }),
};
/** A locked row is free again within the time of a commit; an immediate repeat would only burn CPU on both sides. */
const BUSY_DELAY_MS = 5;

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

interface Part {
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
  /** What is on its way, or was sent last. */
  sent: readonly Part[] = [];
  /** Null: no answer was lost. */
  #unknown: UnknownFlushes | null = null;
  readonly #turns: (() => void)[] = [];
  readonly #wake: (writer: RunWriter) => void;

  constructor(claim: Claim, seq: number, wake: (writer: RunWriter) => void) {
    this.claim = claim;
    this.seq = seq;
    this.#wake = wake;
  }

  commit(effects: readonly Effect[]): Promise<Committed> {
    return new Promise((resolve, reject) => {
      const written = this.#unknown?.foundAt(effects) ?? null;
      if (written !== null) {
        resolve({ seq: written, inboxSeq: null });
        if (!this.sending) this.rest();
        return;
      }
      if (this.closed) return reject(this.closed());
      this.parts.push({ effects, bytes: bytesOf(effects), alone: false, resolve, reject });
      if (!this.sending && this.maySend) this.#wake(this);
    });
  }

  /** Endings are delivered in the order of the journal: callers of what was found in it ask again first. */
  get maySend(): boolean {
    return this.parts.length > 0 && this.#unknown?.hasFound !== true;
  }

  /** Whether it must be known first what was written. */
  get #isUnsettled(): boolean {
    return this.#unknown !== null && this.#unknown.isUnsettled && !this.closed;
  }

  /** Nothing else of this run is sent until the returned function is called: for a transaction that writes on its own. */
  async hold(): Promise<() => void> {
    while (this.sending || this.#isUnsettled) await new Promise<void>((resolve) => this.#turns.push(resolve));
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
    const next = this.#isUnsettled ? undefined : this.#turns.shift();
    if (next) next();
    else if (this.maySend) this.#wake(this);
  }

  /** Records what a transaction of this run wrote on its own, while it held the turn. */
  wrote(answer: CommitAnswer): Committed {
    if (answer.outcome === "refused") throw answer.error;
    const committed = this.answered(answer);
    if (!committed) throw this.closed!();
    return committed;
  }

  /** There was no answer to what was sent. */
  lostAnswer(): void {
    this.#unknown ??= new UnknownFlushes();
    this.#unknown.add(this.sent);
  }

  /** There was no answer to a transaction that wrote on its own. */
  lostTransaction({ effects }: Commit): void {
    this.#unknown ??= new UnknownFlushes();
    this.#unknown.addTransaction(effects.length);
  }

  /** The journal has moved to `seq`: whether by a flush whose answer was lost. Answers the callers that have asked again. */
  foundFlush(seq: number): boolean {
    if (!this.#unknown?.find(this.seq, seq)) return false;
    this.seq = seq;
    for (const part of [...this.parts]) {
      const written = this.#unknown.foundAt(part.effects);
      if (written === null) continue;
      this.parts.splice(this.parts.indexOf(part), 1);
      part.resolve({ seq: written, inboxSeq: null });
    }
    return true;
  }

  /** Follows the journal to where the answer says it is. Null: nothing more can be written. */
  answered(answer: CommitAnswer): Committed | null {
    if (answer.outcome === "accepted" || answer.outcome === "recorded") {
      this.#unknown?.clear();
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

export class Committer {
  readonly #store: RunStore;
  readonly #world: World;
  readonly #onWritten: (written: readonly Commit[]) => void;
  readonly #send: (writer: RunWriter) => void;

  /** `onWritten` gets every batch that was written. */
  constructor(store: RunStore, world: World, onWritten: (written: readonly Commit[]) => void = () => {}) {
    this.#store = store;
    this.#world = world;
    this.#onWritten = onWritten;
    this.#send = gather<RunWriter, CommitAnswer>((writers) => this.#flush(writers), {
      world,
      maxRows: MAX_ROWS,
      maxBytes: MAX_BYTES,
      sizeOf: ({ parts }) => ({
        rows: parts.reduce((sum, part) => sum + part.effects.length, 0),
        bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
      }),
      onAnswer: (writer, { outcome }) => this.#answered(writer, outcome),
      onError: (writer, error) => this.#failed(writer, error),
    });
  }

  /** The writer for a run that was just claimed at `seq`. */
  open(claim: Claim, seq: number): RunWriter {
    return new RunWriter(claim, seq, this.#begin);
  }

  readonly #begin = (writer: RunWriter): void => {
    writer.sending = true;
    this.#sendRest(writer);
  };

  /** Sends until nothing is left: a flush may be answered "busy", and more may have arrived meanwhile. */
  #sendRest(writer: RunWriter): void {
    if (writer.maySend) this.#send(writer);
    else writer.rest();
  }

  #answered(writer: RunWriter, outcome: CommitAnswer["outcome"]): void {
    if (outcome === "busy") this.#world.after(BUSY_DELAY_MS, () => this.#sendRest(writer));
    else this.#sendRest(writer);
  }

  /** Whether it was written is unknown. The sequence stays: the same effects, sent again, are recognised. */
  #failed(writer: RunWriter, error: unknown): void {
    writer.lostAnswer();
    for (const part of writer.parts.splice(0)) part.reject(error);
    writer.rest();
  }

  async #flush(writers: readonly RunWriter[]): Promise<readonly CommitAnswer[]> {
    const taken = writers.map(({ parts }) => {
      return buggify(this.#world, "commit.one-part") ? parts.slice(0, 1) : takeParts(parts);
    });
    const commits = writers.map((writer, i): Commit => {
      writer.sent = taken[i]!;
      const effects = taken[i]!.flatMap((part) => part.effects);
      return { claim: writer.claim, expectedSeq: writer.seq, effects };
    });
    const answers = await this.#store.commit(commits);
    writers.forEach((writer, i) => {
      settle(writer, taken[i]!, answers[i]!);
    });
    this.#onWritten(commits.filter((_, i) => isWritten(answers[i]!)));
    return answers;
  }
}

/**
 * The waiting parts that fit one statement, up to and including the first that releases the claim; a part that was refused
 * together with others is sent alone.
 */
function takeParts(parts: readonly Part[]): readonly Part[] {
  if (parts[0]?.alone) return parts.slice(0, 1);
  const last = parts.findIndex((part) => part.effects.some(settles));
  const open = last === -1 ? parts : parts.slice(0, last + 1);
  return open.slice(0, fitting(open, PART_LIMITS));
}

function isWritten({ outcome }: CommitAnswer): boolean {
  return outcome === "accepted" || outcome === "recorded";
}

function settle(writer: RunWriter, taken: readonly Part[], answer: CommitAnswer): void {
  if (answer.outcome === "busy") return;
  if (answer.outcome === "refused") {
    if (taken.length === 1) writer.parts.shift()!.reject(answer.error);
    // Which effects were bad is unknown: each is sent alone, so that the bad ones do not delay the good ones.
    else for (const part of taken) part.alone = true;
    return;
  }
  let { seq } = writer;
  if (answer.outcome === "moved" && writer.foundFlush(answer.seq)) return;
  const committed = writer.answered(answer);
  if (!committed) return;
  writer.parts.splice(0, taken.length);
  for (const part of taken) {
    seq += part.effects.length;
    part.resolve({ seq, inboxSeq: committed.inboxSeq });
  }
  if (taken.at(-1)?.effects.some(settles)) writer.close(() => new ClaimLost(writer.claim));
}
