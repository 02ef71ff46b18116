// Polls the instances that callers wait for: one watcher for all clients and nodes of this process that use the store.

import { sharedBy, Watcher } from "../engine/watcher.js";
import type { LoadedInstance } from "../store/contract/machine/machines.js";

const FIRST_PAUSE_MS = 10;

export const instanceWatcher = sharedBy(
  (store, world) =>
    new Watcher<LoadedInstance | null>({
      world,
      firstPauseMs: FIRST_PAUSE_MS,
      look: (keys) => store.machines.load(keys),
    }),
);
