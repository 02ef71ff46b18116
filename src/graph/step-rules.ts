// A node's options as the rules of its attempts.

import { toMs } from "../kernel/duration.js";
import type { NodeOptions } from "./plan.js";

export function stepRules({ timeout, retryIf }: NodeOptions, path: string) {
  return {
    timeoutMs: timeout === undefined ? null : toMs(timeout, `timeout of ${path}`),
    ...(retryIf && { retryIf }),
  };
}
