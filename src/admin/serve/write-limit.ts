// At most 60 writes a minute for each principal; and the answers to requests that are repeated with the same key.

import type { World } from "../../kernel/world.js";
import type { Principal } from "../permission.js";
import { ApiProblem } from "../problem.js";

const WINDOW_MS = 60_000;
const KEPT_MS = 600_000;
const MOST_KEPT = 1_000;

export class WriteLimit {
  readonly #world: World;
  readonly #most: number;
  readonly #writes = new Map<string, number[]>();

  constructor(world: World, most: number) {
    this.#world = world;
    this.#most = most;
  }

  count({ id }: Principal): void {
    const now = this.#world.monotonicNow();
    const recent = (this.#writes.get(id) ?? []).filter((at) => at > now - WINDOW_MS);
    if (recent.length >= this.#most) {
      throw new ApiProblem(
        429,
        "TOO_MANY_WRITES",
        `More than ${this.#most} changes in a minute. Wait, or use a bulk action.`,
      );
    }
    this.#writes.set(id, [...recent, now]);
  }
}

/** An unanswered request that is repeated with the same Idempotency-Key gets the answer of the first. */
export class Repetitions {
  readonly #world: World;
  readonly #answers = new Map<string, { readonly at: number; readonly answer: Promise<unknown> }>();

  constructor(world: World) {
    this.#world = world;
  }

  once<Answer>(key: string, work: () => Promise<Answer>): Promise<Answer> {
    const now = this.#world.monotonicNow();
    for (const [old, { at }] of this.#answers) {
      if (at > now - KEPT_MS && this.#answers.size < MOST_KEPT) break;
      this.#answers.delete(old);
    }
    const known = this.#answers.get(key);
    if (known) return known.answer as Promise<Answer>;
    const answer = work();
    this.#answers.set(key, { at: now, answer });
    // A failed request may be tried again.
    answer.catch(() => this.#answers.delete(key));
    return answer;
  }
}
