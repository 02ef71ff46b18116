// What a node claims and who of it works on that: the groups of each program, given to the executors by the rules.

import type { RunGroup } from "../kernel/new-run.js";
import type { NodeExecutor } from "../store/contract/nodes.js";
import type { RunStore } from "../store/contract/runs.js";
import type { Executor } from "./executor.js";
import type { Program } from "./program.js";
import type { Routing, Served } from "./routing.js";

export interface AssignmentOptions {
  readonly programs: readonly Program[];
  readonly routing: Routing;
  readonly env: string;
  readonly stack: string | null;
}

export class Assignments {
  readonly #options: AssignmentOptions;
  /** Also those it no longer claims: what it was granted last may be one of them. */
  readonly #programs = new Map<number, Program>();
  #groupIds: readonly number[] = [];
  /** They may change while the node works; `give` makes it so. */
  programs: readonly Program[];

  constructor(options: AssignmentOptions) {
    this.#options = options;
    this.programs = options.programs;
  }

  /** Every program of the node, in its order. */
  get all(): readonly Served[] {
    const { routing } = this.#options;
    return this.programs.map(({ name: program, queue, version }) => {
      return { program, queue, version, executor: routing.executorOf(queue) };
    });
  }

  /** The groups it claims from. */
  get groups(): readonly RunGroup[] {
    return this.#served().flatMap(({ groups }) => groups);
  }

  programOf(groupId: number): Program {
    return this.#programs.get(groupId)!;
  }

  get groupIds(): readonly number[] {
    return this.#groupIds;
  }

  /** For people: each executor with its slots and the queues it works on. */
  get executors(): readonly NodeExecutor[] {
    const { routing } = this.#options;
    return [...routing.executors].map(([name, slots]) => {
      return { name, slots, queues: [...new Set(this.all.flatMap((one) => (one.executor === name ? one.queue : [])))] };
    });
  }

  /** Asks the store for the groups' numbers, and gives them to the executors. */
  async give(store: RunStore, executors: readonly Executor[]): Promise<void> {
    const served = this.#served();
    const ids = await store.groupIds(served.flatMap(({ groups }) => groups));
    const found = new Map<string, number[]>(executors.map(({ name }) => [name, []]));
    const programs = served.flatMap(({ program, executor, groups }) => groups.map(() => ({ program, executor })));
    for (const [i, id] of ids.entries()) {
      const { program, executor } = programs[i]!;
      this.#programs.set(id, program);
      found.get(executor)!.push(id);
    }
    this.#groupIds = [...new Set(ids)];
    for (const executor of executors) executor.groupIds = found.get(executor.name)!;
    await store.declare(this.#declared());
  }

  #served(): readonly { readonly program: Program; readonly executor: string; readonly groups: readonly RunGroup[] }[] {
    const { routing, env, stack } = this.#options;
    return this.programs.flatMap((program) => {
      const executor = routing.executorOf(program.queue);
      return executor === null ? [] : [{ program, executor, groups: groupsOf(program, env, stack) }];
    });
  }

  /** Also of programs that others work on: whoever has the code knows their limits. */
  #declared() {
    const { env, stack } = this.#options;
    return this.programs.flatMap((program) => {
      return groupsOf(program, env, stack).map((group) => ({ group, limits: program.limits }));
    });
  }
}

/** A run without a stack belongs to any stack, one without a version to any version. */
function groupsOf({ queue, name: program, version }: Program, env: string, stack: string | null): RunGroup[] {
  const stacks = stack === null ? [null] : [stack, null];
  const versions = version === null ? [null] : [version, null];
  return stacks.flatMap((s) => versions.map((v) => ({ env, stack: s, queue, program, version: v })));
}
