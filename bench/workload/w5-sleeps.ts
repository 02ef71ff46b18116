// W5: how late runs continue that sleep for a second, thousands at a time.

import { median, percentile } from "../measure.js";
import { atMost } from "../report/figure.js";
import type { Work } from "./work.js";

const P50 = { name: "late, p50", unit: "ms", better: "lower" } as const;
const P99 = { name: "late, p99", unit: "ms", better: "lower" } as const;

export const sleeps: Work = {
  name: "w5",
  title: "5,000 runs that sleep for a second",
  async run(bench) {
    const libraries = await bench.libraries(({ programs }) => programs.includes("nap"));
    const contest = await bench.contest(libraries, [P50, P99], (library) =>
      bench.inPlace(library, {}, async (place) => {
        // A slow library gets a smaller crowd, which favours it: 5,000 would keep it at work for minutes.
        const count = bench.size(5_000, library);
        await place.hosts[0]!.call("fill", { program: "nap", input: null, count });
        await bench.settle(place);
        await bench.drain(place, count, { concurrency: 500, purpose: "drain" });
        const lates = await place.hosts[0]!.call("lates");
        return [percentile(lates, 0.5), percentile(lates, 0.99)];
      }),
    );
    const ours = median(contest.samples.get(P99.name)!.get("holdfast")!);
    return { ...contest, gates: [atMost("late, p99, in ms", Math.round(ours), 500)] };
  },
};
