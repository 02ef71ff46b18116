// Waits for the states of an instance: all callers of a process share one poll per store, and what this process writes wakes it.

import type { LoadedInstance } from "../store/contract/machine/machines.js";
import type { AnyMachine } from "./definition.js";
import { InstanceUnknown, WaitTimeout } from "./errors.js";
import { type Found, type Instances, instanceWatcher } from "./instances.js";

/** How long the last poll may take after a wait has timed out. */
const LAST_LOOK_MS = 1_000;

/** All waiting callers of a process share one poll per store. Polls at least once, even with a timeout of zero. `fits` returns null when the state is not the wanted one. */
export async function waitForState<T>(
  instances: Instances,
  { machine, id }: { readonly machine: AnyMachine; readonly id: string },
  fits: (found: Found) => T | null,
  timeoutMs: number,
): Promise<T> {
  const { store, world } = instances;
  const watcher = instanceWatcher(store, world);
  const key = instances.keyOf(machine.name, id);
  return new Promise((resolve, reject) => {
    let isLast = false;
    let isJudging = false;
    let cancel = () => {};
    const over = (end: () => void) => {
      cancel();
      leave();
      end();
    };
    const judge = async (loaded: LoadedInstance | null) => {
      if (!loaded) throw new InstanceUnknown(machine.name, id);
      const wasLast = isLast;
      const wanted = fits(await instances.stateOf(machine, loaded));
      if (wanted !== null) over(() => resolve(wanted));
      else if (wasLast) throw new WaitTimeout(id, timeoutMs);
    };
    let seenSeq = 0;
    const leave = watcher.watch(key, {
      onSeen: (loaded) => {
        const isNews = seenSeq > 0 && loaded?.seq !== seenSeq;
        seenSeq = loaded?.seq ?? 0;
        if (isJudging) return isNews;
        isJudging = true;
        judge(loaded)
          .catch((error) => over(() => reject(error)))
          .finally(() => {
            isJudging = false;
          });
        return isNews;
      },
      onFailed: (error) => over(() => reject(error)),
    });
    if (!Number.isFinite(timeoutMs)) return;
    cancel = world.after(timeoutMs, () => {
      isLast = true;
      watcher.wake(key);
      cancel = world.after(LAST_LOOK_MS, () => over(() => reject(new WaitTimeout(id, timeoutMs))));
    });
  });
}

interface StateListener {
  readonly next: (found: Found) => void;
  readonly onError: (error: unknown) => void;
}

export function watchState(
  instances: Instances,
  machine: AnyMachine,
  id: string,
  { next, onError }: StateListener,
): { unsubscribe(): void } {
  const watcher = instanceWatcher(instances.store, instances.world);
  const key = instances.keyOf(machine.name, id);
  let isOver = false;
  const unsubscribe = () => {
    isOver = true;
    leave();
  };
  const failed = (error: unknown) => {
    if (isOver) return;
    unsubscribe();
    onError(error);
  };
  let seenSeq = -1;
  let last: Promise<void> = Promise.resolve();
  const show = async (loaded: LoadedInstance) => {
    const found = await instances.stateOf(machine, loaded);
    if (isOver) return;
    next(found);
    if (loaded.status !== "active") unsubscribe();
  };
  const leave = watcher.watch(key, {
    onSeen: (loaded) => {
      if (!loaded) {
        failed(new InstanceUnknown(machine.name, id));
        return false;
      }
      if (loaded.seq === seenSeq) return false;
      seenSeq = loaded.seq;
      last = last.then(() => show(loaded)).catch(failed);
      return true;
    },
    onFailed: failed,
  });
  return { unsubscribe };
}
