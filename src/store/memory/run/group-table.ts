// All known combinations of env, stack, queue, program and version, each with its number.

import type { LimitRule } from "../../../kernel/limit-rule.js";
import type { RunGroup } from "../../../kernel/run/new-run.js";
import type { Recovery } from "../../../kernel/run/recovery.js";
import { joinKey } from "../table/names.js";

/** What was declared for a group, by which node, and when that node started. */
export interface Declared {
  readonly limits: readonly LimitRule[];
  readonly recovery: Recovery;
  readonly cleansUp: boolean;
  readonly by: string;
  readonly startedAtUs: number;
}

/** The part of a declaration in which two nodes may differ. */
export function declaredText({ limits, recovery }: Pick<Declared, "limits" | "recovery">): string {
  return `${JSON.stringify(limits)} ${recovery}`;
}

export class GroupTable {
  readonly #ids = new Map<string, number>();
  readonly #groups: RunGroup[] = [];
  readonly #declared = new Map<number, Declared>();

  idOf(group: RunGroup): number {
    const { env, stack, queue, program, version } = group;
    const key = joinKey(env, stack, queue, program, version);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#groups.push(copyGroup(group));
    this.#ids.set(key, id);
    return id;
  }

  declare(id: number, declared: Declared): void {
    this.#declared.set(id, structuredClone(declared));
  }

  declaredFor(id: number): Declared | null {
    return this.#declared.get(id) ?? null;
  }

  recoveryOf(id: number): Recovery | null {
    return this.#declared.get(id)?.recovery ?? null;
  }

  cleansUp(id: number): boolean {
    return this.#declared.get(id)?.cleansUp === true;
  }

  limitsOf(group: RunGroup): readonly LimitRule[] {
    return structuredClone(this.#declared.get(this.idOf(group))?.limits ?? []);
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
