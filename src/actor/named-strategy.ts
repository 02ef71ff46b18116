// A strategy known by its name: requested by a definition in the database, found in the node's registry.
//
// An episode keeps the name and the configuration it began with: they are its journal's first entry, so that a
// definition may change while it waits.

import { HoldfastError } from "../kernel/error.js";
import type { EpisodeContext } from "./episode-context.js";
import type { Strategy } from "./strategy.js";

/**
 * By name: the strategies that definitions may use. Functions receive the definition's configuration as third argument.
 */
export type Strategies = Readonly<Record<string, RegisteredStrategy>>;

/** A strategy or function that definitions in the database may name. */
export type RegisteredStrategy =
  // biome-ignore lint/suspicious/noExplicitAny: whatever its definitions bring
  | ((ctx: EpisodeContext, input: any, config: any) => Promise<unknown>)
  // biome-ignore lint/suspicious/noExplicitAny: whatever its definitions bring
  | Strategy<any, any>;

/** What an episode began with. */
export interface Used {
  readonly strategy: string;
  readonly config: unknown;
  /** The version of the definition. */
  readonly version: number;
}

export interface NamedStrategy {
  readonly kind: "named";
  readonly used: Used;
  readonly registry: Strategies;
}

/** The kind of the journal entry. */
export const DEFINITION = "definition";

/** This node was not given the strategy that a definition names. The journal is unchanged: the run is left to a node that has the strategy. */
export class StrategyUnknown extends HoldfastError {
  readonly code = "STRATEGY_UNKNOWN";

  constructor(name: string) {
    super(
      `This node has no strategy ${JSON.stringify(name)}. Give it to createNode({ definitions: { strategies } }), ` +
        "or save the definition with one that it has; an episode that began with it continues on a node that has it.",
    );
  }
}

export function strategyOf({ strategy }: Used, registry: Strategies): RegisteredStrategy {
  const found = Object.hasOwn(registry, strategy) ? registry[strategy] : undefined;
  if (!found) throw new StrategyUnknown(strategy);
  return found;
}
