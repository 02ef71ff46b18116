// What a node gives to all its programs.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { Startable } from "./startable.js";

/** What a node hands to its programs, for example a model or a mailer. Declare your own by merging this interface. */
// biome-ignore lint/suspicious/noEmptyInterface: users add to it
export interface Services {}

export interface RunOfServices {
  readonly runId: string;
  readonly program: string;
  readonly input: unknown;
}

/** Makes the run of a child in the parent's world: its env, stack and limits. */
export type NewChild = (program: Omit<Startable, "schema">, input: unknown) => Omit<NewRun, "key" | "parentId">;

export interface Household {
  readonly codecs: Codecs;
  readonly newChild: NewChild;
  readonly historyWarning: number;
  readonly historyLimit: number;
  /** The services for one run. */
  readonly servicesFor: (run: RunOfServices) => Promise<Services>;
  readonly onLongHistory: (runId: string, length: number) => void;
}
