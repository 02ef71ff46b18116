// Drives a strategy over its journal: asks for the next move, makes it as a recorded call, and passes the result back.

import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError } from "../kernel/error.js";
import { type Retry, retryPolicy } from "../kernel/run/retry.js";
import { callId } from "../replay/recorded.js";
import type { Replay } from "../replay/replay.js";
import { StepCall } from "../replay/step-call.js";
import { WaitCall } from "../replay/wait-call.js";
import { type Surroundings, WorkflowContext } from "../workflow/workflow-context.js";
import { BudgetExhausted, type Purse } from "./budget.js";
import { CHECKPOINT, type Checkpoint, migrated } from "./checkpoint.js";
import type { Checkpoints, Counter, Done, FailedCall, Move, StrategyOptions } from "./strategy.js";

/** The strategy asks only for checkpoints and would do so for ever. */
export class StrategyStuck extends HoldfastError {
  readonly code = "STRATEGY_STUCK";

  constructor() {
    super("The strategy asked for a checkpoint twice in a row. Change the state in handle when a checkpoint is done.");
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a strategy's own types are its own affair
type Options = StrategyOptions<any, any, any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
type AnyMove = Move<any, any, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: as above
type AnyDone = Done<any, any>;

export interface DriveOptions {
  readonly strategy: Options;
  readonly replay: Replay;
  readonly surroundings: Surroundings;
  readonly purse: Purse;
  readonly checkpoint: Checkpoint | null;
  readonly retry: Retry | undefined;
  /** From a definition in the database. */
  readonly config: unknown;
  readonly onCheckpoint: (version: number) => void;
}

export class Drive {
  readonly #options: DriveOptions;
  readonly #checkpoints: Checkpoints;
  readonly #asked: Map<string, number>;
  readonly #consumed: Map<string, number>;
  readonly #ctx: WorkflowContext;
  readonly #counter: Counter;
  #moves: number;
  /** The current state, for onBudgetExhausted. */
  state: unknown = undefined;

  constructor(options: DriveOptions) {
    const { strategy, replay, surroundings, checkpoint, purse } = options;
    this.#options = options;
    this.#checkpoints = strategy.checkpoints ?? { version: 1 };
    this.#asked = new Map(checkpoint?.asked);
    this.#consumed = new Map(checkpoint?.consumed);
    this.#moves = checkpoint?.moves ?? 0;
    this.#ctx = new WorkflowContext(replay, { ...surroundings, asked: this.#asked });
    this.#counter = {
      spend: (usage) => purse.spend(usage),
      get spent() {
        return purse.spent;
      },
    };
  }

  async run(input: unknown): Promise<unknown> {
    const { strategy, checkpoint, purse } = this.#options;
    this.state = checkpoint ? this.#restored(checkpoint) : await this.#init(input);
    let saved = checkpoint !== null;
    for (;;) {
      const move: AnyMove = strategy.next(this.state, purse.spent);
      if (move.do === "done") return move.result;
      if (move.do === "checkpoint" && saved) throw new StrategyStuck();
      saved = move.do === "checkpoint";
      if (move.do !== "checkpoint") purse.spend({ turns: 1 });
      await this.#make(move);
    }
  }

  #restored(checkpoint: Checkpoint): unknown {
    return this.#handled(migrated(checkpoint, this.#checkpoints), { did: "checkpoint" });
  }

  #init(input: unknown): Promise<unknown> {
    const { strategy, surroundings, retry, config } = this.#options;
    const work = strategy.init as (...args: unknown[]) => unknown;
    return this.#ctx.step("init", retryOf(retry), (step) => work(step, input, surroundings.services, config));
  }

  #handled(state: unknown, done: AnyDone): unknown {
    return this.#options.strategy.handle(state, done, this.#counter);
  }

  async #make(move: Exclude<AnyMove, { do: "done" }>): Promise<void> {
    this.#moves++;
    if (move.do === "call") return this.#call(move);
    this.state = this.#handled(this.state, await this.#wait(move));
  }

  async #wait(move: Exclude<AnyMove, { do: "done" | "call" }>): Promise<AnyDone> {
    switch (move.do) {
      case "checkpoint":
        this.state = (await this.#save()).state;
        return { did: "checkpoint" };
      case "approval": {
        const { do: _, name, ...question } = move;
        return { did: "approval", name, decision: await this.#ctx.approval(name, question) };
      }
      case "sleep":
        await this.#ctx.sleep(move.name, move.for);
        return { did: "sleep", name: move.name };
      case "wait": {
        const signal = this.#options.strategy.signals[move.name];
        const payload = await this.#receive(signal.name, move.timeout);
        return { did: "wait", name: move.name, payload } as AnyDone;
      }
    }
  }

  /** Counts what it consumes: a checkpoint records which messages are still unread. */
  #receive(name: string, timeout: Duration | undefined): Promise<unknown> {
    const { replay, surroundings } = this.#options;
    const key = String(this.#moves);
    const timeoutMs = timeout === undefined ? null : toMs(timeout, `wait ${JSON.stringify(name)}`);
    return new Promise((resolve, reject) => {
      const call = { id: callId("wait", name, key), name, key, replay, codecs: surroundings.codecs, timeoutMs, reject };
      const received = (payload: unknown, messageKey: string | null) => {
        if (messageKey !== null) this.#consumed.set(name, (this.#consumed.get(name) ?? 0) + 1);
        resolve(payload);
      };
      replay.ask(new WaitCall({ ...call, kind: "wait", resolve: received }));
    });
  }

  async #call(move: Extract<AnyMove, { do: "call" }>): Promise<void> {
    const { strategy, surroundings, retry } = this.#options;
    const { name, args, timeout, finishOnAbort = false } = move;
    const work = strategy.steps[name] as (...args: unknown[]) => unknown;
    const tries = { ...retryOf(move.retry ?? retry), ...(timeout && { timeout }) };
    const rules = { key: String(this.#moves), finishOnAbort, ...tries };
    let result: unknown;
    try {
      result = await this.#ctx.step(name, rules, (step) => work(step, args, surroundings.services));
    } catch (error) {
      this.state = this.#failed({ name, args }, error);
      return;
    }
    this.state = this.#handled(this.state, { did: "call", name, args, result } as AnyDone);
  }

  #failed(call: FailedCall, error: unknown): unknown {
    const { failed } = this.#options.strategy;
    if (!failed || error instanceof BudgetExhausted) throw error;
    return failed(this.state, call, error, this.#counter);
  }

  /** Returns the stored form: the state as the next holder would read it. */
  #save(): Promise<Checkpoint> {
    const { replay, surroundings, purse, onCheckpoint } = this.#options;
    const { version } = this.#checkpoints;
    const checkpoint: Checkpoint = {
      version,
      state: this.state,
      spent: purse.spent,
      moves: this.#moves,
      asked: [...this.#asked],
      consumed: [...this.#consumed],
    };
    const key = String(this.#moves);
    return new Promise((resolve, reject) => {
      const call = {
        id: callId(CHECKPOINT, CHECKPOINT, key),
        name: CHECKPOINT,
        key,
        replay,
        codecs: surroundings.codecs,
      };
      const settle = {
        resolve: (saved: Checkpoint) => {
          onCheckpoint(version);
          resolve(saved);
        },
        reject,
      };
      replay.ask(
        new StepCall({ ...call, ...settle, kind: CHECKPOINT, work: () => checkpoint, policy: retryPolicy(1) }),
      );
    });
  }
}

function retryOf(retry: Retry | undefined): { readonly retry?: Retry } {
  return retry === undefined ? {} : { retry };
}
