// What a node reports of a program: its kind, what it looks like, and the JSON Schema of its input.

import type { Program } from "../engine/program.js";
import type { ProgramFacts } from "../store/contract/node/programs.js";
import type { AnyDefinition } from "./definition.js";

/** As the store takes them; a longer one is not reported. */
const LONGEST = 256 * 1024;

/** Of the definition, and of each program that is claimed for it: tasks, expectations, effects. */
export function factsOf(definition: AnyDefinition, served: readonly Program[]): readonly ProgramFacts[] {
  const { name, kind, shape, schema } = definition;
  const own = { name, kind, shape: textOf(() => shape?.()), inputSchema: textOf(() => jsonSchemaOf(schema)) };
  const parts = served.filter((one) => one.name !== name);
  return [own, ...parts.map((one) => ({ name: one.name, kind: one.kind, shape: null, inputSchema: null }))];
}

/** Null also for what cannot be written as JSON: a program starts without a picture. */
function textOf(read: () => unknown): string | null {
  try {
    const value = read();
    if (typeof value !== "object" || value === null) return null;
    const text = JSON.stringify(value);
    return text.length <= LONGEST ? text : null;
  } catch {
    return null;
  }
}

/** Libraries that implement Standard JSON Schema describe their input themselves. */
function jsonSchemaOf(schema: AnyDefinition["schema"]): unknown {
  const { jsonSchema } = (schema?.["~standard"] ?? {}) as {
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => unknown };
  };
  return jsonSchema?.input({ target: "draft-2020-12" });
}
