// What a node provides to all its programs.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { Startable } from "./startable.js";

/** What a node passes to its programs, for example a model or a mailer. Declare your own by merging this interface. */
// biome-ignore lint/suspicious/noEmptyInterface: users add to it
export interface Services {}

export interface RunOfServices {
  readonly runId: string;
  readonly program: string;
  readonly input: unknown;
}

/** Creates a child run in the parent's env and stack, with its limits. */
export type NewChild = (program: Omit<Startable, "schema">, input: unknown) => Omit<NewRun, "key" | "parentId">;

export interface Household {
  readonly codecs: Codecs;
  readonly newChild: NewChild;
  readonly historyWarning: number;
  readonly historyLimit: number;
  /** The services for one run: the node's, overlaid with the run's own. */
  readonly servicesFor: (run: RunOfServices) => Promise<Services>;
  readonly onLongHistory: (runId: string, length: number) => void;
}
