// Recovery in the terms of another system: a sweep that decides on each orphan, and a check that no DAG waits in vain.
//
// Nodes reclaim the runs of dead ones automatically, within about two seconds. A process that sweeps with its own
// callback turns that off on its nodes: `createNode({ recovery: { reclaim: "off" } })`.

import { fromEnvironment } from "../client/identity.js";
import type { EngineEvents, SweepCounts } from "../engine/events.js";
import { sweepCounts } from "../engine/upkeep/reclaim-counts.js";
import { InvalidInput } from "../kernel/error.js";
import { envName, stackName } from "../kernel/name.js";
import { RECOVERIES, type Recovery } from "../kernel/run/recovery.js";
import type { Orphan, RecoveryDecision } from "../store/contract/claim/recovery.js";
import type { Reclaimed, Reconciled } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";

/** Read per call to the store. */
const PAGE = 200;

/** Events of `recovery`, by name. */
export interface RecoveryEvents extends Pick<EngineEvents, "run.reclaimed" | "recovery.sweep"> {
  /** `reconcileWorkflows` has ended. */
  "recovery.reconciled": ReconcileResult;
  /** The callback threw for this run, which was left unchanged. */
  "recovery.policy_failed": { readonly runId: string; readonly error: unknown };
}

/** What `recovery` works on. */
export interface RecoveryParts {
  /** The store of the nodes. */
  readonly store: Store;
  /** The env whose runs are meant. @default HOLDFAST_ENV, otherwise `default` */
  readonly env?: string;
  /** The stack whose runs are meant. @default HOLDFAST_STACK, otherwise none */
  readonly stack?: string;
  /** Where its events are emitted. @default nowhere */
  readonly bus?: Telemetry<RecoveryEvents>;
}

/** Omitted: one's own. Null: all. */
export interface Scope {
  /** The stack whose runs are meant. */
  readonly sourceStack?: string | null;
  /** The env whose runs are meant. */
  readonly sourceEnv?: string | null;
}

/** Code that declares what happens to a run whose process died. */
interface WithPolicy {
  /** The policy. @default resume */
  readonly recovery?: Recovery;
}

/** A definition, or an actor with its expectations, by the program name of its runs. */
export type ActorRegistry = Readonly<
  Record<string, WithPolicy & { readonly expectations?: Readonly<Record<string, WithPolicy>> }>
>;

/** Options of `sweep`. */
export interface SweepOptions extends Scope {
  /** How long ago the lease must have expired. A run that renews its lease is never stale, however quiet it is. @default 0 */
  readonly staleAfterMs?: number;
  /** The code that declares a recovery policy per program. */
  readonly actorRegistry?: ActorRegistry;
  /** Called first; undefined: the code decides, then the nodes' declarations. */
  readonly resolvePolicy?: (orphan: Orphan) => Recovery | undefined | Promise<Recovery | undefined>;
}

/** How many orphans a sweep restarted, failed or skipped. */
export type SweepResult = SweepCounts;

/** How many runs were repaired. */
export type ReconcileResult = Reconciled;

/** Recovery by calls of your own, for processes that turned the nodes' own recovery off. */
export interface RecoveryCalls {
  /** Decides on every run whose holder is gone: it is resumed, restarted or failed by its policy. */
  sweep(options?: SweepOptions): Promise<SweepResult>;
  /**
   * Checks that every run waiting for tasks waits for exactly the open ones, and repairs what manual changes or older
   * versions left.
   */
  reconcileWorkflows(options?: Scope): Promise<ReconcileResult>;
}

/** Recovery under the names of another system: a sweep over orphans, and a check of DAGs that wait. */
export function recovery(parts: RecoveryParts): RecoveryCalls {
  const { store, bus } = parts;
  const found = fromEnvironment({ env: parts.env || undefined, stack: parts.stack || undefined });
  const own = { env: envName(found.env ?? "default", "env"), stack: found.stack && stackName(found.stack, "stack") };
  return {
    async sweep(options = {}) {
      const staleMs = options.staleAfterMs ?? 0;
      const scope = { ...scopeOf(options, own), staleMs, limit: PAGE };
      let seen = 0;
      const reclaimed: Reclaimed[] = [];
      for (let after: string | undefined; ; ) {
        const page = await store.runs.orphans({ ...scope, ...(after && { after }) });
        reclaimed.push(...(await store.runs.recover(await decide(page, options, bus), { staleMs })));
        seen += page.length;
        after = page.at(-1)?.runId;
        if (page.length < PAGE) break;
      }
      for (const one of reclaimed) bus?.emit("run.reclaimed", one);
      const result = sweepCounts(reclaimed, seen);
      bus?.emit("recovery.sweep", { ...result, staleAfterMs: staleMs });
      return result;
    },
    async reconcileWorkflows(options = {}) {
      const result = await store.runs.reconcile(scopeOf(options, own));
      bus?.emit("recovery.reconciled", result);
      return result;
    },
  };
}

function scopeOf({ sourceEnv, sourceStack }: Scope, own: { readonly env: string; readonly stack: string | undefined }) {
  const env = sourceEnv === undefined ? own.env : sourceEnv;
  const stack = sourceStack === undefined ? own.stack : sourceStack;
  return { ...(env && { env }), ...(stack && { stack }) };
}

/** A run whose callback throws is skipped, and does not delay the others. */
async function decide(
  page: readonly Orphan[],
  options: SweepOptions,
  bus: Telemetry<RecoveryEvents> | undefined,
): Promise<RecoveryDecision[]> {
  const decisions = await Promise.all(
    page.map(async (orphan): Promise<RecoveryDecision[]> => {
      try {
        const policy = await policyOf(orphan, options);
        return policy ? [{ runId: orphan.runId, epoch: orphan.epoch, policy }] : [];
      } catch (error) {
        bus?.emit("recovery.policy_failed", { runId: orphan.runId, error });
        return [];
      }
    }),
  );
  return decisions.flat();
}

/**
 * The callback, the code, then the nodes' declarations. If none knows the program, the run is left to a node that does.
 */
async function policyOf(orphan: Orphan, { resolvePolicy, actorRegistry }: SweepOptions): Promise<Recovery | null> {
  const asked = await resolvePolicy?.(orphan);
  if (asked !== undefined && !RECOVERIES.includes(asked)) {
    throw new InvalidInput("resolvePolicy", `must return one of ${RECOVERIES.join(", ")}, or nothing`);
  }
  return asked ?? inCode(orphan.group.program, actorRegistry) ?? orphan.recovery;
}

function inCode(program: string, registry: ActorRegistry = {}): Recovery | null {
  if (Object.hasOwn(registry, program)) return registry[program]!.recovery ?? "resume";
  const [name = "", ...rest] = program.split("::");
  const expectations = Object.hasOwn(registry, name) ? registry[name]!.expectations : undefined;
  const key = rest.join("::");
  return expectations && Object.hasOwn(expectations, key) ? (expectations[key]!.recovery ?? "resume") : null;
}
