// Every migration in order. A released one is never edited.

import type { Dialect } from "../connection/dialect.js";
import { ground } from "./0001-ground.js";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: (dialect: Dialect) => string;
}

export const MIGRATIONS: readonly Migration[] = [ground];

/** The oldest release that may use the newest schema. A release works with its own schema and with later ones that name it here. */
export const OLDEST_PACKAGE = "0.1.0";
