// W3: how soon an idle process begins a run that another process starts.

import { setTimeout as pass } from "node:timers/promises";
import type { Host } from "../host.js";
import { nowMs, percentile, WARM_UPS } from "../measure.js";
import { atMost } from "../report/figure.js";
import type { Work } from "./work.js";

const P50 = { name: "p50", unit: "ms", better: "lower" } as const;
const P99 = { name: "p99", unit: "ms", better: "lower" } as const;
/** A peer with a ratio of its own in the gate: it has the shortest pick-up. */
const RIVAL = "graphile-worker";

const MOST_MS = 4_000;
/** Each start has a number of its own. */
let starts = 0;

async function once(starter: Host, worker: Host, number: number): Promise<number> {
  const begun = new Promise<number>((resolve) => {
    worker.onBegun = (input, at) => {
      if (input === number) resolve(at);
    };
  });
  const acknowledged = await starter.call("startOne", { program: "echo", input: number });
  return (await begun) - acknowledged;
}

/** Fewer where each takes long, so that a round takes seconds. */
async function several(starter: Host, worker: Host, count: number): Promise<number[]> {
  const waits: number[] = [];
  const stopAt = nowMs() + MOST_MS;
  while (waits.length < count && nowMs() < stopAt) {
    waits.push(await once(starter, worker, starts++));
    await pass(20 + Math.random() * 20);
  }
  return waits;
}

export const pickUp: Work = {
  name: "w3",
  title: "pick-up by an idle process, from the acknowledged start",
  async run(bench) {
    const libraries = await bench.libraries(({ name, programs }) => name !== "sql" && programs.includes("echo"));
    const contest = await bench.contest(libraries, [P50, P99], (library) =>
      bench.inPlace(library, { processes: 2 }, async ({ hosts }) => {
        const [starter, worker] = hosts as [Host, Host];
        await worker.call("work", { concurrency: 10, purpose: "latency", watch: true });
        await several(starter, worker, bench.size(WARM_UPS));
        const waits = await several(starter, worker, bench.size(200));
        await worker.call("rest");
        return [percentile(waits, 0.5), percentile(waits, 0.99)];
      }),
    );
    const rival = contest.ratios.find(({ name, against }) => name === P50.name && against === RIVAL);
    const gates = rival ? [atMost(`p50, of ${RIVAL}`, rival.median, 1.1)] : [];
    return { ...contest, gates };
  },
};
