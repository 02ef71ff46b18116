// Of what there is one: what a trigger or a key starts is there once for its env, or once for each of its stacks.
//
// A key is env, scope and key. No part of it names a stack, unless that was asked for: then the scope does.

import { InvalidInput } from "./error.js";

/** `env`: one run, whichever stack asks first. `stack`: each stack has its own. */
export type Per = "env" | "stack";

/** Not given: env. */
export function perOf(per: Per | undefined, path = "per"): Per {
  if (per === undefined) return "env";
  if (per === "env" || per === "stack") return per;
  throw new InvalidInput(path, `must be "env" or "stack"; it is ${JSON.stringify(per)}`);
}

/** The scope of a program's own keys: `report`; per stack `report in blue`, and `report in ` where there is no stack. */
export function programScope(program: string, per: Per, stack: string | null): string {
  return per === "env" ? program : `${program} in ${stack ?? ""}`;
}
