// What nodes of a run write for those who watch it now: tokens and values of their own. It is not in the journal: a few rows that expire,
// written several times a second under the claim.

import type { Session } from "../../engine/session.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import type { Payload } from "../../kernel/codec/payload.js";
import { LimitExceeded } from "../../kernel/error.js";
import type { Keep } from "./long-term-store.js";
import { streamSpace } from "./spaces.js";

/** A part of a stream. Tokens that follow each other are one part. */
export interface Chunk {
  readonly node: string;
  readonly visit: string;
  readonly attempt: number;
  readonly value: unknown;
}

const FLUSH_MS = 50;
/** Rows that a run keeps under one claim; older ones are removed. */
const MOST_ROWS = 256;
/** Characters of text in one part, and of what waits to be written. */
const MOST_TEXT = 64 * 1024;
const MOST_WAITING = 1024 * 1024;
export const STREAM_TTL_MS = 600_000;

export class RunStream {
  readonly #session: Session;
  readonly #codecs: Codecs;
  #waiting: Chunk[] = [];
  #size = 0;
  #rows = 0;
  #cancel: (() => void) | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(session: Session, codecs: Codecs) {
    this.#session = session;
    this.#codecs = codecs;
  }

  /** Never waits: what the store cannot take in time is dropped. A value that cannot be stored throws here, in the node that wrote it. */
  write(given: Chunk): void {
    const kept = this.#keptOf(given.value);
    if (kept === null || this.#size + kept.size > MOST_WAITING) return;
    this.#size += kept.size;
    const chunk = { ...given, value: kept.value };
    const last = this.#waiting.at(-1);
    if (last && isMore(last, chunk)) this.#waiting.splice(-1, 1, { ...last, value: `${last.value}${chunk.value}` });
    else this.#waiting.push(chunk);
    this.#cancel ??= this.#session.world.after(FLUSH_MS, () => void this.flush());
  }

  /** The value as it is now: the node may change it before it is sent. Null: it is too large, and is dropped alone. */
  #keptOf(value: unknown): { readonly value: unknown; readonly size: number } | null {
    if (typeof value === "string") return { value, size: value.length };
    try {
      const payload = this.#codecs.encode(value, "ctx.write");
      return { value: this.#codecs.decode(payload), size: payload.data.length };
    } catch (error) {
      if (error instanceof LimitExceeded) return null;
      throw error;
    }
  }

  /** Before a node's result is recorded: watchers see what it wrote before they see its end. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    // Not repeated: a stream is not worth waiting for. A claim that is lost is noticed by the next commit.
    if (this.#waiting.length > 0) this.#flushing = this.#flushing.then(() => this.#write()).catch(() => {});
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const chunks = this.#waiting;
    this.#waiting = [];
    this.#size = 0;
    if (chunks.length === 0) return;
    const space = streamSpace(this.#session.run.runId);
    for (const value of this.#rowsOf(chunks)) {
      const old = this.#rows - MOST_ROWS;
      const keeps: Keep[] = [{ space, key: this.#key(this.#rows++), value, ttlMs: STREAM_TTL_MS }];
      if (old >= 0) keeps.push({ space, key: this.#key(old), value: null, ttlMs: null });
      await this.#session.keepUnderClaim(keeps);
    }
  }

  /** As few as possible: what is too large for one row is halved. Only a value that is too large by itself is dropped. */
  #rowsOf(chunks: readonly Chunk[]): readonly Payload[] {
    try {
      return [this.#codecs.encode(chunks)];
    } catch (error) {
      if (!(error instanceof LimitExceeded)) throw error;
      const [first, second] = halves(chunks);
      return second.length === 0 ? [] : [...this.#rowsOf(first), ...this.#rowsOf(second)];
    }
  }

  /** Sorts by claim, then by row: the next holder's rows come after this one's. */
  #key(row: number): string {
    return `${String(this.#session.run.epoch).padStart(16, "0")}.${String(row).padStart(9, "0")}`;
  }
}

function isMore(last: Chunk, { node, visit, attempt, value }: Chunk): boolean {
  const isSame = last.node === node && last.visit === visit && last.attempt === attempt;
  return isSame && typeof last.value === "string" && typeof value === "string" && last.value.length < MOST_TEXT;
}

/** A text is divided between two characters. The second half is empty when nothing can be divided. */
function halves(chunks: readonly Chunk[]): readonly [readonly Chunk[], readonly Chunk[]] {
  const [first, ...others] = chunks as readonly [Chunk, ...Chunk[]];
  if (others.length > 0) {
    const half = Math.ceil(chunks.length / 2);
    return [chunks.slice(0, half), chunks.slice(half)];
  }
  const { value } = first;
  if (typeof value !== "string" || value.length < 4) return [chunks, []];
  const middle = Math.ceil(value.length / 2);
  const cut = value.codePointAt(middle - 1)! > 0xffff ? middle + 1 : middle;
  return [[{ ...first, value: value.slice(0, cut) }], [{ ...first, value: value.slice(cut) }]];
}
