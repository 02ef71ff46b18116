// Shared parts of the commands for graph runs. They need no code of the graph: the run names its program.

import { GraphRuns } from "../client/graph-runs.js";
import { Runs } from "../client/runs.js";
import { codecs } from "../kernel/codec/codecs.js";
import { withDefaults } from "../kernel/setting/setting-options.js";
import type { Store } from "../store/contract/store.js";
import type { Call } from "./command.js";
import { CommandMisused } from "./error.js";
import { textOption } from "./options.js";

export function openGraphs(call: Call, store: Store): GraphRuns {
  const { world, env } = call;
  const place = { store, codecs: codecs(), world, env, stack: null, crashLimit: withDefaults({}).crashLimit };
  return new GraphRuns(place, new Runs(place));
}

/** State fields, from `--state '{"topic":"tea"}'`. */
export function stateOption({ values }: Call): object | undefined {
  const json = textOption(values, "state");
  if (json === undefined) return undefined;
  let state: unknown;
  try {
    state = JSON.parse(json);
  } catch {
    throw new CommandMisused(`--state is not valid JSON. Write it like '{"topic":"tea"}'.`);
  }
  if (typeof state !== "object" || state === null || Array.isArray(state))
    throw new CommandMisused(`--state sets fields: write an object like '{"topic":"tea"}'.`);
  return state;
}
