// The scope of uniqueness: a trigger or a key starts one run per env, or one per stack.
//
// A key consists of env, scope and key. Only a key per stack names the stack, in its scope.

import { InvalidInput } from "./error.js";

/** `env`: one run, whichever stack is first. `stack`: one run in each stack. */
export type Per = "env" | "stack";

/** @default env */
export function perOf(per: Per | undefined, path = "per"): Per {
  if (per === undefined) return "env";
  if (per === "env" || per === "stack") return per;
  throw new InvalidInput(path, `must be "env" or "stack"; it is ${JSON.stringify(per)}`);
}

/** The scope of a program's own keys: `report`; per stack `report in blue`, and `report in ` where there is no stack. */
export function programScope(program: string, per: Per, stack: string | null): string {
  return per === "env" ? program : `${program} in ${stack ?? ""}`;
}
