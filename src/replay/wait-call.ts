// A wait for a time or a signal. It holds no resources while it lasts; its deadline counts from when it was recorded.

import type { JournalEntry } from "../store/contract/journal/journal.js";
import { type CallOptions, RecordedCall } from "./recorded-call.js";

export interface WaitCallOptions extends CallOptions {
  readonly kind: "sleep" | "wait";
  readonly timeoutMs: number | null;
  /** `messageKey`: the key of the message that ended the wait; null for a timeout. */
  readonly resolve: (payload: unknown, messageKey: string | null) => void;
}

export class WaitCall extends RecordedCall<WaitCallOptions> {
  get signalName(): string {
    return this.options.kind === "wait" ? this.options.name : "";
  }

  get title(): string {
    return `${this.options.kind === "sleep" ? "sleep" : "waitFor"} ${JSON.stringify(this.options.name)}`;
  }

  /** Only a wait with a deadline is recorded when it begins, because the deadline counts from that entry. */
  start(): void {
    this.started = true;
    const { replay, timeoutMs, codecs, id, kind } = this.options;
    if (timeoutMs === null) return;
    const begun = replay.recorded.begun.get(id);
    if (begun) {
      this.deadline = begun.at + (codecs.decode(begun.payload!) as { ms: number }).ms;
      return;
    }
    this.whileRunning(this.write(`${kind}.begun`, codecs.encode({ ms: timeoutMs })), ({ at }) => {
      this.deadline = at + timeoutMs;
    });
  }

  expire(): void {
    this.running = true;
    const { kind, replay, codecs } = this.options;
    this.write(kind === "sleep" ? "sleep" : "wait.expired", codecs.encode(undefined)).then(
      (entry) => this.end(entry),
      (error) => replay.fail(error),
    );
  }

  deliver({ kind, key, payload }: JournalEntry): void {
    this.running = false;
    const { codecs, resolve } = this.options;
    const isMessage = kind === "take";
    resolve(isMessage && payload ? codecs.decode(payload) : undefined, isMessage ? key : null);
  }
}
