// Answers that several pages poll for: a request that accepts an answer of a few seconds gets the one to another page, so that fifty
// open pages cost the statements of one.

import type { World } from "../../kernel/world.js";

interface Kept {
  readonly at: number;
  readonly answer: Promise<unknown>;
}

/** No request gets an older answer, whatever it accepts. */
const LONGEST_MS = 15_000;
const MOST_KEPT = 100;

export class SharedAnswers {
  readonly #world: World;
  readonly #kept = new Map<string, Kept>();

  constructor(world: World) {
    this.#world = world;
  }

  /** `maxAgeMs`: how old the answer may be; 0 reads it now. An answer that failed is not shared. */
  get<Answer>(key: string, maxAgeMs: number, read: () => Promise<Answer>): Promise<Answer> {
    const now = this.#world.monotonicNow();
    const kept = this.#kept.get(key);
    if (kept && now - kept.at < Math.min(maxAgeMs, LONGEST_MS)) return kept.answer as Promise<Answer>;
    const answer = read();
    // Asked for last, so that the first is the oldest.
    this.#kept.delete(key);
    this.#kept.set(key, { at: now, answer });
    answer.catch(() => this.#kept.delete(key));
    for (const [other, { at }] of this.#kept) {
      if (this.#kept.size <= MOST_KEPT && now - at < LONGEST_MS) break;
      this.#kept.delete(other);
    }
    return answer;
  }

  /** A change was made through this server: nothing from before it is shown. */
  forget(): void {
    this.#kept.clear();
  }
}

/** `Cache-Control: max-age=4` of a request, in milliseconds; 0 without it. */
export function acceptedAgeMs(request: Request): number {
  const [, seconds] = /(?:^|,)\s*max-age=(\d{1,5})\s*(?:,|$)/.exec(request.headers.get("cache-control") ?? "") ?? [];
  return Number(seconds ?? 0) * 1000;
}
