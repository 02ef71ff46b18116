// The committer gathers the effects of all runs that a node holds and writes them in one batch per flush.
//
// It alone knows each run's sequence and assigns the numbers when it sends a flush, so parallel branches of one run
// that commit at the same moment are sent as one fence row with all their entries.

import { buggify } from "../kernel/buggify.js";
import { fitting } from "../kernel/chunk.js";
import { gather } from "../kernel/lane.js";
import { type Claim, ClaimLost } from "../kernel/run/claim.js";
import { settles } from "../kernel/run/effect.js";
import type { World } from "../kernel/world.js";
import type { Commit, CommitAnswer, RunStore } from "../store/contract/run/runs.js";
import { type Part, RunWriter } from "./run-writer.js";

const MAX_ROWS = 1000;
const MAX_BYTES = 4 * 1024 * 1024;
const PART_LIMITS = {
  maxRows: MAX_ROWS,
  maxBytes: MAX_BYTES,
  sizeOf: ({ effects, bytes }: Part) => ({ rows: effects.length, bytes }),
};
/** A locked row is free again within the time of a commit; an immediate repeat would only burn CPU on both sides. */
const BUSY_DELAY_MS = 5;

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
    if (writer.parts.length > 0) this.#send(writer);
    else writer.rest();
  }

  #answered(writer: RunWriter, outcome: CommitAnswer["outcome"]): void {
    if (outcome === "busy") this.#world.after(BUSY_DELAY_MS, () => this.#sendRest(writer));
    else this.#sendRest(writer);
  }

  /** Whether it was written is unknown. The sequence stays: the same effects, sent again, are recognised. */
  #failed(writer: RunWriter, error: unknown): void {
    for (const part of writer.parts.splice(0)) part.reject(error);
    writer.rest();
  }

  async #flush(writers: readonly RunWriter[]): Promise<readonly CommitAnswer[]> {
    const taken = writers.map(({ parts }) => {
      return buggify(this.#world, "commit.one-part") ? parts.slice(0, 1) : takeParts(parts);
    });
    const commits = writers.map((writer, i): Commit => {
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
  const committed = writer.answered(answer);
  if (!committed) return;
  writer.parts.splice(0, taken.length);
  for (const part of taken) {
    seq += part.effects.length;
    part.resolve({ seq, inboxSeq: committed.inboxSeq });
  }
  if (taken.at(-1)?.effects.some(settles)) writer.close(() => new ClaimLost(writer.claim));
}
