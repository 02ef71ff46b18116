// The events of a node, whichever part emits them: each names the node, goes to its listeners and is a line of the user's logger.

import type { ActorEvents } from "../actor/definition-events.js";
import type { EngineEvents } from "../engine/events.js";
import type { Logger } from "../kernel/logger.js";
import { stderrLogger } from "../kernel/stderr-logger.js";
import type { World } from "../kernel/world.js";
import type { MachineEvents } from "../machine/machine-events.js";
import type { Store } from "../store/contract/store.js";
import type { Bus, Telemetry } from "../telemetry/bus.js";
import { reportedStore, type StoreEvents } from "../telemetry/store-calls.js";
import type { ScheduleEvents, TriggerEvents } from "../trigger/trigger-events.js";
import type { WorkClaimEvents } from "./work-guard.js";

/** The node that emitted an event. */
export interface NodeInfo {
  /** Its identity, which outlives restarts. */
  readonly identity: string;
  /** Its name for people. */
  readonly name: string;
  /** Fresh at every start. */
  readonly incarnation: string;
}

type AllEvents = ActorEvents & EngineEvents & TriggerEvents & ScheduleEvents & MachineEvents & WorkClaimEvents;

export interface NodeTelemetry extends Telemetry<AllEvents> {
  /** Whether a listener or the logger gets it: saves finding out. */
  listens(name: keyof AllEvents & string): boolean;
}

type NodeEventsOf<Events> = { readonly [Name in keyof Events]: Events[Name] & { readonly node: NodeInfo } };

/** Every event that `node.on` can listen to, by name. */
export type NodeEvents = NodeEventsOf<AllEvents & StoreEvents>;

export function nodeTelemetry(node: NodeInfo, bus: Bus<NodeEvents>, logger: Logger | null): NodeTelemetry {
  const isLogged = (level: keyof Logger) =>
    logger !== null && (logger !== stderrLogger || level === "warn" || level === "error");
  return {
    listens: (name) => bus.listens(name) || isLogged(LEVELS[name] ?? "debug"),
    emit(name, facts) {
      const level = levelOf(name, facts);
      const logged = isLogged(level);
      if (!logged && !bus.listens(name)) return;
      const event = { ...facts, node };
      if (logged) logEvent(logger!, level, name, { ...event });
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
  "run.wait_lost": "warn",
  "run.unserved": "warn",
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

/** How a run ended decides. */
function levelOf(name: keyof AllEvents, facts: object): keyof Logger {
  if (name !== "run.settled") return LEVELS[name] ?? "debug";
  const { as } = facts as { readonly as?: string };
  if (as === "failed") return "warn";
  return as === "dead" || as === "quarantined" ? "error" : "debug";
}

/** The message is the event's name: one thing to search for. A logger that throws changes nothing. */
function logEvent(
  logger: Logger,
  level: keyof Logger,
  name: keyof AllEvents,
  fields: Readonly<Record<string, unknown>>,
): void {
  try {
    const answer: unknown = logger[level](name, fields);
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
