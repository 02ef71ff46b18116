// The types of the admin API for its clients: input and output of every route, errors, and the events of the stream.

import type * as z from "zod";
import type { Permission } from "./permission.js";
import type { ROUTES } from "./routes/index.js";
import type { liveEvents } from "./routes/live.js";

type Table = typeof ROUTES;
export type RouteName = keyof Table;
/** What a client sends: fields of the path, the query or the body in one object. */
export type InputOf<Name extends RouteName> = z.input<Table[Name]["input"]>;
export type OutputOf<Name extends RouteName> = z.output<Table[Name]["output"]>;

/** Every error answer. */
export interface ApiError {
  /** One of docs/errors.md, or one of the API's own: UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, … */
  readonly code: string;
  readonly message: string;
  readonly requestId: string;
  /** Of FORBIDDEN: the permission that is missing. */
  readonly permission?: Permission;
}

export type LiveEvent = { [Name in keyof typeof liveEvents]: z.output<(typeof liveEvents)[Name]> };
export type { Permission };
