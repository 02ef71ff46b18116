// A wait for a time or a signal. It holds no resources while it lasts; its deadline counts from when it was recorded.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import type { Call } from "./call.js";
import type { CallId } from "./recorded.js";
import type { Replay } from "./replay.js";

export interface WaitCallOptions {
  readonly kind: "sleep" | "wait";
  readonly id: CallId;
  readonly name: string;
  readonly key: string;
  readonly timeoutMs: number | null;
  readonly replay: Replay;
  readonly codecs: Codecs;
  /** `messageKey`: the key of the message that ended the wait; null for a timeout. */
  readonly resolve: (payload: unknown, messageKey: string | null) => void;
  readonly reject: (error: unknown) => void;
}

export class WaitCall implements Call {
  readonly id: CallId;
  started = false;
  running = false;
  deadline: number | null = null;
  readonly #options: WaitCallOptions;

  constructor(options: WaitCallOptions) {
    this.id = options.id;
    this.#options = options;
  }

  get signalName(): string {
    return this.#options.kind === "wait" ? this.#options.name : "";
  }

  get title(): string {
    return `${this.#options.kind === "sleep" ? "sleep" : "waitFor"} ${JSON.stringify(this.#options.name)}`;
  }

  /** Only a wait with a deadline is recorded when it begins, because the deadline counts from that entry. */
  start(): void {
    this.started = true;
    const { replay, timeoutMs, codecs, id, kind } = this.#options;
    if (timeoutMs === null) return;
    const begun = replay.recorded.begun.get(id);
    if (begun) {
      this.deadline = begun.at + (codecs.decode(begun.payload!) as { ms: number }).ms;
      return;
    }
    this.running = true;
    this.#append(`${kind}.begun`, { ms: timeoutMs }).then(
      ({ at }) => {
        this.running = false;
        this.deadline = at + timeoutMs;
        replay.wake();
      },
      (error) => replay.fail(error),
    );
  }

  expire(): void {
    this.running = true;
    const { kind, replay } = this.#options;
    this.#append(kind === "sleep" ? "sleep" : "wait.expired", undefined).then(
      (entry) => replay.ended({ id: this.id, entry }),
      (error) => replay.fail(error),
    );
  }

  deliver({ kind, key, payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve } = this.#options;
    const isMessage = kind === "take";
    resolve(isMessage && payload ? codecs.decode(payload) : undefined, isMessage ? key : null);
  }

  async #append(kind: string, value: unknown): Promise<JournalEntry> {
    const { replay, name, key, codecs } = this.#options;
    const payload = codecs.encode(value);
    const { seq } = await replay.session.commit([{ kind: "append", entry: { kind, name, key, payload } }]);
    return { seq, epoch: replay.session.run.epoch, kind, name, key, payload, at: replay.session.databaseNow() };
  }
}
