// W10: one step after the other at concurrency 1, against one hand-written commit per step on the same tables.
// Measured after two runs: the compiler of a process that has just started makes everything slower, the more so the more code there is.

import { atMost } from "../report/figure.js";
import type { Work } from "./work.js";

const QUANTITY = { name: "one step", unit: "ms", better: "lower" } as const;

export const oneCommit: Work = {
  name: "w10",
  title: "one step's latency at concurrency 1",
  async run(bench) {
    const libraries = await bench.libraries(({ programs }) => programs.includes("steps"));
    const contest = await bench.contest(libraries, [QUANTITY], (library) =>
      bench.inPlace(library, {}, async (place) => {
        const [host] = place.hosts;
        const steps = bench.size(1_000);
        // Three runs, because OpenWorkflow allows no more steps in one. The last one counts.
        for (let run = 1; run <= 3; run++) {
          await host!.call("fill", { program: "steps", input: steps, count: 1 });
          await bench.drain(place, 1, { concurrency: 1, purpose: "flight" });
        }
        const { firstBegunAt, lastEndedAt } = await host!.call("progress");
        return [(lastEndedAt - firstBegunAt) / steps];
      }),
    );
    const toSql = contest.ratios.find(({ against }) => against === "sql")!;
    return { ...contest, gates: [atMost("one step, of one hand-written commit", toSql.median, 1.15)] };
  },
};
