// The environment of programs: what a node gives to all of them.

import type { Codecs } from "../kernel/codec/codecs.js";
import { InvalidInput } from "../kernel/error.js";
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

/** Names something that only some kinds of program need. It is declared where it is used, and provided by the node. */
export interface Part<T> {
  readonly name: string;
  /** Never set: carries the type of its value. */
  readonly type?: T;
}

export class Parts {
  readonly #values = new Map<Part<unknown>, unknown>();

  with<T>(part: Part<T>, value: T): this {
    this.#values.set(part, value);
    return this;
  }

  get<T>(part: Part<T>): T {
    if (!this.#values.has(part)) throw new InvalidInput("environment", `has no ${part.name}`);
    return this.#values.get(part) as T;
  }
}

export interface ProgramEnvironment {
  readonly codecs: Codecs;
  readonly parts: Parts;
  readonly newChild: NewChild;
  readonly historyWarning: number;
  readonly historyLimit: number;
  /** The services for one run: the node's, with the run's own over them. */
  readonly servicesFor: (run: RunOfServices) => Promise<Services>;
  readonly onLongHistory: (runId: string, length: number) => void;
}
