// All planted bugs, by the part they are planted in.

import { actors } from "./actors.js";
import { admin } from "./admin.js";
import { cancelling } from "./cancelling.js";
import { chaos } from "./chaos.js";
import { commandLine } from "./command-line.js";
import { dags } from "./dag.js";
import { deploying } from "./deploying.js";
import { ecosystem } from "./ecosystem.js";
import { engine } from "./engine.js";
import { faults } from "./faults.js";
import { flow } from "./flow.js";
import { graph } from "./graph.js";
import { graphAgents } from "./graph-agents.js";
import { ground } from "./ground.js";
import { growth } from "./growth.js";
import { loop } from "./loop.js";
import { machines } from "./machine.js";
import { machineCharts } from "./machine-charts.js";
import { modes } from "./modes.js";
import type { Mutant } from "./mutant.js";
import { node } from "./node.js";
import { ownership } from "./ownership.js";
import { poison } from "./poison.js";
import { replay } from "./replay.js";
import { retention } from "./retention.js";
import { rights } from "./rights.js";
import { routing } from "./routing.js";
import { sessions } from "./sessions.js";
import { stopping } from "./stopping.js";
import { testing } from "./testing.js";
import { timeouts } from "./timeouts.js";
import { triggersEvents } from "./triggers-events.js";
import { schedules } from "./triggers-schedules.js";
import { triggersSimulated } from "./triggers-simulated.js";

export const MUTANTS: readonly Mutant[] = [
  ...ground,
  ...loop,
  ...engine,
  ...replay,
  ...node,
  ...ownership,
  ...rights,
  ...retention,
  ...stopping,
  ...cancelling,
  ...sessions,
  ...routing,
  ...flow,
  ...schedules,
  ...triggersEvents,
  ...triggersSimulated,
  ...timeouts,
  ...dags,
  ...graph,
  ...graphAgents,
  ...machines,
  ...machineCharts,
  ...actors,
  ...chaos,
  ...poison,
  ...modes,
  ...growth,
  ...deploying,
  ...testing,
  ...admin,
  ...commandLine,
  ...faults,
  ...ecosystem,
];
