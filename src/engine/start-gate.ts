// Decides whether a node starts runs, and for which nodes: asked before every start that comes from outside a run.

import type { NewDeferral } from "../kernel/run/new-run.js";
import { NodeDisabled } from "./modes.js";
import type { NodeParts } from "./node-parts.js";

export interface StartGateOptions extends Pick<NodeParts, "modes" | "bus" | "identity" | "stack"> {
  /** How long a run that it defers to other nodes may wait; null: for ever. */
  readonly expiresInMs: number | null;
}

export class StartGate {
  readonly #options: StartGateOptions;

  constructor(options: StartGateOptions) {
    this.#options = options;
  }

  /** The node as a whole starts nothing. */
  get isClosed(): boolean {
    return this.#options.modes.state.mode === "disabled";
  }

  /** Some of its runs are deferred to other nodes, and carry a deferral. */
  get defers(): boolean {
    const { mode, overrides } = this.#options.modes.state;
    return mode === "trigger_only" || Object.values(overrides).includes("trigger_only");
  }

  isDisabled(program: string): boolean {
    return this.#options.modes.of(program) === "disabled";
  }

  /** The deferral that a new run of this program carries. Throws NodeDisabled when the node must not start it. */
  stamp(program: string): { readonly deferred?: NewDeferral } {
    const { modes, identity: by, expiresInMs } = this.#options;
    const mode = modes.of(program);
    if (mode === "disabled") throw new NodeDisabled(program);
    return mode === "trigger_only" ? { deferred: { by, expiresInMs } } : {};
  }

  /** The run was stored. */
  started(runId: string, program: string): void {
    const { modes, bus, stack } = this.#options;
    if (modes.of(program) === "trigger_only") bus.emit("run.deferred", { runId, program, stack });
  }

  /** Its key belonged to another run. */
  existed(runId: string, program: string, key: string): void {
    this.#options.bus.emit("run.deduplicated", { runId, program, key });
  }
}
