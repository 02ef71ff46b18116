// Finds out, soon after a start, whether any live node takes runs of its program.

import type { NewRun, RunGroup } from "../kernel/run/new-run.js";
import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import { claimsFrom } from "./capable-node.js";

/** A group is looked up again after this time. */
const AGAIN_MS = 30_000;
/** Groups that are remembered; with more, each is looked up more often. */
const MOST_GROUPS = 1_000;

export interface ServedCheckOptions {
  readonly store: Pick<Store, "nodes">;
  readonly world: World;
  /** False: there is no listener, so nothing is looked up. */
  readonly isWanted: () => boolean;
  readonly onUnserved: (run: Pick<NewRun, "id" | "group">) => void;
}

export class ServedCheck {
  readonly #options: ServedCheckOptions;
  /** By group, as text: when it was looked up. */
  readonly #lookedAt = new Map<string, number>();
  /** The group of the last start, and until when it needs no look. */
  #last: { readonly group: RunGroup; readonly until: number } | null = null;

  constructor(options: ServedCheckOptions) {
    this.#options = options;
  }

  /** The start does not wait for it, and a failure is ignored: the run was started. */
  started(run: Pick<NewRun, "id" | "group">): void {
    const { world, isWanted } = this.#options;
    if (!isWanted()) return;
    const now = world.monotonicNow();
    if (run.group === this.#last?.group && now < this.#last.until) return;
    const { env, stack, queue, program, version } = run.group;
    const key = JSON.stringify([env, stack, queue, program, version]);
    const until = (this.#lookedAt.get(key) ?? Number.NEGATIVE_INFINITY) + AGAIN_MS;
    this.#last = now < until ? { group: run.group, until } : null;
    if (now < until) return;
    if (this.#lookedAt.size >= MOST_GROUPS) this.#lookedAt.clear();
    this.#lookedAt.set(key, now);
    this.#look(run).catch(() => {
      this.#lookedAt.delete(key);
      this.#last = null;
    });
  }

  async #look(run: Pick<NewRun, "id" | "group">): Promise<void> {
    const { store, onUnserved } = this.#options;
    const nodes = await store.nodes.list({ env: run.group.env });
    if (!nodes.some((node) => claimsFrom(node, run.group))) onUnserved(run);
  }
}
