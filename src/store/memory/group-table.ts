// The combinations of env, stack, queue, program and version that were ever seen, each with its number.

import type { RunGroup } from "../../kernel/new-run.js";
import { joinKey } from "./join-key.js";

export class GroupTable {
  readonly #ids = new Map<string, number>();

  idOf({ env, stack, queue, program, version }: RunGroup): number {
    const key = joinKey(env, stack, queue, program, version);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#ids.size + 1;
    this.#ids.set(key, id);
    return id;
  }
}

export function copyGroup({ env, stack, queue, program, version }: RunGroup): RunGroup {
  return { env, stack: stack ?? null, queue, program, version: version ?? null };
}
