// What the parts of a client need, for one call of the command line.

import { GraphRuns } from "../client/graph/graph-runs.js";
import { Runs } from "../client/runs.js";
import { codecs } from "../kernel/codec/codecs.js";
import { withDefaults } from "../kernel/setting/setting-options.js";
import type { Call } from "./command.js";

export async function clientPlace(call: Call) {
  const { world, env } = call;
  const { crashLimit } = withDefaults({});
  return { store: await call.store(), codecs: codecs(), world, env, stack: null, crashLimit };
}

/** Needs no code of the graph: the run names its program. */
export async function openGraphs(call: Call): Promise<GraphRuns> {
  const place = await clientPlace(call);
  return new GraphRuns(place, new Runs(place));
}
