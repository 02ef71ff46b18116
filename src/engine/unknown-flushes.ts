// Flushes of one run whose answers were lost. Their callers ask again, each for itself, and other branches of the run may have something
// to write before or with them: then what is sent is not what was sent before, and the store finds only that the journal has moved.

import type { Effect } from "../kernel/run/effect.js";

type Sent = readonly { readonly effects: readonly Effect[] }[];

export class UnknownFlushes {
  /** All were sent at the same sequence: one of them was written, or none. */
  #unknown: Sent[] = [];
  /** How many entries each transaction of the run would have written at that sequence. */
  #transactions: number[] = [];
  /** What was written, with the sequence of its last entry, until its caller asks again. */
  readonly #found = new Map<readonly Effect[], number>();

  add(sent: Sent): void {
    if (!this.#unknown.some((other) => isSame(other, sent))) this.#unknown.push(sent);
  }

  /** A transaction cannot be found: it is carried out again, and must then be at the sequence at which it was written. */
  addTransaction(entries: number): void {
    this.#transactions.push(entries);
  }

  /** Something else was written at that sequence. */
  clear(): void {
    this.#unknown = [];
    this.#transactions = [];
  }

  get hasFound(): boolean {
    return this.#found.size > 0;
  }

  get isUnsettled(): boolean {
    return this.#unknown.length > 0 || this.hasFound;
  }

  /** The journal has moved under the same claim, for which only this process writes. Whether one of the flushes explains it. */
  find(from: number, to: number): boolean {
    const [flush, ...others] = this.#unknown.filter((sent) => from + lengthOf(sent) === to);
    if (!flush || others.length > 0 || this.#transactions.includes(to - from)) return false;
    let seq = from;
    for (const { effects } of flush) {
      seq += effects.length;
      this.#found.set(effects, seq);
    }
    this.clear();
    return true;
  }

  /** Asked once by each caller; null: it was not found. */
  foundAt(effects: readonly Effect[]): number | null {
    const seq = this.#found.get(effects) ?? null;
    if (seq !== null) this.#found.delete(effects);
    return seq;
  }
}

const lengthOf = (sent: Sent) => sent.reduce((sum, { effects }) => sum + effects.length, 0);

const isSame = (one: Sent, other: Sent) =>
  one.length === other.length && one.every(({ effects }, i) => effects === other[i]!.effects);
