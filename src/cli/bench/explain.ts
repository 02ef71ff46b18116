// Explains the figures of `holdfast bench` in plain sentences: what each is, and what limits it.

import type { ServerReport } from "../../store/contract/server-report.js";
import type { Figures, Latency } from "./measure.js";

export interface Explained {
  readonly figure: string;
  readonly value: string;
  readonly text: string;
}

/** More of one core than this: the process has no time left. */
const FULL_CORE = 0.85;
/** A commit this many round trips long waits for the disk, not for the network. */
const TRIPS_PER_FLUSH = 2;

export function explain(figures: Figures, server: Pick<ServerReport, "synchronousCommit" | "pooled">): Explained[] {
  const { commit, startsPerSecond, pickUp, drainPerSecond, stepsPerSecond, cpu } = figures;
  return [
    { figure: "one commit", value: both(commit), text: commitText(figures, server.synchronousCommit) },
    {
      figure: "start",
      value: `${rate(startsPerSecond)} runs/s`,
      text: "Single calls, 50 at a time; calls of the same moment share a commit. `startMany` is faster for lists.",
    },
    {
      figure: "pick-up",
      value: both(pickUp),
      text: server.pooled
        ? "From `start` to the first line of the workflow. Behind a transaction pooler nodes poll, which this includes."
        : "From `start` to the first line of the workflow: a commit, a notification, a claim, which is a commit, too.",
    },
    {
      figure: "drain",
      value: `${rate(drainPerSecond)} runs/s`,
      text: `Empty runs on one node of 100 slots. ${limitOf(cpu.drain)}`,
    },
    {
      figure: "ten steps",
      value: `${rate(stepsPerSecond)} steps/s`,
      text: `50 workflows at a time, each step recorded before the next begins. ${limitOf(cpu.steps)}`,
    },
  ];
}

function commitText({ commit, roundTrip }: Figures, synchronousCommit: string): string {
  const trip = `A read takes ${roundTrip.p50Ms.toFixed(1)} ms.`;
  if (synchronousCommit === "off")
    return `${trip} synchronous_commit is off: nothing is flushed, and a crash of the server loses work.`;
  return commit.p50Ms > TRIPS_PER_FLUSH * roundTrip.p50Ms
    ? `${trip} The rest is the flush to disk or the replica: no step is faster than this, one after the other.`
    : `${trip} The way to the database is most of it: place nodes close to it.`;
}

/** A machine with more work than cores measures its own load. */
export function busyText(load: number, cores: number): string | null {
  if (load <= cores) return null;
  return `This machine is busy (load ${load.toFixed(1)} on ${cores} cores): the figures are lower than on a quiet one.`;
}

/** By what this process had left. */
function limitOf(cpu: number): string {
  const used = `This process used ${Math.round(cpu * 100)} % of a core`;
  return cpu > FULL_CORE
    ? `${used}: it is the limit here. More processes add to it until the database is busy.`
    : `${used}: it mostly waited. If the database is the reason, faster commits or a bigger server help, more processes little.`;
}

const rate = (perSecond: number) => Math.round(perSecond).toLocaleString("en-US");
const both = ({ p50Ms, p99Ms }: Latency) => `${p50Ms.toFixed(1)} ms (p99 ${p99Ms.toFixed(1)})`;
