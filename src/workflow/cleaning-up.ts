// Which calls a function makes inside `ctx.cleanup`: they are known by their asynchronous context.
//
// Node 20 and 22 pay for such a context with every promise of the process, from its first use on: an await takes four to six times as
// long. So it is switched off while no run cleans up.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Replay } from "../replay/replay.js";

interface Cleanup {
  readonly replay: Replay;
}

const context = new AsyncLocalStorage<Cleanup>();
const open = new Set<Cleanup>();

/** Whether the caller is inside a clean-up of this session that has not ended: its calls are made even if the run is cancelled. */
export function isCleaningUp(replay: Replay): boolean {
  if (open.size === 0) return false;
  const cleanup = context.getStore();
  return cleanup?.replay === replay && open.has(cleanup);
}

/** A function that is released in the middle of it, such as in a sleep, never ends: then its session ends the clean-up. */
export function cleanUp<T>(replay: Replay, work: () => T | Promise<T>): Promise<T> {
  const cleanup = { replay };
  const close = () => {
    open.delete(cleanup);
    if (open.size === 0) context.disable();
  };
  open.add(cleanup);
  replay.onOver(close);
  const done = context.run(cleanup, async () => work());
  done.then(close, close);
  return done;
}
