// A strategy that is known by its name: what a definition in the database asks for, found in the node's registry.
//
// An episode keeps the name and the configuration it began with: they are its journal's first entry, so that a definition
// may change while it waits.

import { HoldfastError } from "../kernel/error.js";
import type { EpisodeContext } from "./episode-context.js";
import type { Strategy } from "./strategy.js";

/** By name: what definitions may ask for. Functions get the definition's configuration as their third argument. */
export type Strategies = Readonly<Record<string, RegisteredStrategy>>;

export type RegisteredStrategy =
  // biome-ignore lint/suspicious/noExplicitAny: whatever its definitions bring
  | ((ctx: EpisodeContext, input: any, config: any) => Promise<unknown>)
  // biome-ignore lint/suspicious/noExplicitAny: whatever its definitions bring
  | Strategy<any, any>;

/** What an episode began with. */
export interface Used {
  readonly strategy: string;
  readonly config: unknown;
  /** Of the definition. */
  readonly version: number;
}

export interface NamedStrategy {
  readonly kind: "named";
  readonly used: Used;
  readonly registry: Strategies;
}

/** The entry of the journal. */
export const DEFINITION = "definition";

/** The log is untouched: the run is left to a node that knows its strategy. */
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
