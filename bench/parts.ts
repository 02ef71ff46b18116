// The benchmarks of single parts: each against limits of its own, without peers.

import { benchActors } from "./actors.js";
import { benchCapacity } from "./capacity.js";
import { benchDag } from "./dag.js";
import { benchDashboard } from "./dashboard.js";
import { benchEveryday } from "./everyday.js";
import { benchGraph } from "./graph.js";
import { benchLane } from "./lane.js";
import { benchMachine } from "./machine.js";
import { benchRecovery } from "./recovery.js";
import type { Server } from "./server.js";
import { benchTakeover } from "./takeover.js";
import { benchTriggers } from "./triggers.js";
import { benchWorkflow } from "./workflow.js";

export interface PartOptions {
  readonly quick: boolean;
  /** For the tests: every figure once, with a handful of runs. */
  readonly tiny: boolean;
  readonly server: Server;
  readonly say: (line: string) => void;
  readonly only: string | undefined;
}

export type PartBench = (url: string, options: PartOptions) => Promise<{ readonly ok: boolean }>;

export const PARTS: ReadonlyMap<string, PartBench> = new Map<string, PartBench>([
  ["actors", benchActors],
  ["capacity", benchCapacity],
  ["dag", benchDag],
  ["dashboard", benchDashboard],
  ["everyday", benchEveryday],
  ["graph", benchGraph],
  ["lane", benchLane],
  ["machine", benchMachine],
  ["recovery", benchRecovery],
  ["takeover", benchTakeover],
  ["triggers", benchTriggers],
  ["workflow", benchWorkflow],
]);
