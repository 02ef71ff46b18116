// Waits until an instance is in a wanted state: all waiting callers of a process share one poll per store.

import type { LoadedInstance } from "../store/contract/machine/machines.js";
import type { AnyMachine } from "./definition.js";
import { InstanceUnknown, WaitTimeout } from "./errors.js";
import { instanceWatcher } from "./instance-watcher.js";
import type { Found, Instances } from "./instances.js";

/** How long the last poll may take after a wait has timed out. */
const LAST_LOOK_MS = 1_000;

/** Polls at least once, even with a timeout of zero. `fits` returns null when the state is not the wanted one. */
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
