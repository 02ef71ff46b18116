// The events of the engine: which node got which run, how it ended, what was reclaimed from which node.

import type { Drain, ModeState, NodeMode } from "../kernel/node-mode.js";
import type { RunGroup } from "../kernel/run/new-run.js";
import type { SkippedRun } from "../store/contract/node/attend.js";
import type { NodeExecutor } from "../store/contract/node/nodes.js";
import type { DeclarationConflict, ExpiredRun, Reclaimed } from "../store/contract/run/runs.js";
import type { Served } from "./claiming/routing.js";

/** Facts about a run. */
interface OfRun {
  /** The id of the run. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** The number of the claim. */
  readonly epoch: number;
}

/** `kind`: of its program. `parentId`: the run whose task or child it is. */
interface OfWork extends OfRun {
  /** The kind of program, such as `workflow`. */
  readonly kind: string;
  /** The run that started it; null: none did. */
  readonly parentId: string | null;
}

/** What happened to orphans. */
export interface SweepCounts {
  /** Another node continues it, or starts it again. */
  readonly restarted: number;
  /** Given up as its policy says, or dead because it crashed too often. */
  readonly failed: number;
  /** Paused, known to no node, or another node was first. */
  readonly skipped: number;
}

/** One attempt of a step or a transaction. */
export interface StepFacts {
  /** The id of the run. */
  readonly runId: string;
  /** The name of the step. */
  readonly step: string;
  /** Distinguishes steps of one name. */
  readonly key: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
}

/** Events of a node about runs, steps, claims and the node itself, by name. */
export interface EngineEvents {
  /** `serves`: the groups it claims from. `programs`: all it has, each with the executor that works on it. */
  "node.started": {
    readonly serves: readonly RunGroup[];
    readonly executors: readonly NodeExecutor[];
    readonly programs: readonly Served[];
  };
  /** Programs of this node that no rule of \`serve\` gives to an executor: their runs are left to other nodes. */
  "node.unserved": { readonly programs: readonly Served[] };
  /** It claims nothing more, and lets the work under way end. */
  "node.stopping": { readonly active: number; readonly graceMs: number };
  /** `left`: runs whose work ignored its abort. They were not handed back and wait for their leases. */
  "node.stopped": { readonly left: number };
  /** Another node has replaced this one, which stops: both were alone, or this one was found dead. */
  "node.replaced": { readonly error: unknown };
  /** The mode of the node changed; running work continues. */
  "mode.changed": {
    readonly nodeMode: NodeMode;
    readonly overrides: ModeState["overrides"];
    readonly drain: Drain | null;
  };
  /** It has handed back what it held. `left`: runs whose work ignored its abort. */
  "node.drained": { readonly left: number };
  /** The event loop was blocked for longer than a renewal interval. */
  "node.blocked": { readonly lateMs: number };
  /** Started by this node, which leaves the work to other nodes. */
  "run.deferred": { readonly runId: string; readonly program: string; readonly stack: string | null };
  /** This node started a run, or a child, of a program that no live node takes runs of: it waits until such a node starts. */
  "run.unserved": { readonly runId: string } & Omit<RunGroup, "env">;
  /** This node took a run that another node, `by`, had started for others to work on. */
  "run.deferred_taken": OfRun & { readonly by: string };
  /** No node took it in time; it is cancelled. */
  "run.expired": ExpiredRun;
  /** A start with the key of an existing run. */
  "run.deduplicated": { readonly runId: string; readonly program: string; readonly key: string };
  /** The node has claimed the run and works on it. */
  "run.claimed": OfWork & { readonly executor: string; readonly attempt: number };
  /**
   * The claim was released in order; `as` is the kind of the journal's last entry, `ms` the time since the claim was granted. `error`: the
   * code or name of what it failed with; null when it has none, or under a codec that is not `json`.
   */
  "run.settled": OfWork & { readonly as: string; readonly ms: number; readonly error: string | null };
  /** The node stops: another node may take the run at once, and no attempt is counted. */
  "run.handed_back": OfRun;
  /**
   * The code of this node does not fit the journal: the run was handed back, uncounted, for a node of another build. `error`: the
   * code or name of what did not fit.
   */
  "run.misfit": OfRun & { readonly build: string; readonly error: string | null };
  /** It waited when the last live node left whose code might fit. It continues when such a node starts. */
  "run.quarantined": { readonly runId: string; readonly program: string };
  /** It was quarantined, and a live node has code that was not tried on it: it can be claimed again. */
  "run.lifted": { readonly runId: string; readonly program: string };
  /** An attempt of a step begins. */
  "step.started": StepFacts;
  /** Its result is in the journal. */
  "step.completed": StepFacts & { readonly ms: number };
  /** It is tried again after the delay. */
  "step.retried": StepFacts & { readonly error: unknown; readonly delayMs: number };
  /** It is not tried again. */
  "step.failed": StepFacts & { readonly error: unknown };
  /** It found no place under a limit and was skipped; emitted by the process whose call found it. */
  "run.overflowed": SkippedRun;
  /** A program broke outside the user's code; the run is left to its lease. */
  "run.broken": { readonly runId: string; readonly error: unknown };
  /** Reclaimed from an owner whose lease had expired or which was missed. `renewedAgoMs`: since its last renewal. */
  "run.reclaimed": Reclaimed;
  /** A round that reclaimed something. `staleAfterMs`: how long ago a lease must have expired. */
  "recovery.sweep": SweepCounts & { readonly staleAfterMs: number };
  /** Another node holds the run now. Nothing more of it is written here. */
  "claim.lost": { readonly runId: string; readonly epoch: number };
  /** Not renewed for a lease's time, as far as this node knows: it starts nothing new until it is. */
  "claim.in_doubt": { readonly runId: string; readonly epoch: number };
  /** A call for runs failed; the node asks again. */
  "claim.failed": { readonly error: unknown };
  /** A renewal failed; the node tries again while its leases last. */
  "lease.renew_failed": { readonly reason: "error"; readonly error: unknown; readonly count: number };
  /** The loop that renews the claims broke, and continues. */
  "lease.keeper_restarted": { readonly error: unknown };
  /** The log of a run has grown long: its workflow should continue as new (continueAsNew) before it is stopped. */
  "run.history_long": { readonly runId: string; readonly length: number };
  /**
   * A second wait for a signal, while an older one is open or took a message that nothing has used: the older one may have lost a
   * `Promise.race`, and takes messages all the same. Once per run and signal.
   */
  "run.wait_lost": { readonly runId: string; readonly signal: string; readonly advice: string };
  /** An episode has used up its budget. */
  "run.budget_exhausted": {
    readonly runId: string;
    readonly program: string;
    readonly limit: string;
    readonly turns: number;
    readonly tokens: number;
  };
  /** The state of a strategy was saved. */
  "run.checkpoint": { readonly runId: string; readonly program: string; readonly version: number };
  /** Its program's runs have failed one after the other: triggers start none. Emitted again when another fails meanwhile. */
  "breaker.opened": { readonly program: string; readonly runId: string; readonly failures: number };
  /** The run that was let through to try has succeeded. */
  "breaker.closed": { readonly program: string; readonly runId: string };
  /**
   * The store is unavailable or refuses what a run needs: its work is held and tried again after `delayMs`. `code`: PostgreSQL's own
   * where there is one; `during`: the operation, or the step whose function met it.
   */
  "store.trouble": {
    readonly runId: string;
    readonly during: string;
    readonly code: string;
    readonly tries: number;
    readonly delayMs: number;
    readonly error: unknown;
  };
  /** Another node that takes runs of this program has declared other limits or another recovery: those of the newer node apply. */
  "program.conflict": Omit<RunGroup, "env"> & Omit<DeclarationConflict, "group">;
  /** A round of housekeeping failed; the next one tries again. */
  "housekeeping.failed": { readonly error: unknown };
  /** With `recovery.reclaim: "one"`: whether this node is the one that reclaims. */
  "reclaimer.changed": { readonly active: boolean };
}
