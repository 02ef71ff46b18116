// OpenTelemetry with the real SDK: spans of starts, claims, steps and services, one trace over parent and child, and measurements.

import { metrics, trace } from "@opentelemetry/api";
import { NodeSDK, metrics as sdkMetrics, tracing as sdkTracing } from "@opentelemetry/sdk-node";
import { openTelemetry } from "holdfast/otel";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { workflow } from "../../src/workflow/workflow.js";

const { InMemorySpanExporter, SimpleSpanProcessor } = sdkTracing;
const { AggregationTemporality, InMemoryMetricExporter, PeriodicExportingMetricReader } = sdkMetrics;
const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });
const sdk = new NodeSDK({
  spanProcessors: [new SimpleSpanProcessor(spans)],
  metricReaders: [reader],
  instrumentations: [],
  autoDetectResources: false,
});
const SECRET = "canary-4711";

beforeAll(() => sdk.start());
afterAll(async () => {
  await sdk.shutdown();
  trace.disable();
  metrics.disable();
});

const child = workflow("child", async (ctx, n: number) => ctx.step("double", () => n * 2));
const parent = workflow("parent", async (ctx, n: number) => {
  const once = await ctx.step("first", () => trace.getActiveSpan()?.spanContext().traceId ?? "none");
  const twice = await ctx.child(child, n);
  return { once, twice };
});
const broken = workflow("broken", async (ctx) => {
  await ctx.step("fails", { retry: { attempts: 1 } }, () => {
    throw Object.assign(new Error(SECRET), { code: "NO_TEMPLATE" });
  });
});

const named = (name: string) => spans.getFinishedSpans().filter((span) => span.name === name);

async function withNode<T>(work: (node: Awaited<ReturnType<typeof createNode>>) => Promise<T>): Promise<T> {
  const store = memoryStore();
  const identity = { id: "node-1", name: "one" };
  const node = await createNode({
    store,
    identity,
    programs: [parent, child, broken],
    signals: false,
    flow: { tracing: openTelemetry() },
  });
  try {
    return await work(node);
  } finally {
    await node.stop();
  }
}

test("a start, its claims, its steps and its child are one trace", async () => {
  const result = await withNode(async (node) => (await node.start(parent, 21)).result());
  const [start] = named("start parent");
  expect(start!.attributes).toMatchObject({
    "messaging.system": "holdfast",
    "messaging.operation.name": "start",
    "holdfast.node.identity": "node-1",
    "holdfast.node.name": "one",
    "holdfast.component": "client",
  });
  const { traceId, spanId } = start!.spanContext();
  expect(result).toEqual({ once: traceId, twice: 42 });
  const claims = named("run parent");
  expect(claims.length).toBeGreaterThanOrEqual(1);
  for (const claim of claims) {
    expect([claim.spanContext().traceId, claim.parentSpanContext?.spanId]).toEqual([traceId, spanId]);
  }
  expect(claims.at(-1)!.attributes).toMatchObject({ "holdfast.outcome": "completed", "holdfast.run.kind": "workflow" });
  const [step] = named("step first");
  expect(claims.map((claim) => claim.spanContext().spanId)).toContain(step!.parentSpanContext?.spanId);
  expect(step!.attributes).toMatchObject({ "holdfast.component": "step", "holdfast.operation": "step" });
  for (const name of ["run child", "step double"]) expect(named(name)[0]!.spanContext().traceId).toBe(traceId);
}, 20_000);

test("a failure has its code and nothing of its message; measurements count it", async () => {
  await withNode(async (node) => {
    const run = await node.start(broken, undefined);
    await expect(run.result()).rejects.toThrow();
    await reader.forceFlush();
  });
  const [claim] = named("run broken");
  expect(claim!.attributes).toMatchObject({ "error.type": "NO_TEMPLATE", "holdfast.outcome": "failed" });
  expect(JSON.stringify(spans.getFinishedSpans().map(({ attributes, events }) => [attributes, events]))).not.toContain(
    SECRET,
  );
  const points = measured
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics: all }) => all))
    .filter(({ descriptor }) => descriptor.name === "holdfast_runs_settled_total")
    .flatMap(({ dataPoints }) => dataPoints as { attributes: object; value: number }[]);
  expect(points).toContainEqual(
    expect.objectContaining({ attributes: { env: "default", stack: "", program: "broken", as: "failed" }, value: 1 }),
  );
}, 20_000);

test("without a tracer nothing is stored with a run", async () => {
  const store = memoryStore();
  const node = await createNode({ store, programs: [child], signals: false });
  const run = await node.start(child, 1);
  const log = await store.journal.read(run.id);
  expect(log!.entries[0]!.payload!.codec).toBe("json");
  await run.result();
  await node.stop();
});
