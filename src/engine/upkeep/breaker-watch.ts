// Emits when a circuit breaker opens and closes, and cancels what is under way where its program wants that.
//
// The breaker itself needs no watcher: its state is read from how runs have ended. A node that dies here only emits nothing.

import type { Store } from "../../store/contract/store.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";
import type { Program } from "../program.js";

const PAGE = 500;

export class BreakerWatch {
  readonly #store: Store;
  readonly #bus: Telemetry<EngineEvents>;
  readonly #env: string;

  constructor(options: { readonly store: Store; readonly bus: Telemetry<EngineEvents>; readonly env: string }) {
    this.#store = options.store;
    this.#bus = options.bus;
    this.#env = options.env;
  }

  /** A run of this node has ended. */
  async ended(program: Program, runId: string, as: string | null): Promise<void> {
    if (!program.breaker) return;
    try {
      if (as === "completed") await this.#succeeded(program, runId);
      else if (as === "failed" || as === "dead") await this.#failed(program, runId);
    } catch (error) {
      this.#bus.emit("housekeeping.failed", { error });
    }
  }

  async #succeeded({ name }: Program, runId: string): Promise<void> {
    if (await this.#store.breakers.isProbe(runId)) this.#bus.emit("breaker.closed", { program: name, runId });
  }

  async #failed({ name, breaker }: Program, runId: string): Promise<void> {
    const { threshold, halfOpenMs, cancelRunning } = breaker!;
    const question = { env: this.#env, program: name, threshold, halfOpenMs };
    const [found] = await this.#store.breakers.read([question]);
    if (!found?.opening?.startsWith(runId)) return;
    this.#bus.emit("breaker.opened", { program: name, runId, failures: found.failures });
    if (cancelRunning) await this.#cancel(name);
  }

  /** Running runs, and runs that wait in between. */
  async #cancel(program: string): Promise<void> {
    const filter = { env: this.#env, program, states: ["running", "parked"] as const };
    for (let before: string | null | undefined; before !== null; ) {
      const page = await this.#store.runs.list(filter, { limit: PAGE, ...(before && { before }) });
      const reason = "the circuit breaker of its program has opened";
      for (const { id } of page.runs) await this.#store.runs.cancel(id, { by: "circuit breaker", reason });
      before = page.next;
    }
  }
}
