// The worker that lays out graphs and state charts, so that a large one does not freeze the page.

import { layChart } from "../draw/chart.js";
import type { GraphToLay } from "../draw/layout.js";
import type { ChartState } from "../draw/shape.js";
import { dagreLayout } from "./dagre-layout.js";

export type Job =
  | { readonly id: number; readonly graph: GraphToLay }
  | { readonly id: number; readonly chart: ChartState };

addEventListener("message", ({ data }: MessageEvent<Job>) => {
  const { id } = data;
  try {
    postMessage({ id, laid: "graph" in data ? dagreLayout(data.graph) : layChart(data.chart, dagreLayout) });
  } catch (error) {
    postMessage({ id, problem: error instanceof Error ? error.message : String(error) });
  }
});
