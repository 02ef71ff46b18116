// The works in their order.

import { start } from "./w1-start.js";
import { drain } from "./w2-drain.js";
import { pickUp } from "./w3-pick-up.js";
import { steps } from "./w4-steps.js";
import { sleeps } from "./w5-sleeps.js";
import { fullTables } from "./w6-full-tables.js";
import { recovery } from "./w7-recovery.js";
import { payloads } from "./w8-payloads.js";
import { cost } from "./w9-cost.js";
import { oneCommit } from "./w10-one-commit.js";
import { scale } from "./w11-scale.js";
import type { Work } from "./work.js";

const ALL: readonly Work[] = [
  start,
  drain,
  pickUp,
  steps,
  sleeps,
  fullTables,
  recovery,
  payloads,
  cost,
  oneCommit,
  scale,
];

export const WORKS: ReadonlyMap<string, Work> = new Map(ALL.map((work) => [work.name, work]));
