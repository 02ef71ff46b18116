// The outside world of a simulation: records what programs do there, and refuses nothing.

import { canonicalText } from "../../kernel/codec/canonical.js";

/** What a program does outside: the effects of its steps. */
export interface Effects {
  /**
   * Does something outside, once for each call; with a `key`, once for each key. The process can be interrupted before and
   * after it. Resolves with `result`.
   */
  call<T = void>(name: string, detail?: unknown, options?: { readonly key?: string; readonly result?: T }): Promise<T>;
}

/** One effect that happened. */
export interface RecordedEffect {
  /** The name that the program gave it. */
  readonly name: string;
  /** What the program recorded with it. */
  readonly detail: unknown;
  /** Null: done again with every call. */
  readonly key: string | null;
  /** The process that asked for it. */
  readonly by: string;
  /** The step that made the call; null: code outside of steps. */
  readonly step: string | null;
}

export interface KeyConflict {
  readonly name: string;
  readonly key: string;
}

export class Ledger {
  readonly effects: RecordedEffect[] = [];
  /** Keys that were used for different requests. */
  readonly conflicts: KeyConflict[] = [];
  readonly #byKey = new Map<string, RecordedEffect>();

  perform(effect: RecordedEffect): void {
    const { name, key } = effect;
    if (key !== null) {
      const id = JSON.stringify([name, key]);
      const first = this.#byKey.get(id);
      if (first && sameRequest(first) !== sameRequest(effect)) this.conflicts.push({ name, key });
      if (first) return;
      this.#byKey.set(id, effect);
    }
    this.effects.push(effect);
  }

  /** How often each request was carried out. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const effect of this.effects) counts.set(sameRequest(effect), (counts.get(sameRequest(effect)) ?? 0) + 1);
    return counts;
  }
}

/** The same for the same name and detail. */
function sameRequest({ name, detail }: RecordedEffect): string {
  return detail === undefined ? name : `${name} ${canonicalText(detail, "detail")}`;
}
