// W6: the drain of W2 behind a million ended runs, and next to 200,000 runs that wait in another queue. Holdfast against itself.

import { postgres } from "holdfast/postgres";
import { type Ratio, ratioOf } from "../measure.js";
import { pendingSql } from "../pending.js";
import { atLeast, figuresOf } from "../report/figure.js";
import type { Place, SideBySide } from "../side-by-side.js";
import type { Work } from "./work.js";

const RUNS = 10_000;
const ELSEWHERE = { env: "elsewhere", stack: null, queue: "elsewhere", program: "elsewhere", version: null };
const QUANTITY = { name: "drain", unit: "runs/s", better: "higher" } as const;

/** With ids in the order of time, as the library draws them: random ones would scatter each claim over the whole index. */
async function pour(bench: SideBySide, { schema: s }: Place, total: number, state: "completed" | "waiting") {
  const store = postgres(bench.server.url, { schema: s });
  const [group] = await store.runs.groupIds([ELSEWHERE]);
  await store.close();
  await bench.pool.query(
    `insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at)
     select (lpad(to_hex(${Date.now() - 3_600_000} + i / 10), 12, '0') || '7' || lpad(to_hex(i % 10), 3, '0') || '8' || substr(md5(i::text), 1, 15))::uuid,
       $3, 0, $2, now() + i * interval '1 us' - interval '1 hour', 5, now(), case when $2 = 'completed' then now() end
     from generate_series(1, $1::int) i`,
    [total, state, group],
  );
  await bench.pool.query(
    `insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
     select id, 1, 0, 'start', 'elsewhere', 'json', 'null', now() from ${s}.runs`,
  );
}

/** The drain of a place in which other runs may be; those are not waited for. */
async function drainOf(bench: SideBySide, place: Place): Promise<number> {
  const count = bench.size(RUNS);
  const { schema } = place;
  await place.hosts[0]!.call("fill", { program: "noop", input: null, count });
  await bench.settle(place);
  const own = `claim_group = any (array (select id from ${schema}.claim_groups where env <> '${ELSEWHERE.env}'))`;
  const library = { ...place.library, pendingSql: () => pendingSql(schema, own) };
  return bench.drain({ ...place, library }, count, { concurrency: 500, purpose: "drain" });
}

async function measure(bench: SideBySide, places: ReadonlyMap<string, Place>) {
  const values = new Map([...places.keys()].map((name) => [name, [] as number[]]));
  for (let round = bench.scale.name === "tiny" ? 0 : -1; round < bench.scale.rounds; round++) {
    for (const [name, place] of places) {
      const perSecond = await drainOf(bench, place);
      if (round >= 0) values.get(name)!.push(perSecond);
    }
  }
  return values;
}

export const fullTables: Work = {
  name: "w6",
  title: "drain with many ended and many waiting runs",
  async run(bench) {
    const [library] = await bench.libraries(({ name }) => name === "holdfast");
    const [ended, waiting] = [bench.size(1_000_000), bench.size(200_000)];
    const names = ["empty table", `${ended} ended`, `${waiting} waiting elsewhere`] as const;
    const values = await bench.inPlace(library!, { first: 0 }, (empty) =>
      bench.inPlace(library!, { first: 1 }, (full) =>
        bench.inPlace(library!, { first: 2 }, async (crowded) => {
          await pour(bench, full, ended, "completed");
          await pour(bench, crowded, waiting, "waiting");
          return measure(
            bench,
            new Map([empty, full, crowded].map((place, i) => [names[i]!, place] as [string, Place])),
          );
        }),
      ),
    );
    const base = values.get(names[0])!;
    const gates = names.slice(1).map((name) => {
      const ratio: Ratio = ratioOf(values.get(name)!.map((value, i) => value / base[i]!));
      return atLeast(`${name}, of the empty table's rate`, ratio.median, 0.85);
    });
    const figures = [...values].flatMap(([name, samples]) =>
      figuresOf({ ...QUANTITY, name }, new Map([["holdfast", samples]])),
    );
    return { figures, ratios: [], gates, notes: ["Holdfast only: graphile-worker deletes jobs that have ended."] };
  },
};
