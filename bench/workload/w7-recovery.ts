// W7: how long the runs of a killed process wait, at default settings. Holdfast only.

import { median } from "../measure.js";
import { oneOfSeveral, theOnlyNode } from "../recovery-kills.js";
import { atMost, figuresOf } from "../report/figure.js";
import type { Work } from "./work.js";

const CASES = [
  { name: "one of several killed", measure: oneOfSeveral },
  { name: "the only node killed and restarted", measure: theOnlyNode },
] as const;

export const recovery: Work = {
  name: "w7",
  title: "recovery after kill -9, at default settings",
  async run({ server, scale, say }) {
    // The first case begins with 17 s in which its nodes become steady ones: too long for a trial.
    const cases = scale.name === "tiny" ? CASES.slice(1) : CASES;
    const figures = [];
    const gates = [];
    for (const { name, measure } of cases) {
      const times = await measure(server.url, scale.rounds, say);
      figures.push(...figuresOf({ name, unit: "ms", better: "lower" }, new Map([["holdfast", times]])));
      gates.push(atMost(`${name}, median in ms`, median(times), 2_500));
    }
    const notes = ["Peers are not measured here. Their defaults are in the README of the benchmarks."];
    return { figures, ratios: [], gates, notes };
  },
};
