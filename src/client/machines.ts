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
  readonly id: string;
  readonly event: Ev;
  readonly key?: string;
  readonly expectedSeq?: number;
}

/** The outcome of one of many events. */
export type SendOutcome<Value> = Sent<Value> | { readonly outcome: "failed"; readonly error: HoldfastError };

export interface InstanceInfo extends Omit<InstanceRecord, "key" | "value" | "redact" | "group"> {
  readonly machine: string;
  readonly stack: string | null;
  readonly value: unknown;
}

export interface ListInstances {
  readonly machine?: string | { readonly name: string };
  readonly statuses?: readonly InstanceStatus[];
  /** Default 100, at most 1000. */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly before?: string;
}

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
