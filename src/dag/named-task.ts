// A task that is known by its name: what a definition in the database asks for, found in the node's registry.

import { HoldfastError } from "../kernel/error.js";
import type { TaskContext } from "./task-context.js";

/**
 * `given` is what a task of a DAG gets: the DAG's input when it needs nothing, what its needs answered by their names, their
 * outcomes under a rule, one item of a fan-out. `config` is the definition's.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever its definitions bring
export type RegisteredTask = (ctx: TaskContext<any>, given: any, config: any) => unknown;

/** By name: what definitions of DAGs may ask for. */
export type Tasks = Readonly<Record<string, RegisteredTask>>;

export class TaskUnknown extends HoldfastError {
  readonly code = "TASK_UNKNOWN";

  constructor(name: string) {
    super(
      `This node has no task ${JSON.stringify(name)}. Give it to createNode({ definitions: { tasks } }), ` +
        "or save the definition with one that it has.",
    );
  }
}

export function taskNamed(name: string, registry: Tasks): RegisteredTask {
  const found = Object.hasOwn(registry, name) ? registry[name] : undefined;
  if (!found) throw new TaskUnknown(name);
  return found;
}
