// The default workload: runs that play random scripts, signals and decisions that come early, late and twice, cancels
// at any moment.

import type { StartOptions } from "../../client/runs.js";
import type { AnyDefinition } from "../../program/definition.js";
import { signal } from "../../replay/signal.js";
import type { Workflow } from "../../workflow/context.js";
import { workflow } from "../../workflow/workflow.js";
import type { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import { checkMarks } from "../check/marks.js";
import { decidedCall, decidedIn, type ModelRun } from "../check/model.js";
import { checkReplay } from "../check/replay.js";
import type { EffectLog } from "../effect-log.js";
import type { Swarm } from "../swarm.js";
import {
  APPROVAL,
  drawGenerations,
  play,
  type Script,
  type Seen,
  SIGNAL_NAMES,
  type SignalName,
  type Stage,
} from "./script.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const SIGNALS = { red: signal<string>("red"), blue: signal<string>("blue") };

/** What will be done to one run, drawn before anything happens: nothing that happens shifts the draws. */
interface Plan {
  readonly script: Script;
  readonly options: StartOptions;
  readonly startAt: number;
  readonly signals: readonly { readonly name: SignalName; readonly afterMs: number; readonly twice: boolean }[];
  readonly decideAfterMs: readonly number[];
  readonly cancelAfterMs: number | null;
  /** When an operator retries it, if it has failed by then. */
  readonly retry: { readonly afterMs: number; readonly from: "last" | "start" } | null;
  /** No client helps it to its end. */
  readonly left: boolean;
}

export class ScriptWorkload implements Workload {
  readonly #left = new Set<string>();
  /** Makes signals and deciders unlike any other. */
  #told = 0;
  readonly #slots: number | null;

  constructor({ slots }: Pick<Swarm, "slots">) {
    this.#slots = slots;
  }

  programs(place: Place): readonly AnyDefinition[] {
    return [scripted(place, this.#slots), mark];
  }

  drive(options: DriveOptions): void {
    const { client, chance, swarm, at, runIds } = options;
    for (let i = 0; i < swarm.runs; i++) {
      const plan = drawPlan(chance, swarm, i);
      at(plan.startAt, () => void this.#follow(options, plan));
    }
    for (let i = chance.int(0, 2); i > 0; i--) {
      // Any run, also a child.
      at(chance.between(0, swarm.faultsForMs), () => {
        const ids = runIds();
        if (ids.length > 0) void client.cancel(chance.one(ids));
      });
    }
    this.#pause(options);
    for (let i = chance.int(0, 3); i > 0; i--) {
      at(chance.between(0, swarm.faultsForMs * 1.5), () => {
        const ids = runIds();
        if (ids.length > 0) void client.retry(chance.one(ids), { from: "last" });
      });
    }
  }

  /** Drawn apart: more of them shift nothing else. */
  #pause({ client, chance, swarm, at, runIds }: DriveOptions): void {
    const own = chance.split("pauses");
    for (let i = own.int(0, 4); i > 0; i--) {
      const forMs = own.between(0, swarm.leaseMs * 2);
      at(own.between(0, swarm.faultsForMs * 1.3), () => {
        const ids = runIds();
        if (ids.length === 0) return;
        const id = own.one(ids);
        void client.pause(id).then(() => at(forMs, () => void client.resume(id)));
      });
    }
  }

  /** Not all at once: what comes while the first is looked into is the interesting part. */
  urge({ client, chance, swarm, at }: DriveOptions, run: ModelRun): void {
    const { id, program, state, wakeAtUs, messages, baseSeq } = run;
    if (state === "paused") at(0, () => void client.resume(id));
    // A run that does not park has all it needs; one with a deadline wakes at it.
    if (program !== "script" || state !== "parked" || wakeAtUs !== null) return;
    const soon = () => chance.between(0, swarm.leaseMs / 4);
    for (const name of SIGNAL_NAMES) at(soon(), () => void client.signal(id, SIGNALS[name], this.#mark(name)));
    let nth = 1;
    const isDecided = (call: string) =>
      messages.some(
        ({ key, kind }) => /decision|timeout/.test(kind) && decidedCall(key) === call && decidedIn(key) === baseSeq,
      );
    while (isDecided(`${APPROVAL}:${nth}`)) nth++;
    at(soon(), () => void client.decide(id, APPROVAL, { choice: "approved", by: this.#mark("by"), nth }));
  }

  /** A failover may have undone the resume of a paused one: that is asked for again. */
  mayWait({ id, state }: ModelRun): boolean {
    return this.#left.has(id) && state !== "paused";
  }

  async check(history: History, effects: EffectLog): Promise<void> {
    checkMarks(history, effects);
    await checkReplay(history, ({ program }) => program === "script");
  }

  async #follow({ client, at }: DriveOptions, plan: Plan): Promise<void> {
    const runId = await client.start(scripted(null, this.#slots), plan.script, plan.options);
    if (runId === null) return;
    if (plan.left) this.#left.add(runId);
    for (const { name, afterMs, twice } of plan.signals) {
      const payload = this.#mark(name);
      at(afterMs, () => void client.signal(runId, SIGNALS[name], payload));
      if (twice) at(afterMs * 1.1, () => void client.signal(runId, SIGNALS[name], payload));
    }
    for (const [i, afterMs] of plan.decideAfterMs.entries()) {
      at(afterMs, () => void client.decide(runId, APPROVAL, { choice: "approved", by: this.#mark("by"), nth: i + 1 }));
    }
    const { retry } = plan;
    if (retry) at(retry.afterMs, () => void client.retry(runId, { from: retry.from }));
    if (plan.cancelAfterMs !== null) at(plan.cancelAfterMs, () => void client.cancel(runId));
  }

  #mark(name: string): string {
    return `${name}-${this.#told++}`;
  }
}

function drawPlan(chance: Chance, { leaseMs, faultsForMs }: Swarm, i: number): Plan {
  const soon = () => chance.between(0, faultsForMs / 2);
  return {
    script: drawGenerations(chance, leaseMs),
    options: {
      ...(chance.happens(0.6) && { key: `key-${i}` }),
      ...(chance.happens(0.2) && { delay: Math.ceil(leaseMs * chance.random()) }),
      priority: chance.int(0, 2),
    },
    startAt: chance.between(0, faultsForMs * 0.7),
    signals: Array.from({ length: chance.int(0, 4) }, () => {
      return { name: chance.one(SIGNAL_NAMES), afterMs: soon(), twice: chance.happens(0.2) };
    }),
    decideAfterMs: Array.from({ length: chance.int(0, 2) }, soon),
    cancelAfterMs: chance.happens(0.12) ? soon() : null,
    retry: chance.happens(0.3) ? { afterMs: 2 * soon(), from: chance.one(["last", "start"]) } : null,
    left: chance.happens(0.1),
  };
}

/** Shows that a transaction was committed: it is there, and comes to its end, exactly as often as that. */
const mark = workflow("mark", async (_ctx, idempotencyKey: string) => idempotencyKey);

/** Without a place it can be started, but not executed. */
function scripted(place: Place | null, slots: number | null): Workflow<string, Script, Seen> {
  const limits = slots === null ? {} : { concurrency: slots };
  const program: Workflow<string, Script, Seen> = workflow("script", limits, (ctx, script: Script): Promise<Seen> => {
    const stage: Stage = {
      step: (op, after) => {
        const options = { retry: { attempts: op.attempts, delay: op.delayMs, backoff: "fixed" } } as const;
        if (op.do === "step") return ctx.step(op.name, options, (info) => place!.effect(ctx.runId, info, op, after));
        return ctx.transaction(op.name, options, async (tx, info) => {
          const result = await place!.effect(ctx.runId, info, op, after);
          await place!.start(mark, info.idempotencyKey, tx);
          return result;
        });
      },
      sleep: (name, ms) => ctx.sleep(name, ms),
      wait: (name, timeoutMs) =>
        timeoutMs === null ? ctx.waitFor(SIGNALS[name]) : ctx.waitFor(SIGNALS[name], { timeout: timeoutMs }),
      approval: async ({ timeoutMs, otherwise }) => {
        const decision = await ctx.approval(APPROVAL, {
          ask: "May I?",
          ...(timeoutMs !== null && { timeout: timeoutMs }),
          ...(otherwise !== null && { default: otherwise }),
        });
        return decision.outcome === "expired" ? undefined : (decision.by ?? decision.outcome);
      },
      child: (child) => ctx.child(program, child),
      value: () => ctx.random(),
      patched: (name) => ctx.patched(name),
      continueAsNew: (next) => ctx.continueAsNew(next),
    };
    return play(script, stage);
  });
  return program;
}
