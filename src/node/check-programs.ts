// Checks the programs of a node: each name once, and whether any live node takes the runs that it starts.

import { ServedCheck } from "../client/served-check.js";
import { InvalidInput } from "../kernel/error.js";
import { omit } from "../kernel/omit.js";
import type { World } from "../kernel/world.js";
import type { AnyDefinition } from "../program/definition.js";
import type { Store } from "../store/contract/store.js";
import type { NodeTelemetry } from "./node-events.js";

/** Two of one name and version would share their runs. The same one twice is one. */
export function expectNamedOnce(programs: readonly AnyDefinition[]): readonly AnyDefinition[] {
  const named = new Map<string, AnyDefinition>();
  for (const program of new Set(programs)) {
    const { name, version = null } = program;
    const key = JSON.stringify([name, version]);
    if (named.has(key)) {
      const which = version === null ? "" : ` in version ${version}`;
      throw new InvalidInput("programs", `two programs are named ${JSON.stringify(name)}${which}; rename one of them`);
    }
    named.set(key, program);
  }
  return [...named.values()];
}

export function servedCheck(store: Store, world: World, told: NodeTelemetry): ServedCheck {
  return new ServedCheck({
    store,
    world,
    isWanted: () => told.listens("run.unserved"),
    onUnserved: ({ id, group }) => told.emit("run.unserved", { runId: id, ...omit(group, "env") }),
  });
}
