// The model of capacity: the resource that is used up first limits the rate. Arithmetic on measured costs, without a server.

import { median } from "./measure.js";

/** Of one unit: a run without steps, or a step. */
export interface Cost {
  readonly nodeUs: number;
  readonly serverUs: number;
  readonly unitsPerFlush: number;
  /** The cores that nodes and server kept busy. */
  readonly busyCores: number;
}

/** A part per unit, and a part per flush that the units of a batch share, in microseconds on a core. */
export interface Line {
  readonly perUnit: number;
  readonly perFlush: number;
}

export interface Model {
  readonly node: Line;
  readonly server: Line;
  /** The cores that one process keeps busy, with the sessions that serve it: they partly take turns. */
  readonly coresPerProcess: number;
}

export interface Resources {
  readonly cores: number;
  readonly processes: number;
  readonly flushesPerSecond: number;
  readonly unitsPerFlush: number;
}

export type Limit = "cores" | "processes" | "log flushes";

export interface Check {
  /** Without those that other programs used during the measurement. */
  readonly cores: number;
  readonly predicted: number;
  readonly limit: Limit;
  readonly measured: number;
  /** Predicted divided by measured. */
  readonly ratio: number;
  readonly ok: boolean;
}

/** The ratios of a model that is accepted. */
export const ACCEPTED = { low: 0.7, high: 1.4 };

/** A rate from this share of the best counts as the knee. */
const KNEE = 0.9;

/** The line with the least relative errors. */
function lineThrough(points: readonly { readonly perUnit: number; readonly us: number }[]): Line {
  let [w, wx, wy, wxx, wxy] = [0, 0, 0, 0, 0];
  for (const { perUnit: x, us } of points) {
    const y = Math.max(us, 1);
    const weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const spread = w * wxx - wx * wx;
  // All batches alike: the whole cost counts per unit.
  const perFlush = spread > 0 ? Math.max(0, (w * wxy - wx * wy) / spread) : 0;
  return { perUnit: rounded(Math.max(0, (wy - perFlush * wx) / w)), perFlush: rounded(perFlush) };
}

const rounded = (us: number) => Math.round(us * 10) / 10;

/** `points`: of one process, with cores to spare. */
export function fitModel(points: readonly Cost[]): Model {
  const through = (pick: (point: Cost) => number) =>
    lineThrough(points.map((point) => ({ perUnit: 1 / point.unitsPerFlush, us: pick(point) })));
  return {
    node: through(({ nodeUs }) => nodeUs),
    server: through(({ serverUs }) => serverUs),
    coresPerProcess: Math.round(median(points.map(({ busyCores }) => busyCores)) * 100) / 100,
  };
}

export function predict({ node, server, coresPerProcess }: Model, resources: Resources) {
  const { cores, processes, flushesPerSecond, unitsPerFlush } = resources;
  const us = node.perUnit + server.perUnit + (node.perFlush + server.perFlush) / unitsPerFlush;
  const bounds: readonly (readonly [Limit, number])[] = [
    ["cores", (cores * 1e6) / us],
    ["processes", (processes * coresPerProcess * 1e6) / us],
    ["log flushes", flushesPerSecond * unitsPerFlush],
  ];
  const [limit, perSecond] = bounds.reduce((least, one) => (one[1] < least[1] ? one : least));
  return { perSecond, limit };
}

export function check(model: Model, resources: Resources, measured: number): Check {
  const { perSecond, limit } = predict(model, resources);
  const ratio = Math.round((perSecond / measured) * 100) / 100;
  const ok = ratio >= ACCEPTED.low && ratio <= ACCEPTED.high;
  return { cores: resources.cores, predicted: Math.round(perSecond), limit, measured: Math.round(measured), ratio, ok };
}

/** The first load, in the order given, that has nearly the best rate. */
export function kneeOf<Load extends { readonly perSecond: number }>(points: readonly Load[]): Load {
  const best = Math.max(...points.map(({ perSecond }) => perSecond));
  return points.find(({ perSecond }) => perSecond >= KNEE * best)!;
}
