// Definitions for users: save, enable, disable, list, remove, start. A definition is validated before it is saved.

import { NOTHING_KNOWN, programNames, readDefinition } from "../actor/read-definition.js";
import { HoldfastError, InvalidInput } from "../kernel/error.js";
import { isEnded, RUN_STATES } from "../kernel/run/run-state.js";
import type { AnyDefinition } from "../program/definition.js";
import type { DefinitionKind, DefinitionName, DefinitionRecord } from "../store/contract/definition/definitions.js";
import type { Store } from "../store/contract/store.js";

/** A definition as it is stored: its name, kind, version and body. */
export interface DefinitionInfo extends Omit<DefinitionRecord, "body" | "env"> {
  /** The definition itself, as data. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Names the kind where an actor and a DAG have the same name. */
export interface OfKind {
  /** An actor or a DAG. @default the kind in the body, or the kind under which the name is found */
  readonly kind?: DefinitionKind;
}

/** Options of `definitions.save`. */
export interface SaveOptions extends OfKind {
  /** Who saves it; recorded with the version. @default the name of the node, or `client` */
  readonly by?: string;
  /** Save only over this version; 0: only if none exists yet. */
  readonly over?: number;
}

/** Another version was saved meanwhile. */
export class DefinitionConflict extends HoldfastError {
  readonly code = "DEFINITION_CONFLICT";
  /** The version that is stored now; 0 when there is none. */
  readonly version: number;

  constructor(name: string, version: number) {
    const found = version === 0 ? "it does not exist" : `its current version is ${version}`;
    super(`The definition of ${JSON.stringify(name)} was not saved: ${found}. Read it again, then save.`);
    this.version = version;
  }
}

/** Runs of the definition have not ended. */
export class DefinitionInUse extends HoldfastError {
  readonly code = "DEFINITION_IN_USE";

  constructor(name: string, live: number) {
    super(
      `${live} runs of ${JSON.stringify(name)} have not ended. Disable the definition, wait for the runs or cancel them, then remove it.`,
    );
  }
}

/** The definition does not exist, or it is disabled. */
export class DefinitionUnavailable extends HoldfastError {
  readonly code = "DEFINITION_UNAVAILABLE";

  constructor(name: string, problem: "none" | "off") {
    const what = JSON.stringify(name);
    super(
      problem === "off"
        ? `The definition of ${what} is disabled. Enable it, then start it.`
        : `No definition has a program ${what}. List the definitions with definitions.list(); an expectation is named "actor::name".`,
    );
  }
}

/** Stores actors and DAGs as data, for nodes with the option `definitions`. */
export interface Definitions {
  /**
   * Rejects a body that no node could execute. Returns the version. Nodes load it within seconds, without a restart.
   */
  save(name: string, body: object, options?: SaveOptions): Promise<number>;
  /** Its triggers start runs again. */
  enable(name: string, options?: Omit<SaveOptions, "over">): Promise<boolean>;
  /** Nothing starts the program any more; runs that have begun continue. */
  disable(name: string, options?: Omit<SaveOptions, "over">): Promise<boolean>;
  /** Fails with DefinitionInUse while runs of it have not ended. */
  remove(name: string, options?: OfKind): Promise<void>;
  /** All definitions of the env in their newest versions. */
  list(): Promise<readonly DefinitionInfo[]>;
  /** For `start`: the DAG of that name, or an actor's expectation (`actor::name`), as currently defined. */
  program(name: string): Promise<AnyDefinition>;
}

const LIVE = RUN_STATES.filter((state) => !isEnded(state));

export function definitionsIn(store: Store, env: string, who: string): Definitions {
  const { definitions } = store;
  const records = async () => (await definitions.list(env)).definitions ?? [];
  const found = async (name: string, kind: DefinitionKind | undefined): Promise<DefinitionRecord | null> => {
    const [one, other] = (await records()).filter((record) => record.name === name && kind !== otherThan(record.kind));
    if (other) throw new InvalidInput("kind", `must be given: ${JSON.stringify(name)} is an actor and a DAG`);
    return one ?? null;
  };
  const enable = async (name: string, enabled: boolean, { kind, by = who }: Omit<SaveOptions, "over"> = {}) => {
    const record = await found(name, kind);
    return record !== null && definitions.enable(named(record), enabled, by);
  };
  return {
    async save(name, body, { kind = kindOf(body), by = who, over } = {}) {
      const text = JSON.stringify(body);
      const programs = programNames(readDefinition({ kind, name, version: 0, body: text }, NOTHING_KNOWN));
      const expected = over === undefined ? {} : { expectedVersion: over };
      const answer = await definitions.save({ env, kind, name, body: text, programs, by, ...expected });
      if (answer.outcome === "conflict") throw new DefinitionConflict(name, answer.version);
      return answer.version;
    },
    enable: (name, options) => enable(name, true, options),
    disable: (name, options) => enable(name, false, options),
    async remove(name, { kind } = {}) {
      const record = await found(name, kind);
      if (!record) return;
      let live = 0;
      for (const program of programNames(readDefinition(record, NOTHING_KNOWN))) {
        const counts = await store.runs.count({ env, program, states: LIVE });
        live += Object.values(counts).reduce((sum, n) => sum + n, 0);
      }
      if (live > 0) throw new DefinitionInUse(name, live);
      await definitions.remove(named(record));
    },
    list: async () => (await records()).map(({ env: _, body, ...record }) => ({ ...record, body: JSON.parse(body) })),
    async program(name) {
      for (const record of await records()) {
        const program = readDefinition(record, NOTHING_KNOWN).find((one) => one.name === name);
        if (program && !record.enabled) throw new DefinitionUnavailable(name, "off");
        if (program) return program;
      }
      throw new DefinitionUnavailable(name, "none");
    },
  };
}

function named({ env, kind, name }: DefinitionRecord): DefinitionName {
  return { env, kind, name };
}

function otherThan(kind: DefinitionKind): DefinitionKind {
  return kind === "actor" ? "dag" : "actor";
}

function kindOf(body: unknown): DefinitionKind {
  return typeof body === "object" && body !== null && "tasks" in body ? "dag" : "actor";
}
