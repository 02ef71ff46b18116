// Measurements of nodes in this process, as counters and histograms of prom-client.

import { Counter, Histogram, type Registry } from "prom-client";
import { INSTRUMENTS, LabelValues } from "../telemetry/instruments.js";

/** A node of this process, by what is needed of it. */
export interface MeasuredNode {
  readonly env: string;
  readonly stack: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: events of every part.
  on(name: any, listener: (event: any) => void): () => void;
}

const COMMON = ["env", "stack"] as const;

export function measureNodes(nodes: readonly MeasuredNode[], registry: Registry): void {
  if (nodes.length === 0) return;
  const values = new LabelValues();
  for (const { name, help, kind, labels, buckets, on } of INSTRUMENTS) {
    const made = { name, help, labelNames: [...COMMON, ...labels], registers: [registry] };
    const counter = kind === "counter" ? new Counter(made) : null;
    const histogram = kind === "histogram" ? new Histogram({ ...made, buckets: [...(buckets ?? [])] }) : null;
    for (const node of nodes) {
      for (const [event, measure] of Object.entries(on)) {
        node.on(event, (facts) => {
          const added = measure(facts);
          if (added === null) return;
          const all = { env: node.env, stack: node.stack ?? "", ...values.bounded(added.labels ?? {}) };
          counter?.inc(all, added.value ?? 1);
          histogram?.observe(all, added.value ?? 1);
        });
      }
    }
  }
}
