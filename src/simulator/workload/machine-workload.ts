// Machines under faults: instances with two timers and an effect that answers. Every instance comes to its end, and its log has each
// timer and each answer once.

import { setup } from "xstate";
import { machine } from "../../machine/index.js";
import type { AnyDefinition } from "../../program/definition.js";
import { workflow } from "../../workflow/workflow.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { DriveOptions, Workload } from "./workload.js";

const LOG = ["start", "after 300ms in a", "after 500ms in b", "TOLD"];
const TIMERS = [
  { at: 1, ms: 300 },
  { at: 2, ms: 500 },
] as const;

const timed = machine(
  "timed-machine",
  setup({
    types: {} as { events: { type: "TOLD" } },
    actions: { tell: () => {} },
  }).createMachine({
    initial: "a",
    states: {
      a: { after: { 300: "b" } },
      b: { after: { 500: "c" } },
      c: { entry: "tell", on: { TOLD: "done" } },
      done: { type: "final" },
    },
  }),
  { effects: { tell: { retry: 20, run: async () => ({ type: "TOLD" }) } } },
);
const life = workflow("life", async (ctx) => {
  await ctx.child(timed, undefined);
});

export class MachineWorkload implements Workload {
  readonly #count: number;
  /** Of every instance, at the end. */
  logs: string[][] = [];

  constructor(count = 6) {
    this.#count = count;
  }

  programs(): readonly AnyDefinition[] {
    return [timed, life];
  }

  drive({ client, sister, at }: DriveOptions): void {
    for (let i = 0; i < this.#count; i++) at(i * 150, () => void client.start(life, undefined, { key: `k${i}` }));
    if (sister) at(0, () => void sister.start(life, undefined, { key: "k0" }));
  }

  urge(): void {}

  /** For an effect that is dead; for an instance that a failover has lost after its start was answered. */
  mayWait(_: ModelRun, { runs, lost }: History): boolean {
    return lost.size > 0 || [...runs.values()].some((run) => !this.makesAttempts(run) && run.state === "dead");
  }

  /** The steps of these are the engine's own, and the effect `tell`. */
  makesAttempts({ program }: ModelRun): boolean {
    return program !== "life" && !program.startsWith("timed-machine");
  }

  async check(history: History): Promise<void> {
    const { instances, instanceEvents, timers } = history.tables;
    // A failover that lost the last commits may lose an acknowledged result of an effect (S1 does not hold then). A run that was
    // cancelled, or is dead, leaves its instance.
    const runs = history.everyRun.filter((run) => !this.makesAttempts(run));
    const isWhole = history.disturbedAt < 0 && runs.every(({ state }) => state === "completed");
    for (const { key, id, status } of instances.values()) {
      const events = instanceEvents.get(key) ?? [];
      const log = events.map(({ name }) => name);
      this.logs.push(log);
      const expected = isWhole ? LOG : LOG.slice(0, log.length);
      if (status !== "done" && isWhole) history.broken("L4", id, `its instance is ${status}`);
      if (JSON.stringify(log) !== JSON.stringify(expected)) history.broken("S11", id, `its log is ${log.join(", ")}`);
      if (history.disturbedAt >= 0) continue;
      for (const { at, ms } of TIMERS) {
        const [armed, fired] = [events[at - 1], events[at]];
        if (armed && fired && fired.atUs - armed.atUs < ms * 1000 - 1000) {
          history.broken("S11", id, `${fired.name} came ${fired.atUs - armed.atUs} µs after ${armed.name}`);
        }
      }
    }
    if (!isWhole) return;
    for (const { id, kind } of timers.values()) history.broken("S11", id, `a timer (${kind}) is left`);
  }
}
