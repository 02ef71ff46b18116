// An actor as data: reads the body of a definition, refuses what it does not know, and makes the actor of it.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { event, on } from "../trigger/event.js";
import { cron, every } from "../trigger/schedule.js";
import type { Trigger } from "../trigger/trigger.js";
import { type ActorOptions, type AnyActor, actor } from "./actor.js";
import type { AnyExpectation } from "./expectation.js";
import { type Strategies, strategyOf } from "./named-strategy.js";

type Fields = Readonly<Record<string, unknown>>;

const OF_ACTOR = ["concurrency", "overflow", "stacks", "expectations"];
const OF_EXPECTATION = ["strategy", "config", "on", "budget", "retry", "recovery", "circuitBreaker", "serial"];
const OF_EVENT = ["event", "where", "subject", "debounce", "once"];
const OF_CRON = ["cron", "timezone", "catchUp"];
const OF_INTERVAL = ["every", "catchUp"];

export interface DefinitionUse {
  readonly version: number;
  /** False: it has no triggers. */
  readonly enabled: boolean;
  /** Null: they are somebody else's affair. */
  readonly strategies: Strategies | null;
}

/** Throws InvalidInput with the path of what is wrong, or StrategyUnknown. */
export function actorOf(name: string, body: unknown, { version, enabled, strategies }: DefinitionUse): AnyActor {
  const { expectations, ...limits } = fields("body", body, OF_ACTOR);
  const made = Object.entries(fields("body.expectations", expectations)).map(([key, one]) => {
    const path = `body.expectations.${key}`;
    const { strategy, config = null, on: triggers, ...options } = fields(path, one, OF_EXPECTATION);
    if (typeof strategy !== "string") throw new InvalidInput(`${path}.strategy`, "must be the name of a strategy");
    const used = { strategy, config, version };
    if (strategies) strategyOf(used, strategies);
    const read = triggersOf(`${path}.on`, triggers);
    const expectation: AnyExpectation = {
      kind: "expectation",
      options: { ...options, on: read },
      strategy: { kind: "named", used, registry: strategies ?? {} },
    };
    return [key, expectation] as const;
  });
  const whole = actor(name, { ...limits, expectations: Object.fromEntries(made) } as ActorOptions<never>) as AnyActor;
  return enabled ? whole : quiet(whole);
}

/** Nothing starts it; what was begun goes on. */
function quiet(whole: AnyActor): AnyActor {
  const entries = Object.entries(whole.expectations).map(([key, one]) => [key, { ...one, triggers: [] }]);
  return { ...whole, expectations: Object.fromEntries(entries) };
}

function triggersOf(path: string, triggers: unknown): readonly Trigger<unknown>[] {
  if (triggers === undefined) return [];
  if (!Array.isArray(triggers)) throw new InvalidInput(path, "must be a list of triggers");
  return triggers.map((trigger, i) => triggerOf(`${path}[${i}]`, trigger));
}

function triggerOf(path: string, trigger: unknown): Trigger<unknown> {
  const given = fields(path, trigger);
  if ("event" in given) {
    const { event: name, ...options } = fields(path, trigger, OF_EVENT);
    return on(event<Fields>()(name as string), options as never);
  }
  if ("cron" in given) {
    const { cron: line, ...options } = fields(path, trigger, OF_CRON);
    return cron(line as string, options as never);
  }
  if ("every" in given) {
    const { every: duration, ...options } = fields(path, trigger, OF_INTERVAL);
    toMs(duration as Duration, `${path}.every`);
    return every(duration as Duration, options as never);
  }
  throw new InvalidInput(path, "must have one of event, cron, every");
}

function fields(path: string, value: unknown, known?: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidInput(path, "must be an object");
  const unknown = known && Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new InvalidInput(`${path}.${unknown}`, `is none of ${known!.join(", ")}`);
  return value as Fields;
}
