// W8: runs that take and return a payload of 1 kB and of 50 kB.

import type { SideBySide } from "../side-by-side.js";
import { joined, type Work } from "./work.js";

const SIZES = [
  { name: "1 kB", bytes: 1_024, runs: 8_000 },
  { name: "50 kB", bytes: 51_200, runs: 800 },
] as const;

const IN_FLIGHT = 100;

/** Half as random as it is long: neither all zeros for the server's compression nor noise. */
function payloadOf(bytes: number): string {
  let text = "";
  for (let i = 0; text.length < bytes; i++) text += `${((i * 2_654_435_761) >>> 0).toString(36)} and so on; `;
  return text.slice(0, bytes);
}

async function echoes(bench: SideBySide, { name, bytes, runs }: (typeof SIZES)[number]) {
  const libraries = await bench.libraries(({ programs }) => programs.includes("echo"));
  const input = payloadOf(bytes);
  return bench.contest(libraries, [{ name, unit: "runs/s", better: "higher" }], (library) =>
    bench.inPlace(library, {}, async (place) => {
      // Enough for all slots to be taken most of the time.
      const count = Math.max(bench.size(runs, library), bench.scale.name === "tiny" ? 1 : 4 * IN_FLIGHT);
      await place.hosts[0]!.call("fill", { program: "echo", input, count });
      await bench.settle(place);
      return [await bench.drain(place, count, { concurrency: IN_FLIGHT, purpose: "flight" })];
    }),
  );
}

export const payloads: Work = {
  name: "w8",
  title: "drain runs with payloads",
  async run(bench) {
    const parts = [];
    for (const size of SIZES) parts.push(await echoes(bench, size));
    const notes = ["Queues take the payload and store no result; the others store it as the run's result."];
    const report = joined(parts);
    return { ...report, notes: [...report.notes, ...notes], gates: [] };
  },
};
