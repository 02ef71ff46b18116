// One route as a value: method, path, permission, input and output. Router, checks, OpenAPI document and client types come from it.

import * as z from "zod";
import type { Permission } from "./permission.js";

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";

export interface Route<In extends z.ZodType = z.ZodType, Out extends z.ZodType = z.ZodType> {
  readonly method: HttpMethod;
  /** Under `/api/v1`; `:name` is a field of the input. */
  readonly path: string;
  /** Any one of these is enough; empty: every request that the server accepts. */
  readonly may: readonly Permission[];
  /** One sentence for the documents. */
  readonly says: string;
  /** Fields of the path, then of the query (GET, DELETE) or of the JSON body. Unknown fields are refused. */
  readonly input: In;
  /** Fields that are not listed here never leave the server. */
  readonly output: Out;
  /** Not JSON: an event stream. */
  readonly streams?: true;
}

export type AnyRoute = Route;
export type Routes = Readonly<Record<string, AnyRoute>>;

/** Keeps the exact types of a route. */
export function route<In extends z.ZodType, Out extends z.ZodType>(one: Route<In, Out>): Route<In, Out> {
  return one;
}

/** An instant as ISO 8601 in UTC. */
export const time = z.string();
/** Filter values such as `2026-11-17T10:00:00Z`; relative ones such as `-1h` are replaced by the page. */
export const instant = z.iso.datetime({ offset: true });
export const name = z.string().min(1).max(300);
export const id = z.uuid();
export const env = z.string().min(1).max(100).optional();
export const limit = z.coerce.number().int().min(1).max(200).default(50);
export const note = z.string().max(2000).optional();
/** Any JSON value. */
export const json = z.unknown();

/** A filter that may be repeated: `a,b` in a query, or a list in a body. */
export function many<One extends z.ZodType>(one: One): z.ZodType<z.output<One>[], z.input<One>[]> {
  const list = z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), z.array(one).max(100));
  return list as unknown as z.ZodType<z.output<One>[], z.input<One>[]>;
}

/** `true` and `false` in a query. */
export const flag = z.preprocess(
  (value) => (value === "true" ? true : value === "false" ? false : value),
  z.boolean(),
) as unknown as z.ZodType<boolean, boolean>;

/** A page of rows; `next` is the `before` of the following page. */
export function pageOf<One extends z.ZodType>(one: One) {
  return z.object({ rows: z.array(one), next: z.string().nullable() });
}

/** Counted up to a bound: `atLeast` means that there are more. */
export const counted = z.object({ n: z.number(), atLeast: z.boolean() });
/** The store's answer to a verb, as it is. */
export const outcome = z.object({ outcome: z.string() });
