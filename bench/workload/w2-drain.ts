// W2: how fast waiting runs that do nothing are completed, by one process and by four.

import { atLeast, bestPeer } from "../report/figure.js";
import type { SideBySide } from "../side-by-side.js";
import { joined, type Work } from "./work.js";

const RUNS = 20_000;

const quantityOf = (processes: number) =>
  ({ name: processes === 1 ? "1 process" : `${processes} processes`, unit: "runs/s", better: "higher" }) as const;

async function drainBy(bench: SideBySide, processes: number) {
  const libraries = await bench.libraries(({ programs }) => programs.includes("noop"));
  return bench.contest(libraries, [quantityOf(processes)], (library) =>
    bench.inPlace(library, { processes }, async (place) => {
      const count = bench.size(RUNS, library);
      await place.hosts[0]!.call("fill", { program: "noop", input: null, count });
      await bench.settle(place);
      return [await bench.drain(place, count, { concurrency: 500, purpose: "drain" })];
    }),
  );
}

export const drain: Work = {
  name: "w2",
  title: "drain runs that do nothing",
  async run(bench) {
    const report = joined([await drainBy(bench, 1), await drainBy(bench, 4)]);
    const gates = [1, 4].flatMap((processes) => {
      const { name } = quantityOf(processes);
      const best = bestPeer(report.ratios, name);
      return best ? [atLeast(`${name}, of ${best.against}`, best.median, 0.8)] : [];
    });
    return { ...report, gates };
  },
};
