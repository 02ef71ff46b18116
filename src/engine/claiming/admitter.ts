// The admitter admits held runs in the background when other runs have given up their places under a limit.
//
// No caller waits for it, and a lost call costs time only: housekeeping finds every run that is due.

import { settles } from "../../kernel/run/effect.js";
import type { Commit, RunStore } from "../../store/contract/run/runs.js";

export class Admitter {
  readonly #store: RunStore;
  readonly #onAdmitted: () => void;
  #asked = new Set<string>();
  #running: Promise<void> | null = null;

  constructor(store: RunStore, onAdmitted: () => void) {
    this.#store = store;
    this.#onAdmitted = onAdmitted;
  }

  /** Requests made while a call is under way are sent together in the next. */
  soon(runIds: readonly string[]): void {
    for (const id of runIds) this.#asked.add(id);
    if (this.#asked.size > 0) this.#running ??= this.#run();
  }

  /** Resolves when all requests are done. */
  async stop(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#asked.size > 0) {
      const runIds = [...this.#asked];
      this.#asked = new Set();
      const admitted = await this.#store.admit({ runIds }).catch(() => 0);
      if (admitted > 0) this.#onAdmitted();
    }
    this.#running = null;
  }
}

/** The runs whose keys are to be examined after this commit: limited children, and a limited run that released its claim. */
export function movedInLine({ claim, effects }: Commit): string[] {
  const children = effects.flatMap((effect) =>
    effect.kind === "enqueue" && (effect.run.limits?.length ?? 0) > 0 ? effect.run.id : [],
  );
  return claim.limited && settles(effects.at(-1)!) ? [...children, claim.runId] : children;
}
