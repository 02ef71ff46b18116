// A form from the JSON Schema of an input: simple fields as inputs, everything else as JSON. Pure.

import type { JsonSchema } from "../live/model.js";
import type { Field } from "./field.js";

/** Null: the schema has no simple fields, and the whole input is written as JSON. */
export function fieldsOf(schema: JsonSchema | null | undefined): readonly Field[] | null {
  const properties = Object.entries(schema?.properties ?? {});
  if (schema?.type !== "object" || properties.length === 0) return null;
  return properties.map(([name, one]) => fieldOf(name, one, schema.required?.includes(name) ?? false));
}

function fieldOf(name: string, one: JsonSchema, required: boolean): Field {
  const given =
    one.default === undefined ? undefined : typeof one.default === "string" ? one.default : JSON.stringify(one.default);
  const base = { name: `input.${name}`, label: required ? `${name} (required)` : name, required };
  const more = {
    ...(given !== undefined && { value: given }),
    ...(one.description !== undefined && { help: one.description }),
  };
  if (one.enum !== undefined)
    return { ...base, ...more, kind: "choice", choices: [...(required ? [] : [""]), ...one.enum.map(String)] };
  if (one.type === "boolean") return { ...base, kind: "check", ...(one.default === true && { value: "on" }) };
  if (one.type === "number" || one.type === "integer") return { ...base, ...more, kind: "number" };
  return { ...base, ...more, kind: one.type === "string" ? "text" : "json" };
}

/** The input that the values of the form describe. */
export function inputOf(
  schema: JsonSchema,
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const pairs = Object.entries(schema.properties ?? {}).flatMap(([name, one]): [string, unknown][] => {
    const text = values[`input.${name}`];
    if (one.type === "boolean") return text === "on" || schema.required?.includes(name) ? [[name, text === "on"]] : [];
    if (text === undefined || text.trim() === "") return [];
    if (one.enum !== undefined) return [[name, one.enum.find((value) => String(value) === text)]];
    if (one.type === "string") return [[name, text]];
    return [[name, JSON.parse(text)]];
  });
  return Object.fromEntries(pairs);
}
