// The events of a node, whichever part emits them: each names the node, goes to its listeners and is a line of the user's logger.

import type { ActorEvents } from "../actor/definition-events.js";
import type { EngineEvents } from "../engine/events.js";
import type { World } from "../kernel/world.js";
import type { MachineEvents } from "../machine/machine-events.js";
import type { Store } from "../store/contract/store.js";
import type { Bus, Telemetry } from "../telemetry/bus.js";
import { reportedStore, type StoreEvents } from "../telemetry/store-calls.js";
import type { ScheduleEvents, TriggerEvents } from "../trigger/trigger-events.js";
import type { WorkClaimEvents } from "./work-guard.js";

export interface Logger {
  debug(message: string, fields: Readonly<Record<string, unknown>>): void;
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}

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

/** An event that a person must act on is an error, one that may need it a warning. Events that are not listed happen all the time. */
const LEVELS: Readonly<Partial<Record<keyof AllEvents, keyof Logger>>> = {
  "node.started": "info",
  "node.unserved": "warn",
  "program.conflict": "warn",
  "node.replaced": "error",
  "node.stopping": "info",
  "node.stopped": "info",
  "node.blocked": "warn",
  "run.handed_back": "info",
  "run.misfit": "warn",
  "run.quarantined": "error",
  "run.lifted": "info",
  "step.retried": "warn",
  "step.failed": "warn",
  "run.reclaimed": "warn",
  "recovery.sweep": "warn",
  "run.broken": "error",
  "run.history_long": "warn",
  "run.overflowed": "warn",
  "run.budget_exhausted": "warn",
  "claim.lost": "warn",
  "claim.in_doubt": "warn",
  "claim.failed": "warn",
  "lease.renew_failed": "warn",
  "lease.keeper_restarted": "error",
  "breaker.opened": "error",
  "breaker.half_opened": "info",
  "breaker.closed": "info",
  "event.rejected": "warn",
  "store.trouble": "warn",
  "housekeeping.failed": "warn",
  "reclaimer.changed": "info",
  "definition.loaded": "info",
  "definition.refused": "warn",
  "definitions.failed": "warn",
  "mode.changed": "info",
  "node.drained": "info",
  "run.expired": "warn",
  "work_claim.steal": "warn",
  "work_claim.lost": "warn",
  "work_claim.renew_failed": "warn",
  "work_claim.acquire_failed": "warn",
  "schedule.fired": "info",
  "schedule.skipped": "warn",
  "schedule.rejected": "warn",
  "schedule.caught_up": "info",
  "schedule.failed": "warn",
  "instance.quarantined": "error",
  "timer.failed": "warn",
  "timer.unknown": "warn",
  "timer.dead": "error",
  "timers.failed": "warn",
  "machine.logged": "info",
};

/** The message is the event's name: one thing to search for. A logger that throws changes nothing. */
function logEvent(logger: Logger, name: keyof AllEvents, fields: Readonly<Record<string, unknown>>): void {
  try {
    const answer: unknown = logger[LEVELS[name] ?? "debug"](name, fields);
    // An async logger fits the type, too: without this, its rejection would be unhandled and end the process.
    if (answer instanceof Promise) answer.catch(() => {});
  } catch {
    // There is no other place left to report it.
  }
}

/** The store as this node calls it. */
export function storeOfNode(store: Store, node: NodeInfo, bus: Bus<NodeEvents>, world: World): Store {
  return reportedStore(store, {
    world,
    listens: () => bus.listens("store.called"),
    called: (call) => bus.emit("store.called", { ...call, node }),
  });
}
