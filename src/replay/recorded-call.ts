// The base of the calls that a context makes: what identifies one, and how it writes its entries.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import type { AppendEffect, Effect } from "../kernel/run/effect.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Call } from "./call.js";
import type { CallId } from "./recorded.js";
import type { Replay } from "./replay.js";

export interface CallOptions {
  readonly id: CallId;
  readonly name: string;
  readonly key: string;
  readonly replay: Replay;
  readonly codecs: Codecs;
  /** Made by clean-up. @default false */
  readonly isCleanup?: boolean | undefined;
  readonly reject: (error: unknown) => void;
}

/** What is written in the same commit as an entry. */
interface Together {
  readonly ahead?: readonly Effect[] | undefined;
  readonly along?: readonly Effect[] | undefined;
  readonly inTransaction?: ((tx: Transaction) => Promise<void>) | undefined;
}

const NONE: readonly Effect[] = [];

export abstract class RecordedCall<Options extends CallOptions> implements Call {
  readonly id: CallId;
  started = false;
  running = false;
  deadline: number | null = null;
  #isWithdrawn = false;
  /** Its ending is in the journal, or owed; the function has not received it. */
  #hasEnded = false;
  protected readonly options: Options;

  constructor(options: Options) {
    this.id = options.id;
    this.options = options;
  }

  get isCleanup(): boolean {
    return this.options.isCleanup === true;
  }

  abstract get title(): string;
  abstract start(): void;
  abstract expire(): void;
  abstract deliver(entry: JournalEntry): void;

  withdraw(error: Error): Promise<void> | null {
    this.#isWithdrawn = true;
    // Its ending is dropped, and nothing else of it is at work: otherwise the run would never be released.
    if (this.#hasEnded) this.running = false;
    this.deadline = null;
    this.options.reject(error);
    return this.stopOutside(error);
  }

  /** Stops what the call has begun outside of this process. */
  protected stopOutside(_error: Error): Promise<void> | null {
    return null;
  }

  /** The call is at work until `writing` has ended; a failure ends the session. */
  protected whileRunning<T>(writing: Promise<T>, onWritten: (written: T) => void): void {
    const { replay } = this.options;
    this.running = true;
    writing.then(
      (written) => {
        this.running = false;
        onWritten(written);
        replay.wake();
      },
      (error) => replay.fail(error),
    );
  }

  /** Writes an entry of this call, together with other effects before and after it. */
  protected async write(
    kind: string,
    payload: Payload,
    { ahead = NONE, along = NONE, inTransaction }: Together = {},
  ): Promise<JournalEntry> {
    const { session } = this.options.replay;
    const entry = this.append(kind, payload);
    const isAlone = ahead.length + along.length === 0;
    const effects = isAlone ? [entry] : [...ahead, entry, ...along];
    const both = async (tx: Transaction) => {
      await inTransaction!(tx);
      return effects;
    };
    const { seq } = await (inTransaction ? session.transaction(both) : session.commit(effects));
    return this.entry(seq - along.length, kind, payload);
  }

  protected append(kind: string, payload: Payload): AppendEffect {
    const { name, key } = this.options;
    return { kind: "append", entry: { kind, name, key, payload } };
  }

  /** As the journal has it. */
  protected entry(seq: number, kind: string, payload: Payload): JournalEntry {
    const { replay, name, key } = this.options;
    return { seq, epoch: replay.session.run.epoch, kind, name, key, payload, at: replay.session.databaseNow() };
  }

  /** An entry that was on its way when the call was withdrawn is dropped: in a replay, too. */
  protected end(entry: JournalEntry): void {
    this.#hasEnded = true;
    if (this.#isWithdrawn) this.running = false;
    this.options.replay.ended({ id: this.id, entry });
  }
}
