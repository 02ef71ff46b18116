// The events of engine, triggers and machines as a node emits them: each names the node, for listeners and for the logger.

import type { ActorEvents } from "../actor/events.js";
import type { EngineEvents } from "../engine/events.js";
import type { MachineEvents } from "../machine/events.js";
import type { Bus, Telemetry } from "../telemetry/bus.js";
import type { TriggerEvents } from "../trigger/events.js";
import type { ScheduleEvents } from "../trigger/schedule-events.js";
import { type Logger, logEvent } from "./logger.js";
import type { WorkClaimEvents } from "./work-guard.js";

export interface NodeInfo {
  readonly identity: string;
  readonly name: string;
  readonly incarnation: string;
}

type AllEvents = ActorEvents & EngineEvents & TriggerEvents & ScheduleEvents & MachineEvents & WorkClaimEvents;

export type NodeEvents = {
  readonly [Name in keyof AllEvents]: AllEvents[Name] & { readonly node: NodeInfo };
};

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
