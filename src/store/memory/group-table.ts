// The combinations of env, stack, queue, program and version that were ever seen, each with its number.

import type { LimitRule } from "../../kernel/limit-rule.js";
import type { RunGroup } from "../../kernel/new-run.js";
import { joinKey } from "./join-key.js";

export class GroupTable {
  readonly #ids = new Map<string, number>();
  readonly #groups: RunGroup[] = [];
  readonly #limits = new Map<number, readonly LimitRule[]>();

  idOf(group: RunGroup): number {
    const { env, stack, queue, program, version } = group;
    const key = joinKey(env, stack, queue, program, version);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#groups.push(copyGroup(group));
    this.#ids.set(key, id);
    return id;
  }

  declare(group: RunGroup, limits: readonly LimitRule[]): void {
    this.#limits.set(this.idOf(group), structuredClone(limits));
  }

  limitsOf(group: RunGroup): readonly LimitRule[] {
    return structuredClone(this.#limits.get(this.idOf(group)) ?? []);
  }

  groupOf(id: number): RunGroup | undefined {
    return this.#groups[id - 1];
  }
}

export function copyGroup({ env, stack, queue, program, version }: RunGroup): RunGroup {
  return { env, stack: stack ?? null, queue, program, version: version ?? null };
}
