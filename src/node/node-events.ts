// The events of engine, triggers and machines as a node emits them: each names the node, for listeners and for the logger.

import type { ActorEvents } from "../actor/definition-events.js";
import type { EngineEvents } from "../engine/events.js";
import type { World } from "../kernel/world.js";
import type { MachineEvents } from "../machine/machine-events.js";
import type { Store } from "../store/contract/store.js";
import type { Bus, Telemetry } from "../telemetry/bus.js";
import { reportedStore, type StoreEvents } from "../telemetry/store-calls.js";
import type { TriggerEvents } from "../trigger/emit-events.js";
import type { ScheduleEvents } from "../trigger/schedule-events.js";
import { type Logger, logEvent } from "./logger.js";
import type { WorkClaimEvents } from "./work-guard.js";

export interface NodeInfo {
  readonly identity: string;
  readonly name: string;
  readonly incarnation: string;
}

type AllEvents = ActorEvents & EngineEvents & TriggerEvents & ScheduleEvents & MachineEvents & WorkClaimEvents;

type NodeEventsOf<Events> = { readonly [Name in keyof Events]: Events[Name] & { readonly node: NodeInfo } };

export type NodeEvents = NodeEventsOf<AllEvents & StoreEvents>;

export function nodeTelemetry(node: NodeInfo, bus: Bus<NodeEvents>, logger?: Logger): Telemetry<AllEvents> {
  return {
    emit(name, facts) {
      if (!logger && !bus.listens(name)) return;
      const event = { ...facts, node };
      if (logger) logEvent(logger, name, { ...event });
      bus.emit(name, event as unknown as NodeEvents[typeof name]);
    },
  };
}

/** The store as this node calls it. */
export function storeOfNode(store: Store, node: NodeInfo, bus: Bus<NodeEvents>, world: World): Store {
  return reportedStore(store, {
    world,
    listens: () => bus.listens("store.called"),
    called: (call) => bus.emit("store.called", { ...call, node }),
  });
}
