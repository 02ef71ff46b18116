// A child run: started in the parent's own commit; its result is read and recorded when its end is reported.

import type { Payload } from "../kernel/codec/payload.js";
import { decodeError, type StoredError } from "../kernel/codec/recorded-error.js";
import { readResult } from "../kernel/codec/result-reference.js";
import { encodeError } from "../kernel/codec/stored-error.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { type CallOptions, RecordedCall } from "./recorded-call.js";

export interface ChildCallOptions extends CallOptions {
  readonly newRun: () => Omit<NewRun, "key" | "parentId">;
  /** How many children of its group are still open, including this one. */
  readonly groupLeft: () => number;
  readonly resolve: (output: unknown) => void;
}

interface ChildEnd {
  readonly state: string;
  readonly value: unknown;
}

export class ChildCall extends RecordedCall<ChildCallOptions> {
  #childId: string | null = null;

  get title(): string {
    return `child ${JSON.stringify(this.options.name)}`;
  }

  start(): void {
    this.started = true;
    const { replay, id, name, newRun } = this.options;
    const begun = replay.recorded.begun.get(id);
    if (begun) {
      this.#childId = begun.key;
      const news = replay.messageOf(`child:${begun.key}`);
      if (news) this.onMessage(news);
      return;
    }
    const run = newRun();
    this.#childId = run.id;
    this.whileRunning(replay.session.commit([{ kind: "enqueue", name, run }]), () => {});
  }

  expire(): void {}

  wakeAfter(): number {
    return this.options.groupLeft();
  }

  /** The message says only that the child ended; the result is read from the child's own journal and recorded here. */
  onMessage({ key, name: state }: JournalEntry): void {
    if (this.running || key !== `child:${this.#childId}`) return;
    this.running = true;
    this.#record(state).catch((error) => this.options.replay.fail(error));
  }

  deliver({ payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve, reject } = this.options;
    const { state, value } = codecs.decode(payload!) as ChildEnd;
    if (state === "completed") resolve(value);
    else reject(decodeError(state === "failed" && value !== undefined ? value : endedAs(state, value)));
  }

  async #record(state: string): Promise<void> {
    const { replay, codecs } = this.options;
    const ending = await replay.session.endOf(this.#childId!, state);
    const ends = async (ids: readonly string[]) => {
      const peeked = await replay.session.peek(ids.map((runId) => ({ runId, what: "end" })));
      return peeked.map((one) => one?.entry?.payload ?? null);
    };
    const value = ending ? await readResult(ending, codecs, ends) : undefined;
    this.end(await this.write("child", this.#encode(state, value)));
  }

  /** The result of a DAG may be larger than an entry: its parent gets an error, and reads it from the child's run. */
  #encode(state: string, value: unknown): Payload {
    const { codecs } = this.options;
    try {
      return codecs.encode({ state, value }, `result of ${this.title}`);
    } catch (error) {
      return codecs.encode({ state: "failed", value: encodeError(error) });
    }
  }
}

/** Only a failed child leaves an error, until it is retried; a cancelled one leaves its cancellation. */
function endedAs(state: string, details: unknown): StoredError {
  return { name: "ChildEnded", code: "CHILD_ENDED", message: `The child run ended ${state}.`, details };
}
