// W1: how fast runs are started, by single calls and in batches.

import { atLeast, bestPeer } from "../report/figure.js";
import type { SideBySide } from "../side-by-side.js";
import { joined, type Work } from "./work.js";

const SINGLE = { name: "single calls, 50 at a time", unit: "runs/s", better: "higher" } as const;
const BATCHES = { name: "batches of 1,000", unit: "runs/s", better: "higher" } as const;

async function single(bench: SideBySide) {
  const libraries = await bench.libraries(() => true);
  return bench.contest(libraries, [SINGLE], (library) =>
    bench.inPlace(library, {}, async ({ hosts: [host] }) => {
      const count = bench.size(8_000, library);
      const ms = await host!.call("startSingle", { program: "noop", input: null, count, inFlight: 50 });
      return [(count * 1000) / ms];
    }),
  );
}

async function batches(bench: SideBySide) {
  const libraries = await bench.libraries(({ startsMany }) => startsMany);
  return bench.contest(libraries, [BATCHES], (library) =>
    bench.inPlace(library, {}, async ({ hosts: [host] }) => {
      const count = bench.size(20_000, library);
      const ms = await host!.call("startBatches", { program: "noop", input: null, count, size: 1_000 });
      return [(count * 1000) / ms];
    }),
  );
}

export const start: Work = {
  name: "w1",
  title: "start runs",
  async run(bench) {
    const report = joined([await single(bench), await batches(bench)]);
    const gates = ([SINGLE, BATCHES] as const).flatMap(({ name }) => {
      const best = bestPeer(report.ratios, name);
      return best ? [atLeast(`${name}, of ${best.against}`, best.median, name === SINGLE.name ? 1.8 : 1.1)] : [];
    });
    return { ...report, gates };
  },
};
