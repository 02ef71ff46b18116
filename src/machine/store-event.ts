// An event sent to an instance: checked, and stored among the instance's timers if its sender does not apply it.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { dedupeKey, nodeName } from "../kernel/name.js";
import type { Transaction } from "../store/contract/transaction.js";
import { timerGroup } from "./draft.js";
import { InstanceEnded, InstanceUnknown } from "./errors.js";
import { timerId } from "./instance-key.js";
import type { Instances } from "./instances.js";
import type { MachineEvent } from "./logic.js";

/** XState's own events are its timers. */
const OWN = "xstate.";

/** Checked first: an invalid event must not affect the events sent with it. */
export function checkEvent(event: unknown): void {
  const type = typeof event === "object" && event !== null ? (event as { readonly type?: unknown }).type : undefined;
  if (typeof type !== "string" || type === "" || type === "*") {
    throw new InvalidInput("event", 'must be an object with a type, as { type: "PAY" }');
  }
  if (type.startsWith(OWN)) {
    throw new InvalidInput("event.type", `begins with "${OWN}", which is for XState's own events; use another name`);
  }
}

/** The sender's key and name; null if omitted. */
export function senderOf({ key, by }: { readonly key?: string; readonly by?: string }) {
  return {
    key: key === undefined ? null : dedupeKey(key, "key"),
    by: by === undefined ? null : nodeName(by, "by"),
  };
}

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
  const sent = {
    // With a sender's key, the same event sent twice is stored once.
    id: key === null ? world.token() : timerId(instanceKey, `key:${key}`),
    instanceKey,
    generation: 0,
    name: event.type,
    delayMs,
    group: timerGroup(env, stack, machine),
    payload: codecs.encode({ event, by, ...(key !== null && { key }) }, "event"),
  };
  const [answer] = await store.machines.tell([sent], tx ? { tx } : {});
  if (answer!.outcome === "refused") throw answer!.error;
  if (answer!.outcome === "unknown") throw new InstanceUnknown(machine, id);
  if (answer!.outcome === "ended") throw new InstanceEnded(id, answer!.status, 0);
  if (!tx) instances.wakeups.wake("timers", delayMs);
}
