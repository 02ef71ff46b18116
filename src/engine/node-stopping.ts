// The reason with which steps are aborted that outlast the grace of a node that stops.

import { HoldfastError } from "../kernel/error.js";

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
