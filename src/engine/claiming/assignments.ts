// Maps the claim groups of a node to its programs, and its programs to executors by the rules. From which groups it takes runs
// now depends on its mode, and on what waits in other stacks.

import type { RunGroup } from "../../kernel/run/new-run.js";
import type { NodeExecutor } from "../../store/contract/node/nodes.js";
import type { DeclaredProgram } from "../../store/contract/run/runs.js";
import type { NodeParts } from "../node-parts.js";
import type { Program } from "../program.js";
import type { Routing, Served } from "./routing.js";

export interface AssignmentOptions
  extends Pick<NodeParts, "store" | "bus" | "modes" | "env" | "stack" | "incarnation"> {
  readonly programs: readonly Program[];
  /** Which queues it works on, and with which executor. */
  readonly routing: Routing;
  /** Not undefined: executes runs of these other stacks that no node there executes; null: of all stacks. */
  readonly takeDeferred: readonly string[] | null | undefined;
}

export class Assignments {
  readonly #options: AssignmentOptions;
  /** By the number of the group. Includes groups that it no longer claims: the last grant may contain runs of them. */
  readonly #programs = new Map<number, Program>();
  #groupIds: readonly number[] = [];
  #listed: readonly Program[];
  readonly #others: OtherStacks | null;
  readonly #executors = new Map<string, string | null>();
  /** As text: what was last emitted about conflicts that still exist. */
  #conflicts: ReadonlySet<string> = new Set();

  constructor(options: AssignmentOptions) {
    this.#options = options;
    this.#listed = options.programs;
    const { takeDeferred: from } = options;
    this.#others = from === undefined ? null : new OtherStacks({ ...options, programs: () => this.#ours(), from });
  }

  /** Whether a program fails runs whose holder died, even if they had only been claimed. */
  get failsWhatDied(): boolean {
    return this.#listed.some(({ recovery }) => recovery === "fail");
  }

  /** Whether it may hold a run of this program that sleeps: if this process died, a parked one would neither fail nor start over. */
  mayHoldAsleep({ recovery }: Program): boolean {
    return recovery !== "restart" && !this.failsWhatDied;
  }

  /** The programs may change while the node works; `number` applies the change. */
  set programs(programs: readonly Program[]) {
    this.#listed = programs;
  }

  /** Every program of the node, in its order. */
  get all(): readonly Served[] {
    return this.#listed.map((one) => {
      const { name: program, queue, version } = one;
      return { program, queue, version, executor: this.#executorOf(one) };
    });
  }

  /** The groups it claims from, in whatever mode it is. */
  get groups(): readonly RunGroup[] {
    return this.#served().map(({ group }) => group);
  }

  get groupIds(): readonly number[] {
    return this.#groupIds;
  }

  /** Null: this node never had such a program. */
  programOf(groupId: number): Program | null {
    return this.#programs.get(groupId) ?? this.#others?.programOf(groupId) ?? null;
  }

  /** For people: each executor with its slots and the queues it works on. */
  get executors(): readonly NodeExecutor[] {
    const { routing } = this.#options;
    return [...routing.executors].map(([name, slots]) => {
      return { name, slots, queues: [...new Set(this.all.flatMap((one) => (one.executor === name ? one.queue : [])))] };
    });
  }

  /** Numbers the groups: a node is registered with the numbers. */
  async number(): Promise<void> {
    const served = this.#served();
    const ids = await this.#options.store.runs.groupIds(served.map(({ group }) => group));
    for (const [i, id] of ids.entries()) this.#programs.set(id, served[i]!.program);
    this.#groupIds = [...new Set(ids)];
  }

  /** Declares what the programs require of their runs, for callers that start one without the code. Only groups that it takes runs of count. */
  async declare(): Promise<void> {
    const { store, incarnation, bus } = this.#options;
    const declared = this.#served().map(({ program, group }): DeclaredProgram => {
      const { limits, recovery = "resume", cleansUp = false } = program;
      return { group, limits, recovery, cleansUp };
    });
    const told = this.#conflicts;
    const conflicts = await store.runs.declare(incarnation, declared);
    this.#conflicts = new Set(conflicts.map((one) => JSON.stringify(one)));
    for (const conflict of conflicts.filter((one) => !told.has(JSON.stringify(one)))) {
      const { group, ...facts } = conflict;
      const { env: _, ...where } = group;
      bus.emit("program.conflict", { ...where, ...facts });
    }
  }

  /** The groups of which it takes runs now, in its mode; or those of one executor. */
  claimable(executor?: string): readonly number[] {
    return this.#full(this.#others?.now, executor);
  }

  #full(ofOthers: readonly number[] = [], executor?: string): readonly number[] {
    const { modes } = this.#options;
    const isFull = (program: Program) =>
      modes.of(program.name) === "full" && (executor === undefined || this.#executorOf(program) === executor);
    const own = this.#groupIds.filter((id) => isFull(this.#programs.get(id)!));
    const others = ofOthers.filter((id) => isFull(this.programOf(id)!));
    return others.length > 0 ? [...own, ...others] : own;
  }

  /** Whether no run of this group is to begin here: by its mode, or because its stack has a node of its own again. */
  isGivenUp(groupId: number): boolean {
    const program = this.programOf(groupId);
    if (program && this.#options.modes.of(program.name) !== "full") return true;
    return !this.#groupIds.includes(groupId) && (this.#others?.isGivenUp(groupId) ?? false);
  }

  /** Stores which groups this node takes runs of, so that every node can read it. */
  tell(): Promise<void> {
    const { store, incarnation } = this.#options;
    return store.nodes.claimsFrom(incarnation, this.#full(this.#others?.found));
  }

  /**
   * Checks other stacks; returns whether the set of groups to claim from changed. At any time, what is stored contains what is claimed
   * from: a new group is stored before it is used, one that is given up afterwards. `onGivenUp` hands back what has not begun.
   */
  async refreshOtherStacks(onGivenUp: () => void): Promise<boolean> {
    if (!this.#others || !(await this.#others.look())) return false;
    onGivenUp();
    await this.tell();
    this.#others.stored();
    return true;
  }

  /** Patterns are matched once per queue: every claim needs the result. */
  #executorOf({ queue }: Program): string | null {
    let executor = this.#executors.get(queue);
    if (executor === undefined) {
      executor = this.#options.routing.executorOf(queue);
      this.#executors.set(queue, executor);
    }
    return executor;
  }

  #ours(): readonly Program[] {
    return this.#listed.filter((program) => this.#executorOf(program) !== null);
  }

  #served(): readonly { readonly program: Program; readonly group: RunGroup }[] {
    const { env, stack } = this.#options;
    return this.#ours().flatMap((program) => groupsOf(program, env, stack).map((group) => ({ program, group })));
  }
}

/** A run without a stack belongs to any stack, one without a version to any version. */
function groupsOf({ queue, name: program, version }: Program, env: string, stack: string | null): RunGroup[] {
  const stacks = stack === null ? [null] : [stack, null];
  const versions = version === null ? [null] : [version, null];
  return stacks.flatMap((s) => versions.map((v) => ({ env, stack: s, queue, program, version: v })));
}

interface OtherStacksOptions extends Pick<NodeParts, "store" | "env" | "stack"> {
  readonly programs: () => readonly Program[];
  /** Null: all stacks. */
  readonly from: readonly string[] | null;
}

/** Finds groups of other stacks whose runs no node there executes: a node that opted in serves them, too. */
class OtherStacks {
  readonly #options: OtherStacksOptions;
  /** All that were ever found: a run may have been claimed just before its group was given up. */
  readonly #known = new Map<number, Program>();
  #found: readonly number[] = [];
  #now: readonly number[] = [];
  #isStored = true;

  constructor(options: OtherStacksOptions) {
    this.#options = options;
  }

  /** Those of the last look. */
  get found(): readonly number[] {
    return this.#found;
  }

  /** The groups it may claim from now: found, and stored. */
  get now(): readonly number[] {
    return this.#now;
  }

  isGivenUp(groupId: number): boolean {
    return this.#known.has(groupId) && !this.#found.includes(groupId);
  }

  programOf(groupId: number): Program | undefined {
    return this.#known.get(groupId);
  }

  /** Looks again; returns whether there is something to store. Nodes of another stack start and stop. */
  async look(): Promise<boolean> {
    const { store, env, stack, programs, from } = this.#options;
    const wanted = programs().flatMap((program) => groupsOf(program, env, null).map((group) => ({ group, program })));
    const asked = wanted.map(({ group }) => group);
    const found = await store.runs.unservedGroups({ env, own: stack, stacks: from, programs: asked });
    for (const { id, group } of found) {
      const match = wanted.find((one) => isOf(one.group, group));
      if (match) this.#known.set(id, match.program);
    }
    const before = this.#found;
    this.#found = found.map(({ id }) => id);
    if (this.#found.length !== before.length || this.#found.some((id, i) => id !== before[i])) this.#isStored = false;
    this.#now = this.#now.filter((id) => this.#found.includes(id));
    return !this.#isStored;
  }

  stored(): void {
    this.#now = this.#found;
    this.#isStored = true;
  }
}

type Of = Pick<RunGroup, "queue" | "program" | "version">;

function isOf(a: Of, b: Of): boolean {
  return a.queue === b.queue && a.program === b.program && a.version === b.version;
}
