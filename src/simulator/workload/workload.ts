// The work of a simulation: programs for each node, and a driver that starts, signals and cancels their runs.

import type { World } from "../../kernel/world.js";
import type { AnyDefinition } from "../../program/definition.js";
import type { StepInfo } from "../../replay/step-call.js";
import type { Store } from "../../store/contract/store.js";
import type { Transaction } from "../../store/contract/transaction.js";
import type { EventType } from "../../trigger/event.js";
import type { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { Client } from "../client.js";
import type { EffectKind, EffectLog } from "../effect-log.js";
import type { Swarm } from "../swarm.js";

/** How an attempt goes: how long it takes, how often it fails, how often it kills its node. */
export interface EffectOp extends EffectKind {
  readonly ms: number;
  readonly fails: number;
  readonly kills: number;
}

/** Where a step works: inside one incarnation of a node, watched by the effect log. */
export interface Place {
  /** Answers something that no other attempt answers. `after`: idempotency keys of the results it builds on. */
  effect(runId: string, info: StepInfo, op: EffectOp, after: readonly string[]): Promise<string>;
  /** Starts a run in a transaction of a step. */
  start(workflow: AnyDefinition, input: unknown, tx: Transaction): Promise<void>;
  /** Emits an event in a transaction of a step. */
  emit<Payload extends object>(
    type: EventType<string, Payload>,
    payload: NoInfer<Payload>,
    tx: Transaction,
  ): Promise<void>;
}

export interface DriveOptions {
  readonly client: Client;
  /** It, and others besides: processes of their own that do the same things at the same time. */
  readonly clients: readonly Client[];
  /** In an env of its own, where a node has the same programs. */
  readonly sister: Client | null;
  /** The names of the cluster's nodes. */
  readonly nodes: readonly string[];
  readonly chance: Chance;
  readonly swarm: Swarm;
  /** Calls back at a moment of virtual time. */
  readonly at: (ms: number, run: () => void) => void;
  /** All runs there are, children included. */
  readonly runIds: () => readonly string[];
}

export interface Workload {
  /** In which stack the nth node, or the nth client, is; not given: in none. */
  stackOf?(who: "node" | "client", nth: number): string | null;
  /** `node`: the same in all lives of a process. */
  programs(place: Place, node: string): readonly AnyDefinition[];
  /** Starts what runs in a node's process next to the node, and dies with it. */
  beside?(store: Store, world: World): void;
  /** Plans what clients do while faults continue. */
  drive(options: DriveOptions): void;
  /** Everything is healed: brings a run that still waits closer to its end. Called again and again. */
  urge(options: DriveOptions, run: ModelRun): void;
  /** Whether this run may wait for ever. */
  mayWait(run: ModelRun, history: History): boolean;
  /** Whether it is not among the `runIds` of a driver, which cancels, pauses and retries any of them. Not given: all are. */
  isLeftAlone?(run: ModelRun): boolean;
  /** Whether the steps of this run make attempts that the effect log knows. Not given: all do. */
  makesAttempts?(run: ModelRun): boolean;
  /** Called at the end: checks what only this workload knows. Violations are reported to the history. */
  check(history: History, effects: EffectLog): Promise<void>;
}
