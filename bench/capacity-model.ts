// The model of capacity: the resource that is used up first limits the rate. Arithmetic on measured costs, without a server.

import { median } from "./measure.js";

/** Of one unit: a run without steps, or a step. */
export interface Cost {
  readonly nodeUs: number;
  readonly serverUs: number;
  readonly unitsPerFlush: number;
}

export interface Resources {
  readonly cores: number;
  readonly flushesPerSecond: number;
}

export interface Check {
  /** Without those that other programs used during the measurement. */
  readonly cores: number;
  readonly predicted: number;
  readonly limit: "cores" | "log flushes";
  readonly measured: number;
  /** Predicted divided by measured. */
  readonly ratio: number;
  readonly ok: boolean;
}

/** The ratios of a model that is accepted. */
export const ACCEPTED = { low: 0.7, high: 1.4 };

/** A rate from this share of the best counts as the knee. */
const KNEE = 0.9;

export function fit(points: readonly Cost[]): Cost {
  const of = (pick: (point: Cost) => number) => median(points.map(pick));
  return {
    nodeUs: of(({ nodeUs }) => nodeUs),
    serverUs: of(({ serverUs }) => serverUs),
    unitsPerFlush: of(({ unitsPerFlush }) => unitsPerFlush),
  };
}

export function predict({ nodeUs, serverUs, unitsPerFlush }: Cost, { cores, flushesPerSecond }: Resources) {
  const byCores = (cores * 1e6) / (nodeUs + serverUs);
  const byFlushes = flushesPerSecond * unitsPerFlush;
  const limit = byCores <= byFlushes ? ("cores" as const) : ("log flushes" as const);
  return { perSecond: Math.min(byCores, byFlushes), limit };
}

export function check(cost: Cost, resources: Resources, measured: number): Check {
  const { perSecond, limit } = predict(cost, resources);
  const ratio = Math.round((perSecond / measured) * 100) / 100;
  const ok = ratio >= ACCEPTED.low && ratio <= ACCEPTED.high;
  return { cores: resources.cores, predicted: Math.round(perSecond), limit, measured: Math.round(measured), ratio, ok };
}

/** The first load, in the order given, that has nearly the best rate. */
export function kneeOf<Load extends { readonly perSecond: number }>(points: readonly Load[]): Load {
  const best = Math.max(...points.map(({ perSecond }) => perSecond));
  return points.find(({ perSecond }) => perSecond >= KNEE * best)!;
}
