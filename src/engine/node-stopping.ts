// The abort reason of steps that outlast the grace period of a stopping node.

import { HoldfastError } from "../kernel/error.js";

/** The node stops, and with it what was waiting in it. The run continues on another node. */
export class NodeStopping extends HoldfastError {
  readonly code = "NODE_STOPPING";

  constructor(message?: string, options?: { readonly cause?: unknown }) {
    super(
      message ??
        "The node stops and its grace period has ended. End this step: its run is handed back and continues elsewhere.",
      options,
    );
  }
}
