// DAGs of random shape under faults: tasks that fail, kill their nodes and are retried, rules, fan-outs, pauses,
// cancels, retries.

import { dag } from "../../dag/dag.js";
import type { AnyDag } from "../../dag/dag-definition.js";
import { type AnyTask, each, task } from "../../dag/task.js";
import type { TaskContext } from "../../dag/task-context.js";
import { always, noneFailed } from "../../dag/when.js";
import { isEnded } from "../../kernel/run/run-state.js";
import type { AnyDefinition } from "../../program/definition.js";
import { PermanentError } from "../../replay/step-error.js";
import { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { Swarm } from "../swarm.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const SHAPES = 3;

export class DagWorkload implements Workload {
  readonly #swarm: Swarm;

  constructor(swarm: Swarm) {
    this.#swarm = swarm;
  }

  programs(place: Place): readonly AnyDefinition[] {
    return this.#dags(place);
  }

  /** The same for every node and client. */
  #dags(place: Place | null): AnyDag[] {
    return Array.from({ length: SHAPES }, (_, i) => {
      const chance = new Chance(this.#swarm.seed).split(`dag ${i}`);
      const options = {
        onFailure: chance.happens(0.3) ? "cancel" : "finish",
        ...(chance.happens(0.2) && { timeout: this.#swarm.leaseMs * chance.int(4, 20) }),
        ...(chance.happens(0.2) && { concurrency: 1 }),
      } as const;
      return dag(`dag-${i}`, options as never, drawTasks(chance, this.#swarm, place) as never) as unknown as AnyDag;
    });
  }

  drive({ client, chance, swarm, at, runIds }: DriveOptions): void {
    const dags = this.#dags(null);
    for (let i = 0; i < Math.ceil(swarm.runs / 2); i++) {
      const [one, priority] = [chance.one(dags), chance.int(0, 2)];
      at(chance.between(0, swarm.faultsForMs * 0.7), () => void client.start(one, null, { key: `d${i}`, priority }));
    }
    // Any run: a DAG, a task, an item.
    const some = (times: number, act: (id: string) => void) => {
      for (let i = chance.int(0, times); i > 0; i--) {
        at(chance.between(0, swarm.faultsForMs * 1.3), () => {
          const ids = runIds();
          if (ids.length > 0) act(chance.one(ids));
        });
      }
    };
    some(2, (id) => void client.cancel(id));
    some(4, (id) => void client.retry(id, { from: chance.happens(0.8) ? "last" : "start" }));
    some(4, (id) => {
      void client.pause(id);
      at(chance.between(0, swarm.leaseMs * 2), () => void client.resume(id));
    });
    some(4, (id) => void client.retryTask(id, chance.int(0, 5), chance.happens(0.5)));
  }

  /** The last paused run is resumed. */
  urge({ client }: DriveOptions, { id, state }: ModelRun): void {
    if (state === "paused") void client.resume(id);
  }

  mayWait(): boolean {
    return false;
  }

  /** S13: in a DAG that succeeded nothing failed. */
  async check(history: History): Promise<void> {
    for (const run of history.runs.values()) {
      if (run.needs !== null || run.state !== "completed") continue;
      const tasks = run.journal.slice(run.baseSeq).filter(({ kind }) => kind === "task");
      for (const { name, key } of tasks) {
        const { state } = history.runs.get(key!) ?? { state: "completed" };
        const fine = isEnded(state) && (state === "completed" || state === "skipped");
        history.expect(fine, "S13", run, `completed, and its task ${name} is ${state}`);
      }
    }
  }
}

function drawTasks(chance: Chance, { leaseMs }: Swarm, place: Place | null): Record<string, AnyTask> {
  const tasks: Record<string, AnyTask> = {};
  const often = <T>(choices: readonly (readonly [number, T])[]) => chance.weighted(choices);
  for (let i = chance.int(2, 6); i > 0; i--) {
    const kills = often([
      [8, 0],
      [2, 1],
      [1, 9],
    ]);
    const ms = chance.between(0, leaseMs / 2);
    const op = { do: "step", name: "work", ms, fails: 0, attempts: 3, delayMs: 1, kills } as const;
    const fails = often([
      [7, 0],
      [2, 1],
      [1, 9],
    ]);
    const work = async (ctx: TaskContext) => {
      await ctx.step("work", (info) => place!.effect(ctx.runId, info, op, []));
      if (ctx.attempt <= fails) throw fails > 3 ? new PermanentError("never") : new TypeError(`attempt ${ctx.attempt}`);
      return i;
    };
    const needs = Object.fromEntries(Object.entries(tasks).filter(() => chance.happens(0.4)));
    const retry = { attempts: chance.int(1, 3), delay: Math.ceil(leaseMs / 10), backoff: "fixed" } as const;
    const when = often([
      [6, null],
      [1, always],
      [1, noneFailed()],
    ]);
    const parallel = chance.int(1, 2);
    tasks[`t${i}`] = chance.happens(0.2)
      ? each({ needs, retry, parallel, over: () => [1, 2, 3] }, work)
      : task({ needs, retry, ...(when && { when: when as never }) }, work);
  }
  return tasks;
}
