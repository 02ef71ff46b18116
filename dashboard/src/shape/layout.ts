// Asks the worker for a layout; after three seconds, or when it fails, the graph is drawn in plain levels.

import { useEffect, useState } from "preact/hooks";
import { type Chart, layChart } from "../draw/chart.js";
import { distances, type GraphToLay, type Layout, levelLayout } from "../draw/layout.js";
import type { ChartState } from "../draw/shape.js";
import type { Job } from "./layout-worker.js";
import workerUrl from "./layout-worker.js?worker&url";

const DEADLINE_MS = 3_000;

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string };
}

/** The page's only Trusted Types policy: it lets through this worker's address and nothing else. */
const policy = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("holdfast-worker", {
  createScriptURL(url) {
    if (new URL(url, location.href).origin !== location.origin) throw new TypeError("The worker's address is foreign.");
    return url;
  },
});

type Result = { readonly id: number; readonly laid?: unknown; readonly problem?: string };
type Asked = { readonly graph: GraphToLay } | { readonly chart: ChartState };
const waiting = new Map<number, (result: Result | null) => void>();
let worker: Worker | null = null;
let last = 0;

function ask(job: Asked): Promise<Result | null> {
  const id = ++last;
  if (worker === null) {
    const url = new URL(workerUrl, import.meta.url).href;
    worker = new Worker(policy ? policy.createScriptURL(url) : url, { type: "module" });
    worker.addEventListener("message", ({ data }: MessageEvent<Result>) => waiting.get(data.id)?.(data));
    worker.addEventListener("error", () => {
      for (const done of waiting.values()) done(null);
    });
  }
  const request: Job = { id, ...job };
  worker.postMessage(request);
  return new Promise((done) => {
    const timer = setTimeout(() => {
      // A layout that takes longer blocks the ones after it.
      worker?.terminate();
      worker = null;
      settle(null);
    }, DEADLINE_MS);
    const settle = (result: Result | null) => {
      clearTimeout(timer);
      waiting.delete(id);
      done(result);
    };
    waiting.set(id, settle);
  });
}

export function useLayout(
  graph: GraphToLay,
  start: string | null,
  levels?: ReadonlyMap<string, number>,
): Layout | null {
  const [laid, setLaid] = useState<Layout | null>(null);
  const shown = JSON.stringify(graph);
  useEffect(() => {
    let current = true;
    ask({ graph }).then((result) => {
      const far = levels ?? distances(start ?? graph.boxes[0]?.id ?? "", graph.arrows);
      const next = (result?.laid as Layout | undefined) ?? levelLayout(graph, (id) => far.get(id) ?? far.size);
      if (current) setLaid(next);
    });
    return () => {
      current = false;
    };
  }, [shown]);
  return laid;
}

export function useChart(root: ChartState): Chart | null {
  const [laid, setLaid] = useState<Chart | null>(null);
  useEffect(() => {
    ask({ chart: root }).then((result) => {
      const plain = (graph: GraphToLay) => {
        const far = distances(graph.boxes[0]?.id ?? "", graph.arrows);
        return levelLayout(graph, (id) => far.get(id) ?? far.size);
      };
      setLaid((result?.laid as Chart | undefined) ?? layChart(root, plain));
    });
  }, [JSON.stringify(root)]);
  return laid;
}
