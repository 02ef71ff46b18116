// W4: recorded steps per second of ten-step workflows, 50 and 200 in flight.

import { atLeast, bestPeer } from "../report/figure.js";
import type { SideBySide } from "../side-by-side.js";
import { joined, type Work } from "./work.js";

const STEPS = 10;
const RUNS = 2_000;
const NEEDS = new Map([
  [50, 9],
  [200, 13],
]);

const quantityOf = (inFlight: number) =>
  ({ name: `${inFlight} in flight`, unit: "steps/s", better: "higher" }) as const;

async function stepsAt(bench: SideBySide, inFlight: number) {
  const libraries = await bench.libraries(({ programs }) => programs.includes("steps"));
  return bench.contest(libraries, [quantityOf(inFlight)], (library) =>
    bench.inPlace(library, {}, async (place) => {
      // Enough for all slots to be taken most of the time.
      const count = Math.max(bench.size(RUNS, library), bench.scale.name === "tiny" ? 1 : 4 * inFlight);
      await place.hosts[0]!.call("fill", { program: "steps", input: STEPS, count });
      await bench.settle(place);
      return [STEPS * (await bench.drain(place, count, { concurrency: inFlight, purpose: "flight" }))];
    }),
  );
}

export const steps: Work = {
  name: "w4",
  title: "steps of ten-step workflows",
  async run(bench) {
    const parts = [];
    for (const inFlight of NEEDS.keys()) parts.push(await stepsAt(bench, inFlight));
    const report = joined(parts);
    const gates = [...NEEDS].flatMap(([inFlight, needs]) => {
      const { name } = quantityOf(inFlight);
      const best = bestPeer(report.ratios, name);
      return best ? [atLeast(`${name}, of ${best.against}`, best.median, needs)] : [];
    });
    return { ...report, gates };
  },
};
