// Emits when a circuit breaker opens and closes, and cancels what is under way where its program wants that.
//
// The breaker itself needs no watcher: its state is read from how runs have ended. A node that dies here only emits nothing.

import type { NodeParts } from "../node-parts.js";
import type { Program } from "../program.js";

const PAGE = 500;

export class BreakerWatch {
  readonly #node: Pick<NodeParts, "store" | "bus" | "env">;

  constructor(node: Pick<NodeParts, "store" | "bus" | "env">) {
    this.#node = node;
  }

  /** A run of this node has ended, whose program has a breaker. */
  async ended(program: Program, runId: string, as: string | null): Promise<void> {
    try {
      if (as === "completed") await this.#succeeded(program, runId);
      else if (as === "failed" || as === "dead") await this.#failed(program, runId);
    } catch (error) {
      this.#node.bus.emit("housekeeping.failed", { error });
    }
  }

  async #succeeded({ name: program }: Program, runId: string): Promise<void> {
    const { store, bus } = this.#node;
    if (await store.breakers.isProbe(runId)) bus.emit("breaker.closed", { program, runId });
  }

  async #failed({ name: program, breaker }: Program, runId: string): Promise<void> {
    const { store, bus, env } = this.#node;
    const { threshold, halfOpenMs, cancelRunning } = breaker!;
    const [found] = await store.breakers.read([{ env, program, threshold, halfOpenMs }]);
    if (!found?.opening?.startsWith(runId)) return;
    bus.emit("breaker.opened", { program, runId, failures: found.failures });
    if (cancelRunning) await this.#cancel(program);
  }

  /** Running runs, and runs that wait in between. */
  async #cancel(program: string): Promise<void> {
    const { store, env } = this.#node;
    const filter = { env, program, states: ["running", "parked"] as const };
    for (let before: string | null | undefined; before !== null; ) {
      const page = await store.runs.list(filter, { limit: PAGE, ...(before && { before }) });
      const reason = "the circuit breaker of its program has opened";
      for (const { id } of page.runs) await store.runs.cancel(id, { by: "circuit breaker", reason });
      before = page.next;
    }
  }
}
