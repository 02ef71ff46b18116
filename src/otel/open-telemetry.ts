// OpenTelemetry for a node: a producer span at a start, a consumer span per claim, spans for steps and background services.
//
// Names and attributes follow the semantic conventions of messaging. No payload, key or message of an error is ever an attribute.

import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { PACKAGE_VERSION } from "../kernel/package-version.js";
import type { UserCall } from "../kernel/world.js";
import { INSTRUMENTS, LabelValues } from "../telemetry/instruments.js";
import type { ClaimEnd, FollowedNode, TracedClaim, TracedStart, Tracing } from "../telemetry/tracing.js";

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Makes the spans. @default the global tracer named `holdfast` */
  readonly tracer?: Tracer;
  /** Makes the measurements. @default the global meter named `holdfast` */
  readonly meter?: Meter;
}

/** A claim that comes later begins a trace of its own and links to the start: traces that last for days break most viewers. */
const JOINED_MS = 3_600_000;
const SYSTEM = "holdfast";

/** Events of background services that did something, and the name of their span. */
const SERVICES: Readonly<Record<string, string>> = {
  "recovery.sweep": "reclaim",
  "schedule.fired": "schedule.fire",
  "schedule.caught_up": "schedule.catch_up",
  "run.quarantined": "quarantine",
  "run.expired": "expire",
  "definition.loaded": "definition.load",
  "timer.dead": "timer.give_up",
};
/** Facts of such an event that may be attributes: numbers and names, never an error or a payload. */
const SERVICE_FACTS = ["restarted", "failed", "skipped", "staleAfterMs", "program", "runId", "machine", "outcome"];

/**
 * Spans and measurements of a node, by the OpenTelemetry API of your application. One for each node.
 *
 * @example
 * ```ts
 * const node = await createNode({ store: memoryStore(), programs: [hello], flow: { tracing: openTelemetry() } });
 * ```
 */
export function openTelemetry({ tracer, meter }: OpenTelemetryOptions = {}): Tracing {
  return new OpenTelemetry(
    tracer ?? trace.getTracer(SYSTEM, PACKAGE_VERSION),
    meter ?? metrics.getMeter(SYSTEM, PACKAGE_VERSION),
  );
}

class OpenTelemetry implements Tracing {
  readonly #tracer: Tracer;
  readonly #meter: Meter;
  #node: Attributes = {};

  constructor(tracer: Tracer, meter: Meter) {
    this.#tracer = tracer;
    this.#meter = meter;
  }

  start<T>(facts: TracedStart, work: () => Promise<T>): Promise<T> {
    const attributes = { ...this.#messaging(facts, "start", "send"), "holdfast.component": "client" };
    return this.#within(`start ${facts.program}`, { kind: SpanKind.PRODUCER, attributes }, async () => work());
  }

  async claim(facts: TracedClaim, work: () => Promise<ClaimEnd>): Promise<void> {
    const { program, context: stored } = facts;
    const parent = stored === null ? null : remoteContext(stored);
    const isRecent = facts.claimedAt - timeOf(facts.runId) < JOINED_MS;
    const attributes = {
      ...this.#messaging(facts, "run", "process"),
      "holdfast.component": "executor",
      "messaging.message.id": facts.runId,
      "holdfast.run.id": facts.runId,
      "holdfast.run.kind": facts.kind,
      "holdfast.run.epoch": facts.epoch,
      "holdfast.run.attempt": facts.attempt,
      "holdfast.run.generation": facts.generation,
    };
    const links = parent === null || isRecent ? [] : [{ context: trace.getSpanContext(parent)! }];
    const from = parent !== null && isRecent ? parent : context.active();
    const options = { kind: SpanKind.CONSUMER, attributes, links, root: parent === null || !isRecent };
    await this.#within(
      `run ${program}`,
      options,
      async (span) => {
        const { as, error } = await work();
        span.setAttribute("holdfast.outcome", as ?? "unknown");
        if (error !== null) {
          span.setAttribute("error.type", error);
          span.setStatus({ code: SpanStatusCode.ERROR });
        }
      },
      from,
    );
  }

  step<T>({ runId, kind, name, info }: UserCall, work: () => T): T {
    const attributes = {
      ...this.#node,
      "holdfast.component": "step",
      "holdfast.operation": kind,
      "holdfast.run.id": runId,
      "holdfast.step.name": name,
      "holdfast.step.attempt": info.attempt,
    };
    const span = this.#tracer.startSpan(`${kind} ${name}`, { kind: SpanKind.INTERNAL, attributes });
    return context.with(trace.setSpan(context.active(), span), () => ended(span, work));
  }

  context(): string | null {
    const found = trace.getSpanContext(context.active());
    if (!found || !isSpanContextValid(found)) return null;
    return `00-${found.traceId}-${found.spanId}-${found.traceFlags.toString(16).padStart(2, "0")}`;
  }

  follow(node: FollowedNode): void {
    this.#node = {
      "service.instance.id": node.incarnation,
      "holdfast.node.identity": node.identity,
      "holdfast.node.name": node.name,
      "holdfast.env": node.env,
      ...(node.stack !== null && { "holdfast.stack": node.stack }),
      "holdfast.build": node.build,
    };
    for (const [event, name] of Object.entries(SERVICES)) {
      node.on(event, (facts: Readonly<Record<string, unknown>>) => this.#did(name, facts));
    }
    this.#measure(node);
  }

  #did(name: string, facts: Readonly<Record<string, unknown>>): void {
    const known = SERVICE_FACTS.filter((one) => ["string", "number"].includes(typeof facts[one]));
    const own = Object.fromEntries(known.map((one) => [`holdfast.${one}`, facts[one] as string | number]));
    const attributes = { ...this.#node, "holdfast.component": "service", "holdfast.operation": name, ...own };
    this.#tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes, root: true }).end();
  }

  #measure(node: FollowedNode): void {
    const values = new LabelValues();
    const common = { env: node.env, stack: node.stack ?? "" };
    for (const { name, help, kind, buckets, on } of INSTRUMENTS) {
      const advice = buckets ? { advice: { explicitBucketBoundaries: [...buckets] } } : {};
      const options = { description: help, ...advice };
      const histogram = kind === "histogram" ? this.#meter.createHistogram(name, { ...options, unit: "s" }) : null;
      const counter = kind === "counter" ? this.#meter.createCounter(name, options) : null;
      for (const [event, measure] of Object.entries(on)) {
        node.on(event, (facts: unknown) => {
          const added = measure(facts);
          if (added === null) return;
          const labels = { ...common, ...values.bounded(added.labels ?? {}) };
          histogram?.record(added.value ?? 1, labels);
          counter?.add(added.value ?? 1, labels);
        });
      }
    }
  }

  #messaging({ program, queue, env }: TracedStart, name: string, type: string): Attributes {
    return {
      "messaging.system": SYSTEM,
      "messaging.operation.name": name,
      "messaging.operation.type": type,
      "messaging.destination.name": queue,
      "holdfast.run.program": program,
      "holdfast.operation": name,
      ...this.#node,
      "holdfast.env": env,
    };
  }

  /** Ends the span with the work; what it throws is its error. */
  #within<T>(
    name: string,
    options: Parameters<Tracer["startSpan"]>[1],
    work: (span: Span) => Promise<T>,
    from: Context = context.active(),
  ): Promise<T> {
    const span = this.#tracer.startSpan(name, options, from);
    return context.with(trace.setSpan(from, span), () => ended(span, () => work(span)));
  }
}

function remoteContext(traceparent: string): Context | null {
  const [, traceId = "", spanId = "", flags = "0"] = traceparent.split("-");
  const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(found) ? trace.setSpanContext(context.active(), found) : null;
}

/** A run's id carries the time of its start. */
function timeOf(runId: string): number {
  return Number.parseInt(runId.replaceAll("-", "").slice(0, 12), 16);
}

/** Only the class of an error: its message may hold a secret. */
function failed(span: Span, error: unknown): void {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const type = typeof code === "string" ? code : typeof name === "string" ? name : "Error";
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function ended<T>(span: Span, work: () => T): T {
  try {
    const answer = work();
    if (!(answer instanceof Promise)) {
      span.end();
      return answer;
    }
    return answer.then(
      (value: unknown) => {
        span.end();
        return value;
      },
      (error: unknown) => {
        failed(span, error);
        span.end();
        throw error;
      },
    ) as T;
  } catch (error) {
    failed(span, error);
    span.end();
    throw error;
  }
}
