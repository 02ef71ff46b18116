// What a node serves: its programs by the numbers of their claim groups, and of which of them it takes runs now.

import type { RunGroup } from "../kernel/new-run.js";
import type { DeclaredProgram } from "../store/contract/runs.js";
import type { Store } from "../store/contract/store.js";
import type { Modes } from "./modes.js";
import { OtherStacks } from "./other-stacks.js";
import type { Program } from "./program.js";

export interface ServedOptions {
  readonly store: Store;
  readonly programs: readonly Program[];
  readonly env: string;
  readonly stack: string | null;
  readonly incarnation: string;
  readonly modes: Modes;
  /** Not undefined: works on what waits in these other stacks and is worked on by nobody there; null: in all. */
  readonly takeDeferred: readonly string[] | null | undefined;
}

export class Served {
  readonly #options: ServedOptions;
  readonly #programs = new Map<number, Program>();
  readonly #others: OtherStacks | null;

  constructor(options: ServedOptions) {
    this.#options = options;
    const { takeDeferred: from } = options;
    this.#others = from === undefined ? null : new OtherStacks({ ...options, from });
  }

  /** All its groups, in whatever mode it is. */
  get ids(): readonly number[] {
    return [...this.#programs.keys()];
  }

  /** The groups of its programs are numbered, and what they ask of their runs is told to all. */
  async declare(): Promise<readonly RunGroup[]> {
    const { store, programs, env, stack } = this.#options;
    const served = programs.flatMap((program) => groupsOf(program, env, stack).map((group) => ({ program, group })));
    const groups = served.map(({ group }) => group);
    const ids = await store.runs.groupIds(groups);
    for (const [i, id] of ids.entries()) this.#programs.set(id, served[i]!.program);
    await store.runs.declare(
      served.map(
        ({ program: { limits, recovery = "resume" }, group }): DeclaredProgram => ({ group, limits, recovery }),
      ),
    );
    return groups;
  }

  programOf(groupId: number): Program {
    return (this.#programs.get(groupId) ?? this.#others?.programOf(groupId))!;
  }

  /** Whether a hint for these groups is for this node. */
  concerns(groupIds: readonly number[]): boolean {
    return groupIds.some((id) => this.#programs.has(id) || this.#others?.now.includes(id));
  }

  /** The groups of which it takes runs now, in its mode. */
  claimable(): readonly number[] {
    const { modes } = this.#options;
    const isFull = (program: Program) => modes.of(program.name) === "full";
    const own = [...this.#programs].filter(([, program]) => isFull(program)).map(([id]) => id);
    const others = this.#others?.now.filter((id) => isFull(this.programOf(id))) ?? [];
    return others.length > 0 ? [...own, ...others] : own;
  }

  /** Everybody can see of which groups this node takes runs. */
  tell(): Promise<void> {
    const { store, incarnation } = this.#options;
    return store.nodes.claimsFrom(incarnation, this.claimable());
  }

  /** Looks after other stacks; answers whether there is another group to claim from, or one less. */
  async lookAround(): Promise<boolean> {
    if (!this.#others || !(await this.#others.look())) return false;
    await this.tell();
    return true;
  }
}

/** A run without a stack belongs to any stack, one without a version to any version. */
function groupsOf({ queue, name: program, version }: Program, env: string, stack: string | null): RunGroup[] {
  const stacks = stack === null ? [null] : [stack, null];
  const versions = version === null ? [null] : [version, null];
  return stacks.flatMap((s) => versions.map((v) => ({ env, stack: s, queue, program, version: v })));
}
