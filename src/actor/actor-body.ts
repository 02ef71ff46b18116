// An actor as data: parses the body of a definition, rejects unknown fields, and builds the actor.

import { InvalidInput } from "../kernel/error.js";
import { fields, textField } from "../kernel/fields.js";
import { triggersOf } from "../trigger/trigger-body.js";
import { type ActorOptions, type AnyActor, actor } from "./actor.js";
import type { AnyExpectation } from "./expectation.js";
import { type Strategies, strategyOf } from "./named-strategy.js";

const OF_ACTOR = ["concurrency", "overflow", "stacks", "expectations"];
const OF_EXPECTATION = ["strategy", "config", "on", "budget", "retry", "recovery", "circuitBreaker", "serial"];

/**
 * Throws InvalidInput with the path of the problem, or StrategyUnknown. `strategies` null: strategy names are not
 * checked.
 */
export function actorOf(name: string, body: unknown, version: number, strategies: Strategies | null): AnyActor {
  const { expectations, ...limits } = fields("body", body, OF_ACTOR);
  const stacks = limits["stacks"];
  if (stacks !== undefined && !Array.isArray(stacks)) throw new InvalidInput("body.stacks", "must be a list of stacks");
  const made = Object.entries(fields("body.expectations", expectations)).map(([key, one]) => {
    const path = `body.expectations.${key}`;
    const { strategy, config = null, on: triggers, ...options } = fields(path, one, OF_EXPECTATION);
    const used = { strategy: textField(`${path}.strategy`, strategy, "the name of a strategy"), config, version };
    if (strategies) strategyOf(used, strategies);
    const expectation: AnyExpectation = {
      kind: "expectation",
      options: { ...options, on: triggersOf(`${path}.on`, triggers) },
      strategy: { kind: "named", used, registry: strategies ?? {} },
    };
    return [key, expectation] as const;
  });
  return actor(name, { ...limits, expectations: Object.fromEntries(made) } as ActorOptions<never>) as AnyActor;
}
