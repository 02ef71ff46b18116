// The default workload: runs that play random scripts, signals and decisions that come early, late and twice, cancels at any
// moment.

import type { StartOptions } from "../client/runs.js";
import { codecs } from "../kernel/codecs.js";
import type { AnyWorkflow, Workflow } from "../workflow/context.js";
import { signal } from "../workflow/signal.js";
import { workflow } from "../workflow/workflow.js";
import type { Chance } from "./chance.js";
import type { ModelRun } from "./check/model.js";
import {
  APPROVAL,
  drawScript,
  play,
  type Script,
  type Seen,
  SIGNAL_NAMES,
  type SignalName,
  type Stage,
} from "./script.js";
import type { Swarm } from "./swarm.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const SIGNALS = { red: signal<string>("red"), blue: signal<string>("blue") };
const { decode } = codecs();

/** What will be done to one run, drawn before anything happens: nothing that happens shifts the draws. */
interface Plan {
  readonly script: Script;
  readonly options: StartOptions;
  readonly startAt: number;
  readonly signals: readonly { readonly name: SignalName; readonly afterMs: number; readonly twice: boolean }[];
  readonly decideAfterMs: readonly number[];
  readonly cancelAfterMs: number | null;
  /** Nobody helps it to its end. */
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

  programs(place: Place): readonly AnyWorkflow[] {
    return [scripted(place, this.#slots)];
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
  }

  /** Not all at once: what comes while the first is looked into is the interesting part. */
  urge({ client, chance, swarm, at }: DriveOptions, { id, messages }: ModelRun): void {
    const soon = () => chance.between(0, swarm.leaseMs / 4);
    for (const name of SIGNAL_NAMES) at(soon(), () => void client.signal(id, SIGNALS[name], this.#mark(name)));
    let nth = 1;
    while (messages.some(({ key }) => key === `wait:${APPROVAL}:${nth}`)) nth++;
    at(soon(), () => void client.decide(id, nth, this.#mark("by")));
  }

  mayWait({ id }: ModelRun): boolean {
    return this.#left.has(id);
  }

  scriptOf({ journal }: ModelRun): Script {
    return decode(journal[0]!.payload!) as Script;
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
      at(afterMs, () => void client.decide(runId, i + 1, this.#mark("by")));
    }
    if (plan.cancelAfterMs !== null) at(plan.cancelAfterMs, () => void client.cancel(runId));
  }

  #mark(name: string): string {
    return `${name}-${this.#told++}`;
  }
}

function drawPlan(chance: Chance, { leaseMs, faultsForMs }: Swarm, i: number): Plan {
  const soon = () => chance.between(0, faultsForMs / 2);
  return {
    script: drawScript(chance, leaseMs),
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
    left: chance.happens(0.1),
  };
}

/** Without a place it can be started, but not worked on. */
function scripted(place: Place | null, slots: number | null): Workflow<string, Script, Seen> {
  const limits = slots === null ? {} : { concurrency: slots };
  const program: Workflow<string, Script, Seen> = workflow("script", limits, (ctx, script: Script): Promise<Seen> => {
    const stage: Stage = {
      step: (op, after) =>
        ctx.step(op.name, { retry: { attempts: op.attempts, delay: op.ms, backoff: "fixed" } }, (info) =>
          place!.effect(ctx.runId, info, op, after),
        ),
      sleep: (name, ms) => ctx.sleep(name, ms),
      wait: (name, timeoutMs) =>
        timeoutMs === null ? ctx.waitFor(SIGNALS[name]) : ctx.waitFor(SIGNALS[name], { timeout: timeoutMs }),
      approval: async (timeoutMs) => {
        const asked = { ask: "May I?", ...(timeoutMs !== null && { timeout: timeoutMs }) };
        const decision = await ctx.approval(APPROVAL, asked);
        return decision.outcome === "expired" ? undefined : (decision.by ?? undefined);
      },
      child: (child) => ctx.child(program, child),
      value: () => ctx.random(),
    };
    return play(script, stage);
  });
  return program;
}
