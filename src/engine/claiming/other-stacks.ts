// Finds groups of other stacks whose runs no node there executes: a node that opted in serves them, too.

import type { RunGroup } from "../../kernel/run/new-run.js";
import type { NodeParts } from "../node-parts.js";
import type { Program } from "../program.js";

export interface OtherStacksOptions extends Pick<NodeParts, "store" | "env" | "stack"> {
  readonly programs: () => readonly Program[];
  /** Null: all stacks. */
  readonly from: readonly string[] | null;
}

export class OtherStacks {
  readonly #options: OtherStacksOptions;
  /** All that were ever found: a run may have been claimed just before its group was given up. */
  readonly #known = new Map<number, Program>();
  #now: readonly number[] = [];

  constructor(options: OtherStacksOptions) {
    this.#options = options;
  }

  /** The groups it may claim from now. */
  get now(): readonly number[] {
    return this.#now;
  }

  programOf(groupId: number): Program | undefined {
    return this.#known.get(groupId);
  }

  /** Looks again; returns whether something changed. Nodes of another stack start and stop. */
  async look(): Promise<boolean> {
    const { store, env, stack, programs, from } = this.#options;
    const wanted = programs().flatMap((program) => groupsOf(program).map((group) => ({ group, program })));
    const asked = wanted.map(({ group }) => group);
    const found = await store.runs.unservedGroups({ env, own: stack, stacks: from, programs: asked });
    for (const { id, group } of found) {
      const match = wanted.find((one) => isOf(one.group, group));
      if (match) this.#known.set(id, match.program);
    }
    const before = this.#now;
    this.#now = found.map(({ id }) => id);
    return this.#now.length !== before.length || this.#now.some((id, i) => id !== before[i]);
  }
}

type Of = Pick<RunGroup, "queue" | "program" | "version">;

function groupsOf({ queue, name: program, version }: Program): Of[] {
  const versions = version === null ? [null] : [version, null];
  return versions.map((one) => ({ queue, program, version: one }));
}

function isOf(a: Of, b: Of): boolean {
  return a.queue === b.queue && a.program === b.program && a.version === b.version;
}
