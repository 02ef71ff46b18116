// A task known by its name: requested by a definition in the database, found in the node's registry.

import { HoldfastError } from "../kernel/error.js";
import type { TaskContext } from "./task-context.js";

/**
 * `given` is what a task of a DAG receives: the DAG's input if it needs nothing, the results of its needs by name,
 * their outcomes under a rule, or one item of a fan-out. `config` is the definition's.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever its definitions bring
export type RegisteredTask = (ctx: TaskContext<any>, given: any, config: any) => unknown;

/** By name: the tasks that definitions of DAGs may use. */
export type Tasks = Readonly<Record<string, RegisteredTask>>;

/** A definition names a task that this node was not given. */
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
