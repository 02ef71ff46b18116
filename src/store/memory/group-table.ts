// The combinations of env, stack, queue, program and version that were ever seen, each with its number.

import type { LimitRule } from "../../kernel/limit-rule.js";
import type { RunGroup } from "../../kernel/new-run.js";
import type { Recovery } from "../../kernel/recovery.js";
import { joinKey } from "./join-key.js";

export class GroupTable {
  readonly #ids = new Map<string, number>();
  readonly #groups: RunGroup[] = [];
  readonly #limits = new Map<number, readonly LimitRule[]>();
  readonly #recoveries = new Map<number, Recovery>();

  idOf(group: RunGroup): number {
    const { env, stack, queue, program, version } = group;
    const key = joinKey(env, stack, queue, program, version);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#groups.push(copyGroup(group));
    this.#ids.set(key, id);
    return id;
  }

  declare(group: RunGroup, limits: readonly LimitRule[], recovery: Recovery): void {
    this.#limits.set(this.idOf(group), structuredClone(limits));
    this.#recoveries.set(this.idOf(group), recovery);
  }

  recoveryOf(id: number): Recovery | null {
    return this.#recoveries.get(id) ?? null;
  }

  limitsOf(group: RunGroup): readonly LimitRule[] {
    return structuredClone(this.#limits.get(this.idOf(group)) ?? []);
  }

  all(): { readonly id: number; readonly group: RunGroup }[] {
    return this.#groups.map((group, i) => ({ id: i + 1, group }));
  }

  groupOf(id: number): RunGroup | undefined {
    return this.#groups[id - 1];
  }
}

export function copyGroup({ env, stack, queue, program, version }: RunGroup): RunGroup {
  return { env, stack: stack ?? null, queue, program, version: version ?? null };
}
