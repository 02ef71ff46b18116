// Makes schedulers: one for the programs of the code, one for each set of programs that is loaded.

import type { Runs } from "../client/runs.js";
import type { StartGate } from "../engine/start-gate.js";
import type { Startable } from "../program/startable.js";
import type { Store } from "../store/contract/store.js";
import { Scheduler, type SchedulerOptions } from "../trigger/scheduler.js";
import type { DynamicOptions } from "./dynamic-programs.js";

interface SchedulerPlace extends Pick<SchedulerOptions, "world" | "bus" | "env" | "stack" | "lookEveryMs" | "modes"> {
  readonly store: Store;
  readonly runs: Runs;
  readonly gate: StartGate;
}

/** Makes a scheduler for programs of the code, or for those that are loaded. */
export function schedulersOf({ store, runs, gate, ...place }: SchedulerPlace): DynamicOptions["newScheduler"] {
  const newRun = (program: Omit<Startable, "schema">, input: unknown) => {
    return { ...runs.newRun(program, input, {}), ...gate.stamp(program.name) };
  };
  const stores = { store: store.schedules, breakers: store.breakers };
  return (programs) => new Scheduler({ ...place, ...stores, programs, newRun });
}
