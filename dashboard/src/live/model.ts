// The rows that pages show: the route table's own types, with fields that a server may add.

import type { InputOf, LiveEvent, OutputOf, Permission } from "../../../src/admin/api.js";
import type { Shape } from "../draw/shape.js";

export type { InputOf, LiveEvent, OutputOf, Permission };

export type Session = OutputOf<"session.get">;
export type Holder = NonNullable<OutputOf<"runs.claims">["claims"][number]["holder"]>;
export type RunRow = OutputOf<"runs.list">["rows"][number] & { readonly key?: string | null };
export type RunState = RunRow["state"];
export type RunDetail = OutputOf<"runs.get">;
export type Entry = OutputOf<"runs.journal">["entries"][number];
export type Claim = OutputOf<"runs.claims">["claims"][number];
export type TaskRow = OutputOf<"runs.tasks">["tasks"][number];
export type Visit = OutputOf<"runs.visits">["visits"][number];
export type NodeRow = OutputOf<"nodes.list">["rows"][number];
export type NodeDetail = OutputOf<"nodes.get">;
export type Takeover = OutputOf<"takeovers.list">["rows"][number];
export type Overview = OutputOf<"overview.get">;
export type Attention = Overview["attention"][number];
export type Figure = OutputOf<"figures.list">["figures"][number];
export type Approval = OutputOf<"approvals.list">["rows"][number];
export type DeadGroup = OutputOf<"dead.groups">["groups"][number];
export type DeadLetter = OutputOf<"dead.list">["rows"][number];
export type QueueRow = OutputOf<"queues.list">["rows"][number];
export type LimitRow = OutputOf<"limits.list">["rows"][number];
export type ScheduleRow = OutputOf<"schedules.list">["rows"][number];
export type TriggerRow = OutputOf<"triggers.list">["rows"][number];
export type InstanceRow = OutputOf<"machines.list">["rows"][number];
export type InstanceDetail = OutputOf<"machines.get">;
export type TimerRow = OutputOf<"timers.list">["rows"][number];
export type LeaseRow = OutputOf<"leases.list">["rows"][number];
export type ProgramRow = Omit<OutputOf<"programs.list">["rows"][number], "shape" | "inputSchema"> & {
  readonly shape: Shape | null;
  readonly inputSchema: JsonSchema | null;
};
export type DefinitionRow = OutputOf<"definitions.list">["rows"][number];
export type AuditRow = OutputOf<"audit.list">["rows"][number];
export type TokenRow = OutputOf<"tokens.list">["rows"][number];
export type Finding = OutputOf<"doctor.get">["findings"][number];

/** The part of JSON Schema that a form is made from. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
}

export const RUN_STATES: readonly RunState[] = [
  "waiting",
  "running",
  "parked",
  "held",
  "blocked",
  "paused",
  "completed",
  "failed",
  "dead",
  "quarantined",
  "cancelled",
  "skipped",
];
export const ENDED_STATES: readonly RunState[] = ["completed", "failed", "dead", "cancelled", "skipped"];
export const RETRYABLE_STATES: readonly RunState[] = ["failed", "dead", "quarantined"];
