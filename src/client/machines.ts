// Bulk operations on machine instances: list, send many events, prune.

import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError } from "../kernel/error.js";
import { omit } from "../kernel/omit.js";
import type { MachineDefinition } from "../machine/definition.js";
import { Instance, type Sent } from "../machine/instance.js";
import type { Instances as Reached } from "../machine/instances.js";
import type { MachineEvent } from "../machine/logic.js";
import type { InstanceRecord, InstanceStatus } from "../store/contract/machine/machines.js";

/** One of many events. */
export interface SendItem<Ev> {
  /** The id of the instance. */
  readonly id: string;
  /** The event to send. */
  readonly event: Ev;
  /** Makes the event happen once: a second one with this key is a duplicate. */
  readonly key?: string;
  /** Applied only while the instance is at this sequence. */
  readonly expectedSeq?: number;
}

/** The outcome of one of many events. */
export type SendOutcome<Value> = Sent<Value> | { readonly outcome: "failed"; readonly error: HoldfastError };

/** An instance of a machine as lists show it. */
export interface InstanceInfo extends Omit<InstanceRecord, "key" | "value" | "redact" | "group"> {
  /** The name of its machine. */
  readonly machine: string;
  /** The stack it belongs to; null: any. */
  readonly stack: string | null;
  /** Its state value, as XState has it. */
  readonly value: unknown;
}

/** Which instances are listed. Without a field: all of them. */
export interface ListInstances {
  /** Only instances of this machine, or of the machine with this name. */
  readonly machine?: string | { readonly name: string };
  /** Only instances in one of these statuses. */
  readonly statuses?: readonly InstanceStatus[];
  /** How many, at most 1000. @default 100 */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly before?: string;
}

/** Bulk operations on machine instances. */
export interface Instances {
  /** Newest first. */
  list(options?: ListInstances): Promise<{ readonly instances: readonly InstanceInfo[]; readonly next: string | null }>;
  /**
   * Sends many events, to one instance or several, in few calls to the store. Answers are in the order of the items.
   */
  sendMany<Ev extends MachineEvent, In, Out, Value, Context>(
    machine: MachineDefinition<string, In, Out, Ev, Value, Context>,
    items: readonly SendItem<NoInfer<Ev>>[],
  ): Promise<readonly SendOutcome<Value>[]>;
  /** Removes ended instances with their history and returns their number; at most `limit` (1,000) per call. */
  prune(options: { readonly olderThan: Duration; readonly limit?: number }): Promise<number>;
}

export function instancesOf(reached: Reached): Instances {
  const { machines } = reached.store;
  return {
    async list({ machine, statuses, limit = 100, before } = {}) {
      const name = typeof machine === "object" ? machine.name : machine;
      const filter = {
        env: reached.env,
        ...(name !== undefined && { machine: name }),
        ...(statuses && { statuses }),
      };
      const page = await machines.list(filter, { limit, ...(before !== undefined && { before }) });
      return { instances: page.instances.map(infoOf), next: page.next };
    },
    sendMany: (machine, items) =>
      Promise.all(
        items.map(async ({ id, event, ...options }) => {
          try {
            return await new Instance<never, never, never, never>(machine, id, reached).send(event as never, options);
          } catch (error) {
            if (error instanceof HoldfastError) return { outcome: "failed", error };
            throw error;
          }
        }),
      ),
    prune: ({ olderThan, limit = 1000 }) =>
      machines.prune({ env: reached.env, endedBeforeMs: toMs(olderThan, "olderThan"), limit }),
  };
}

function infoOf(instance: InstanceRecord): InstanceInfo {
  const { group, value, ...record } = omit(instance, "key", "redact");
  return { ...record, machine: group.program, stack: group.stack, value: JSON.parse(value) as unknown };
}
