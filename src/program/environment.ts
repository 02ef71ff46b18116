// The environment of programs: what a node gives to all of them.

import type { Codecs } from "../kernel/codec/codecs.js";
import { InvalidInput } from "../kernel/error.js";
import type { AttributeChanges } from "../kernel/run/attribute.js";
import type { NewRun } from "../kernel/run/new-run.js";
import type { OutputCall } from "../store/contract/run/outputs.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Emitted } from "../trigger/emitted.js";
import type { StartOptions } from "./start-options.js";
import type { Startable } from "./startable.js";

/** What a node passes to its programs, for example a model or a mailer. Declare your own by merging this interface. */
// biome-ignore lint/suspicious/noEmptyInterface: users add to it
export interface Services {}

/** The run that `services` is called for. */
export interface RunOfServices {
  /** The id of the run. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** Its input. */
  readonly input: unknown;
}

/** Creates a child run in the parent's env and stack, with its limits. */
export type NewChild = (program: Omit<Startable, "schema">, input: unknown) => Omit<NewRun, "key" | "parentId">;

/** What a run writes outside its own journal, in the transaction of a step: the fence of the step's commit covers it. */
export interface RunWrites {
  /** Returns the id of the run that was started, or that has the key. */
  start(program: Omit<Startable, "schema">, input: unknown, options: StartOptions, tx: Transaction): Promise<string>;
  emit(event: string, payload: object, id: string, tx: Transaction): Promise<Emitted>;
  setAttributes(runId: string, attributes: AttributeChanges, tx: Transaction): Promise<void>;
  /** Null: the key is this call's. Otherwise the run whose call has it. */
  takeOutput(call: Omit<OutputCall, "env">, tx: Transaction): Promise<string | null>;
}

/** What only some kinds of program need, found by its class: the node provides it, and only those programs know it. */
export class Parts {
  readonly #values = new Map<unknown, object>();

  with(part: object): this {
    this.#values.set(part.constructor, part);
    return this;
  }

  get<T extends object>(kind: new (...args: never[]) => T): T {
    const part = this.#values.get(kind);
    if (!(part instanceof kind)) throw new InvalidInput("environment", `has no ${kind.name}`);
    return part;
  }
}

export interface ProgramEnvironment {
  readonly codecs: Codecs;
  readonly parts: Parts;
  readonly newChild: NewChild;
  readonly writes: RunWrites;
  readonly historyWarning: number;
  readonly historyLimit: number;
  /** The services for one run. */
  readonly servicesFor: (run: RunOfServices) => Services | Promise<Services>;
  readonly onLongHistory: (runId: string, length: number) => void;
}
