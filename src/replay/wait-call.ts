// A wait for a time or a signal. It holds no resources while it lasts; its deadline counts from when it was recorded.

import type { JournalEntry } from "../store/contract/journal/journal.js";
import { type CallOptions, RecordedCall } from "./recorded-call.js";

export interface WaitCallOptions extends CallOptions {
  readonly kind: "sleep" | "wait";
  readonly timeoutMs: number | null;
  /** `messageKey`: the key of the message that ended the wait; null for a timeout. */
  readonly resolve: (payload: unknown, messageKey: string | null) => void;
}

/** A shorter wait ends before a parked run would be woken, so it is recorded at once. */
const SHORTEST_PARK_MS = 10;

export class WaitCall extends RecordedCall<WaitCallOptions> {
  readonly isWait = true;
  owedMs: number | null = null;

  get isSleep(): boolean {
    return this.options.kind === "sleep";
  }

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
    const payload = codecs.encode({ ms: timeoutMs });
    if (replay.parksNext && timeoutMs >= SHORTEST_PARK_MS) {
      this.owedMs = timeoutMs;
      replay.session.owe(this.append(`${kind}.begun`, payload), () => {
        this.#begun(replay.session.databaseNow());
        replay.wake();
      });
    } else this.whileRunning(this.write(`${kind}.begun`, payload), ({ at }) => this.#begun(at));
  }

  #begun(at: number): void {
    this.owedMs = null;
    this.deadline = at + this.options.timeoutMs!;
  }

  /** A sleep has no other ending that could come first. */
  expire(): void {
    const { kind, replay, codecs } = this.options;
    const payload = codecs.encode(undefined);
    const writesLater = kind === "sleep" && replay.isAlone(this);
    this.running = true;
    if (writesLater) this.end(this.entry(replay.session.owe(this.append(kind, payload)), kind, payload));
    else
      this.write(kind === "sleep" ? kind : "wait.expired", payload).then(
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
