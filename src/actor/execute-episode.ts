// Executes one claimed episode: replays its strategy, within its budget, and releases the claim with the outcome.

import type { Program } from "../engine/program.js";
import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { omit } from "../kernel/omit.js";
import type { Effect } from "../kernel/run/effect.js";
import { type Retry, retryPolicy } from "../kernel/run/retry.js";
import type { ProgramEnvironment } from "../program/environment.js";
import { callId, readRecorded } from "../replay/recorded.js";
import { Replay } from "../replay/replay.js";
import { misfit, type SessionOutcome, settlement } from "../replay/settlement.js";
import { StepCall } from "../replay/step-call.js";
import { play } from "../workflow/execute.js";
import type { Surroundings } from "../workflow/workflow-context.js";
import { type Budget, BudgetExhausted, Purse, workedMs } from "./budget.js";
import { type Checkpoint, CheckpointUnreadable, splitAtCheckpoint } from "./checkpoint.js";
import { Drive } from "./drive-strategy.js";
import { BudgetedContext } from "./episode-context.js";
import type { AnyExpectation, Exhausted } from "./expectation.js";
import { DEFINITION, type RegisteredStrategy, StrategyUnknown, strategyOf, type Used } from "./named-strategy.js";

export interface EpisodeParts extends Omit<Program, "execute"> {
  readonly budget: Budget;
  readonly retry: Retry | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the strategy takes
  readonly onBudgetExhausted: ((exhausted: Exhausted<any>) => unknown) | undefined;
  readonly strategy: AnyExpectation["strategy"];
}

export function episodeProgram(parts: EpisodeParts, environment: ProgramEnvironment): Program {
  const program = omit(parts, "budget", "retry", "onBudgetExhausted", "strategy");
  return { ...program, execute: (session) => new Episode(parts, environment, session).execute() };
}

class Episode {
  readonly #parts: EpisodeParts;
  readonly #environment: ProgramEnvironment;
  readonly #session: Session;
  #purse: Purse;
  #drive: Drive | null = null;
  #input: unknown = undefined;

  constructor(parts: EpisodeParts, environment: ProgramEnvironment, session: Session) {
    this.#parts = parts;
    this.#environment = environment;
    this.#session = session;
    this.#purse = new Purse(parts.budget);
  }

  async execute(): Promise<void> {
    const { historyLimit } = this.#environment;
    const session = this.#session;
    const log = await session.history(false);
    const split = splitAtCheckpoint(log, this.#environment.codecs);
    const recorded = readRecorded(split.log, session.run.baseSeq);
    this.#purse = new Purse(this.#parts.budget, split.checkpoint?.spent);
    const { timeoutMs: budgetMs } = this.#parts.budget;
    const leftMs = budgetMs === null ? null : Math.max(budgetMs - workedMs(log), 0);
    const since = session.databaseNow();
    const replay = new Replay(session, recorded, { timeoutMs: leftMs, since, historyLimit, atWork: true });
    const outcome = await play(replay, this.#environment, () => this.#begin(replay, split.checkpoint));
    await session.commit([this.#settlement(outcome)]);
  }

  /** Returns the strategy's own promise, boxed, so that awaiting this does not await the strategy. */
  async #begin(replay: Replay, checkpoint: Checkpoint | null): Promise<{ body: Promise<unknown> }> {
    const { codecs, newChild, writes, servicesFor } = this.#environment;
    const { strategy, name: program } = this.#parts;
    const { runId } = this.#session.run;
    try {
      const input = codecs.decode(replay.recorded.start.payload!);
      this.#input = input;
      const services = await servicesFor({ runId, program, input });
      const surroundings = { codecs, newChild, writes, services };
      const run = (found: RegisteredStrategy, config: unknown) =>
        this.#run({ strategy: found, config, replay, surroundings, checkpoint, input });
      if (typeof strategy === "function" || strategy.kind === "strategy") return { body: run(strategy, undefined) };
      const { used, registry } = strategy;
      return { body: recordedUse(replay, codecs, used).then((its) => run(strategyOf(its, registry), its.config)) };
    } catch (error) {
      return { body: Promise.reject(error) };
    }
  }

  async #run(work: Work): Promise<unknown> {
    const { strategy, config, replay, surroundings, checkpoint, input } = work;
    const { name: program, retry } = this.#parts;
    const { runId } = this.#session.run;
    if (typeof strategy === "function") {
      return strategy(new BudgetedContext(replay, surroundings, this.#purse, retry), input, config);
    }
    const onCheckpoint = (version: number) => this.#session.bus.emit("run.checkpoint", { runId, program, version });
    const rest = { replay, surroundings, purse: this.#purse, checkpoint, retry, config, onCheckpoint };
    this.#drive = new Drive({ strategy: strategy.options, ...rest });
    return this.#drive.run(input);
  }

  #settlement(outcome: SessionOutcome): Effect {
    const { codecs } = this.#environment;
    const { timeoutMs } = this.#parts.budget;
    if (outcome.kind === "timeout")
      return this.#exhausted(new BudgetExhausted("timeout", timeoutMs!, this.#purse.spent));
    if (outcome.kind === "threw" && outcome.error instanceof BudgetExhausted) return this.#exhausted(outcome.error);
    if (outcome.kind === "threw" && isUnknownHere(outcome.error)) return misfit(outcome.error, codecs, this.#session);
    return settlement(outcome, codecs, this.#session);
  }

  #exhausted(error: BudgetExhausted): Effect {
    const { onBudgetExhausted, name: program } = this.#parts;
    const { runId } = this.#session.run;
    const { limit, spent } = error;
    this.#session.bus.emit("run.budget_exhausted", { runId, program, limit, ...spent });
    return settlement(this.#answer(error, onBudgetExhausted), this.#environment.codecs, this.#session);
  }

  #answer(error: BudgetExhausted, answer: EpisodeParts["onBudgetExhausted"]): SessionOutcome {
    if (!answer) return { kind: "threw", error };
    const { limit, spent } = error;
    try {
      return { kind: "returned", value: answer({ limit, spent, input: this.#input, state: this.#drive?.state }) };
    } catch (thrown) {
      return { kind: "threw", error: thrown };
    }
  }
}

interface Work {
  readonly strategy: RegisteredStrategy;
  readonly config: unknown;
  readonly replay: Replay;
  readonly surroundings: Surroundings;
  readonly checkpoint: Checkpoint | null;
  readonly input: unknown;
}

/** Another node, or this one after a deploy, may be able to continue. */
function isUnknownHere(error: unknown): error is CheckpointUnreadable | StrategyUnknown {
  return error instanceof CheckpointUnreadable || error instanceof StrategyUnknown;
}

/** The first time, the current definition; from then on, the recorded one. */
function recordedUse(replay: Replay, codecs: Codecs, used: Used): Promise<Used> {
  return new Promise((resolve, reject) => {
    const call = { kind: "value", id: callId("value", DEFINITION, "1"), name: DEFINITION, key: "1" } as const;
    replay.ask(new StepCall({ ...call, work: () => used, policy: retryPolicy(1), replay, codecs, resolve, reject }));
  });
}
