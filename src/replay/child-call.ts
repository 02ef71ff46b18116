// A child run: started in the parent's own commit; its result is read and recorded when its end is reported.

import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type StoredError } from "../kernel/codec/recorded-error.js";
import { readResult } from "../kernel/codec/result-reference.js";
import { encodeError } from "../kernel/codec/stored-error.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { childOf } from "./children.js";
import { type CallOptions, RecordedCall } from "./recorded-call.js";

export interface ChildCallOptions extends CallOptions {
  readonly newRun: () => Omit<NewRun, "key" | "parentId">;
  /** How many children of its group are still open, including this one. */
  readonly groupLeft: () => number;
  /** It continues when its parent is cancelled or ends without it. */
  readonly isAbandoned: boolean;
  readonly resolve: (output: unknown) => void;
}

interface ChildEnd {
  readonly state: string;
  readonly value: unknown;
}

export class ChildCall extends RecordedCall<ChildCallOptions> {
  readonly isChild = true;
  #childId: string | null = null;
  #starting: Promise<unknown> | null = null;

  get title(): string {
    return `child ${JSON.stringify(this.options.name)}`;
  }

  start(): void {
    this.started = true;
    const { replay, id, name, key, newRun } = this.options;
    const begun = replay.recorded.begun.get(id);
    if (begun) {
      this.#childId = begun.key;
      // An ended parent gets no message: after its own retry it has to look.
      if (replay.children.endOf(begun.key!) || replay.recorded.since > begun.at) this.#look();
      return;
    }
    const run = newRun();
    this.#childId = run.id;
    // A call of this program that was withdrawn before it began has used a number.
    const isShifted = String(replay.children.next(name)) !== key;
    this.#starting = replay.session.commit([{ kind: "enqueue", name, run, ...(isShifted && { call: key }) }]);
    this.whileRunning(this.#starting, () => {});
  }

  expire(): void {}

  wakeAfter(): number {
    return this.options.groupLeft();
  }

  /** The message says only that the child ended; the result is read from the child's own journal and recorded here. */
  onMessage({ key }: JournalEntry): void {
    if (!this.running && this.#childId !== null && childOf(key) === this.#childId) this.#look();
  }

  #look(): void {
    this.running = true;
    this.#record().catch((error) => this.options.replay.fail(error));
  }

  deliver({ payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve, reject } = this.options;
    const { state, value } = codecs.decode(payload!) as ChildEnd;
    if (state === "completed") resolve(value);
    else reject(decodeError(state === "failed" && value !== undefined ? value : endedAs(state, value)));
  }

  /** The child's end as it is now: it may have been retried since the message was sent, and then it is waited for again. */
  async #record(): Promise<void> {
    const { replay, codecs } = this.options;
    const news = replay.children.endOf(this.#childId!);
    const end = await replay.session.endOf(this.#childId!, news?.name);
    if (!end && replay.children.endOf(this.#childId!) !== news) return this.#record();
    if (!end) {
      this.running = false;
      return replay.wake();
    }
    const ends = async (ids: readonly string[]) => {
      const peeked = await replay.session.peek(ids.map((runId) => ({ runId, what: "end" })));
      return peeked.map((one) => one?.entry?.payload ?? null);
    };
    const value = end.payload ? await readResult(end.payload, codecs, ends) : undefined;
    const { kind, payload } = this.#encode(end.state, value);
    this.end(await this.write(kind, payload));
  }

  /** The result of a DAG may be larger than an entry: its parent gets an error, and reads it from the child's run. */
  #encode(state: string, value: unknown): { readonly kind: string; readonly payload: Payload } {
    const { codecs } = this.options;
    const kind = state === "completed" ? "child" : "child.failed";
    try {
      return { kind, payload: codecs.encode({ state, value }, `result of ${this.title}`) };
    } catch (error) {
      return { kind: "child.failed", payload: codecs.encode({ state: "failed", value: encodeError(error) }) };
    }
  }

  /** A child that is no longer wanted is cancelled. Repeated by every holder until its end is known. */
  protected override stopOutside(error: Error): Promise<void> | null {
    const { replay, id, isAbandoned } = this.options;
    const childId = this.#childId ?? replay.recorded.begun.get(id)?.key ?? null;
    if (childId === null || isAbandoned || replay.children.endOf(childId)) return null;
    const cancelling = Promise.resolve(this.#starting).then(() => replay.session.cancelChild(childId, error.message));
    this.whileRunning(cancelling, () => {});
    return cancelling;
  }
}

/** Only a failed child leaves an error, until it is retried; a cancelled one leaves its cancellation. */
function endedAs(state: string, details: unknown): StoredError {
  return { name: "ChildEnded", code: "CHILD_ENDED", message: `The child run ended ${state}.`, details };
}
