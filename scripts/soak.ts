// `npm run soak -- --minutes N [--nodes 2] [--rate 40] [--leak] [--json]`: nodes under a fixed load for a long time. Memory, handles,
// connections, rows and dead rows must stay flat, and retention must keep up, also after a transaction has pinned old rows for a while.
// With --leak something of every run stays in memory, and the soak must fail.

import { soak } from "../soak/run.js";
import { flagsOf } from "./flags.js";

const {
  minutes = 10,
  nodes = 2,
  rate = 40,
  leak,
  json,
} = flagsOf({
  minutes: "number",
  nodes: "number",
  rate: "number",
  leak: "switch",
});
const report = await soak({
  minutes,
  nodes,
  rate,
  leak,
  say: (line) => (json ? console.error(line) : console.log(line)),
});
if (json) console.log(JSON.stringify(report));
else console.log(report);
process.exitCode = report.ok ? 0 : 1;
