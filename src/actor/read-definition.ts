// Builds the programs of a definition in the database: the expectations of an actor, or a DAG with its tasks.

import type { AnyDag } from "../dag/dag-definition.js";
import type { Tasks } from "../dag/named-task.js";
import { InvalidInput } from "../kernel/error.js";
import { fields, textField } from "../kernel/fields.js";
import type { AnyDefinition } from "../program/definition.js";
import type { DefinitionRecord } from "../store/contract/definition/definitions.js";
import { triggersOf } from "../trigger/trigger-body.js";
import { type ActorOptions, type AnyActor, actor } from "./actor.js";
import { dagOf } from "./dag-body.js";
import type { AnyExpectation } from "./expectation.js";
import { type Strategies, strategyOf } from "./named-strategy.js";

/** What a node has. Null: not checked. */
export interface Known {
  readonly strategies: Strategies | null;
  readonly tasks: Tasks | null;
  readonly expectationOf: ((name: string) => AnyDefinition | undefined) | null;
}

/** For saving: the process that saves need not have the code. */
export const NOTHING_KNOWN: Known = { strategies: null, tasks: null, expectationOf: null };

type Written = Pick<DefinitionRecord, "kind" | "name" | "version" | "body">;

/** Throws if the definition is invalid. */
export function readDefinition({ kind, name, version, body }: Written, known: Known): readonly AnyDefinition[] {
  if (kind === "dag") return [dagOf(name, JSON.parse(body), { version, ...known })];
  return Object.values(actorOf(name, JSON.parse(body), version, known.strategies).expectations);
}

/** The program names of its runs. */
export function programNames(definitions: readonly AnyDefinition[]): readonly string[] {
  return definitions.flatMap((one) =>
    one.kind === "dag" ? [one.name, ...(one as AnyDag).order.map((task) => `${one.name}::${task}`)] : one.name,
  );
}

/** Removes the triggers: nothing starts the program; runs that have begun continue. */
export function quiet(definition: AnyDefinition): AnyDefinition {
  return { ...definition, triggers: [] };
}

const OF_ACTOR = ["concurrency", "overflow", "stacks", "expectations"];
const OF_EXPECTATION = ["strategy", "config", "on", "budget", "retry", "recovery", "circuitBreaker", "serial"];

/**
 * Throws InvalidInput with the path of the problem, or StrategyUnknown. `strategies` null: strategy names are not
 * checked.
 */
function actorOf(name: string, body: unknown, version: number, strategies: Strategies | null): AnyActor {
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
