// An event that its sender does not apply: it is stored among the instance's timers until a node applies it.

import { type Duration, toMs } from "../kernel/duration.js";
import type { Transaction } from "../store/contract/transaction.js";
import { timerGroup } from "./draft.js";
import { InstanceEnded, InstanceUnknown } from "./errors.js";
import { timerId } from "./instance-key.js";
import type { Instances } from "./instances.js";
import type { MachineEvent } from "./logic.js";

export interface Later {
  readonly machine: string;
  readonly id: string;
  readonly event: MachineEvent;
  readonly key: string | null;
  readonly by: string | null;
  readonly tx: Transaction | undefined;
  readonly delay: Duration | undefined;
}

export async function storeForLater(instances: Instances, later: Later): Promise<void> {
  const { store, codecs, world, env, stack } = instances;
  const { machine, id, event, key, by, tx, delay } = later;
  const delayMs = delay === undefined ? 0 : toMs(delay, "delay");
  const instanceKey = instances.keyOf(machine, id);
  const told = {
    // With a sender's key, the same event sent twice is stored once.
    id: key === null ? world.token() : timerId(instanceKey, `key:${key}`),
    instanceKey,
    generation: 0,
    name: event.type,
    delayMs,
    group: timerGroup(env, stack, machine),
    payload: codecs.encode({ event, by, ...(key !== null && { key }) }, "event"),
  };
  const [answer] = await store.machines.tell([told], tx ? { tx } : {});
  if (answer!.outcome === "refused") throw answer!.error;
  if (answer!.outcome === "unknown") throw new InstanceUnknown(machine, id);
  if (answer!.outcome === "ended") throw new InstanceEnded(id, answer!.status, 0);
  if (!tx) instances.wakeups.wake("timers", delayMs);
}
