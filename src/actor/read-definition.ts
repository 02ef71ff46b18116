// Builds the programs of a definition in the database: the expectations of an actor, or a DAG with its tasks.

import type { AnyDag } from "../dag/dag-definition.js";
import type { Tasks } from "../dag/named-task.js";
import type { AnyDefinition } from "../program/definition.js";
import type { DefinitionRecord } from "../store/contract/definition/definitions.js";
import { actorOf } from "./actor-body.js";
import { dagOf } from "./dag-body.js";
import type { Strategies } from "./named-strategy.js";

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
