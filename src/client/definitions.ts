// Definitions for users: saved, switched on and off, listed, removed. What is wrong with one is told before it is saved.

import { actorOf } from "../actor/definition-body.js";
import { HoldfastError } from "../kernel/error.js";
import { isEnded, RUN_STATES } from "../kernel/run-state.js";
import type { DefinitionKind, DefinitionRecord } from "../store/contract/definitions.js";
import type { Store } from "../store/contract/store.js";

export interface DefinitionInfo extends Omit<DefinitionRecord, "body" | "env"> {
  readonly body: Readonly<Record<string, unknown>>;
}

export interface SaveOptions {
  readonly kind?: DefinitionKind;
  readonly by?: string;
  /** Only over this version; 0: only when there is none yet. */
  readonly over?: number;
}

/** Somebody has saved another version meanwhile. */
export class DefinitionConflict extends HoldfastError {
  readonly code = "DEFINITION_CONFLICT";
  readonly version: number;

  constructor(name: string, version: number) {
    const found = version === 0 ? "there is none" : `version ${version} is there`;
    super(`The definition of ${JSON.stringify(name)} was not saved: ${found}. Read it again, then save.`);
    this.version = version;
  }
}

/** Runs of it have not ended: without it, nobody could go on with them. */
export class DefinitionInUse extends HoldfastError {
  readonly code = "DEFINITION_IN_USE";

  constructor(name: string, live: number) {
    super(
      `${live} runs of ${JSON.stringify(name)} have not ended. Switch it off, wait for them or cancel them, then remove it.`,
    );
  }
}

export interface Definitions {
  /** Refuses what no node could work on. Answers the version. Nodes load it within seconds, without a restart. */
  save(name: string, body: object, options?: SaveOptions): Promise<number>;
  /** Its triggers start runs again. */
  enable(name: string, options?: Omit<SaveOptions, "over">): Promise<boolean>;
  /** Nothing starts it any more; what it has begun goes on. */
  disable(name: string, options?: Omit<SaveOptions, "over">): Promise<boolean>;
  /** Refused with DefinitionInUse while runs of it have not ended. */
  remove(name: string, options?: Pick<SaveOptions, "kind">): Promise<void>;
  list(): Promise<readonly DefinitionInfo[]>;
}

const LIVE = RUN_STATES.filter((state) => !isEnded(state));

export function definitionsIn(store: Store, env: string, who: string): Definitions {
  const { definitions } = store;
  const named = (name: string, kind: DefinitionKind = "actor") => ({ env, kind, name });
  const programsOf = async (name: string, kind: DefinitionKind = "actor") => {
    const listed = (await definitions.list(env)).definitions ?? [];
    const record = listed.find((one) => one.kind === kind && one.name === name);
    return record ? namesIn(record) : [];
  };
  return {
    async save(name, body, { kind, by = who, over } = {}) {
      const text = JSON.stringify(body);
      checkBody({ ...named(name, kind), body: text });
      const expected = over === undefined ? {} : { expectedVersion: over };
      const answer = await definitions.save({ ...named(name, kind), body: text, by, ...expected });
      if (answer.outcome === "conflict") throw new DefinitionConflict(name, answer.version);
      return answer.version;
    },
    enable: (name, { kind, by = who } = {}) => definitions.enable(named(name, kind), true, by),
    disable: (name, { kind, by = who } = {}) => definitions.enable(named(name, kind), false, by),
    async remove(name, { kind } = {}) {
      let live = 0;
      for (const program of await programsOf(name, kind)) {
        const counts = await store.runs.count({ env, program, states: LIVE });
        live += Object.values(counts).reduce((sum, n) => sum + n, 0);
      }
      if (live > 0) throw new DefinitionInUse(name, live);
      await definitions.remove(named(name, kind));
    },
    async list() {
      const { definitions: records } = await definitions.list(env);
      return (records ?? []).map(({ env: _, body, ...record }) => ({ ...record, body: JSON.parse(body) }));
    },
  };
}

/** Strategies are the nodes' affair: whoever saves need not have the code. */
function checkBody({ name, body }: Pick<DefinitionRecord, "name" | "body">): void {
  actorOf(name, JSON.parse(body), { version: 0, enabled: true, strategies: null });
}

function namesIn({ name, body }: DefinitionRecord): string[] {
  const actor = actorOf(name, JSON.parse(body), { version: 0, enabled: true, strategies: null });
  return Object.values(actor.expectations).map((one) => one.name);
}
