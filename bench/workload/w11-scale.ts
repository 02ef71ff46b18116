// W11: the drain of W2 over 1, 2, 4 and 8 processes: rate, shares of the processes, and claims that found nothing.

import { ratioOf } from "../measure.js";
import { atLeast, figuresOf } from "../report/figure.js";
import type { Place, SideBySide } from "../side-by-side.js";
import type { Work } from "./work.js";

const RUNS = 20_000;
const PROCESSES = [1, 2, 4, 8];
const nameOf = (processes: number) => (processes === 1 ? "1 process" : `${processes} processes`);

interface Measured {
  readonly perSecond: number;
  /** The smallest share of a process, of the largest. */
  readonly fairness: number;
  /** Claims that found nothing, per hundred claims. */
  readonly wasted: number;
}

async function claimsOf({ hosts }: Place) {
  const all = await Promise.all(hosts.map((host) => host.call("claims")));
  return {
    asked: all.reduce((sum, { asked }) => sum + asked, 0),
    empty: all.reduce((sum, { empty }) => sum + empty, 0),
  };
}

async function drainBy(bench: SideBySide, processes: number): Promise<Measured> {
  const [library] = await bench.libraries(({ name }) => name === "holdfast");
  return bench.inPlace(library!, { processes }, async (place) => {
    const count = bench.size(RUNS);
    await place.hosts[0]!.call("fill", { program: "noop", input: null, count });
    await bench.settle(place);
    const before = await claimsOf(place);
    const perSecond = await bench.drain(place, count, { concurrency: 100, purpose: "flight" });
    const { asked, empty } = await claimsOf(place);
    const shares = place.hosts.map(({ ended }) => ended);
    return {
      perSecond,
      fairness: Math.min(...shares) / Math.max(...shares),
      wasted: (100 * (empty - before.empty)) / Math.max(1, asked - before.asked),
    };
  });
}

function figures(measured: ReadonlyMap<number, readonly Measured[]>) {
  const of = (name: string, unit: string, better: "higher" | "lower", pick: (one: Measured) => number) =>
    [...measured].flatMap(([processes, all]) =>
      figuresOf({ name: `${nameOf(processes)}${name}`, unit, better }, new Map([["holdfast", all.map(pick)]])),
    );
  return [
    ...of("", "runs/s", "higher", ({ perSecond }) => perSecond),
    ...of(", smallest share of the largest", "", "higher", ({ fairness }) => fairness),
    ...of(", claims that found nothing", "%", "lower", ({ wasted }) => wasted),
  ];
}

export const scale: Work = {
  name: "w11",
  title: "drain over several processes of concurrency 100",
  async run(bench) {
    const tiny = bench.scale.name === "tiny";
    const numbers = tiny ? [1, 4] : PROCESSES;
    const measured = new Map(numbers.map((processes) => [processes, [] as Measured[]]));
    for (let round = tiny ? 0 : -1; round < bench.scale.rounds; round++) {
      for (const processes of numbers) {
        const one = await drainBy(bench, processes);
        if (round >= 0) measured.get(processes)!.push(one);
      }
    }
    const alone = measured.get(1)!;
    const ratio = ratioOf(measured.get(4)!.map(({ perSecond }, i) => perSecond / alone[i]!.perSecond));
    const gates = [atLeast("4 processes, of one", ratio.median, 1.1)];
    return { figures: figures(measured), ratios: [], gates, notes: [] };
  },
};
