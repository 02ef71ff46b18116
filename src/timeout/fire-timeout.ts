// Fires the timeouts that one look found: claims, fires and removes each, several at a time, so that a slow one blocks no other.

import { failureDetail } from "../kernel/failure-detail.js";
import { sleep, type World } from "../kernel/world.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { Telemetry } from "../telemetry/bus.js";
import { TimeoutClaimOver, TimeoutUnanswered } from "./error.js";
import { putOffMs } from "./sweep-pause.js";
import type { SweeperEvents, SweeperMetrics, TimeoutFacts } from "./sweeper-events.js";
import type { Fire, FireOutcome, SweeperSettings } from "./sweeper-options.js";
import type { ClaimedTimeout, ScheduledTimeout, TimeoutStore } from "./timeout-store.js";

export interface FiringParts<Id extends string, State extends string> {
  readonly store: TimeoutStore<Id, State>;
  readonly fire: Fire<Id, State>;
  readonly settings: SweeperSettings;
  readonly bus: Telemetry<SweeperEvents>;
  /** False: the sweeper is stopping or is no longer the leader, and claims nothing more. */
  readonly mayContinue: () => boolean;
  /** A timeout was put off and is due again in `inMs`. */
  readonly onPutOff: (inMs: number) => void;
}

export interface Round {
  readonly claimed: number;
  /** Fired or stale: the next look does not find them. */
  readonly done: number;
}

/** A handler that failed because the database was unavailable is not to blame: its timeout is released uncounted after this pause. */
const HELD_MS = 1_000;

type During = SweeperEvents["sweeper.error"]["during"];

export class FiringRounds<Id extends string, State extends string> {
  readonly #parts: FiringParts<Id, State>;
  readonly #world: World;
  readonly #counts = { fired: 0, skipped: 0, claimConflicts: 0, errors: 0, dead: 0 };

  constructor(parts: FiringParts<Id, State>) {
    this.#parts = parts;
    this.#world = parts.settings.world;
  }

  counts(): Omit<SweeperMetrics, "sweeps"> {
    return { ...this.#counts };
  }

  /** Claims each timeout only when a handler is free for it, so that the claim does not run out while it waits. */
  async fireAll(timeouts: readonly ScheduledTimeout<Id, State>[]): Promise<Round> {
    let next = 0;
    const round = { claimed: 0, done: 0 };
    const serve = async () => {
      while (next < timeouts.length && this.#parts.mayContinue()) {
        const ended = await this.#serve(timeouts[next++]!);
        if (ended !== "not claimed") round.claimed++;
        if (ended === "done") round.done++;
      }
    };
    await Promise.all(Array.from({ length: this.#parts.settings.concurrency }, serve));
    return round;
  }

  async #serve(timeout: ScheduledTimeout<Id, State>): Promise<"not claimed" | "failed" | "done"> {
    const { store, settings } = this.#parts;
    const askedAt = this.#world.monotonicNow();
    const options = { claimMs: settings.claimMs };
    const answer = await this.#try("claim", () => store.claim(timeout, settings.nodeId, options));
    if (!answer) return "not claimed";
    if (answer.outcome === "alreadyClaimed") this.#counts.claimConflicts++;
    else if (answer.outcome !== "claimed") this.#counts.skipped++;
    if (answer.outcome !== "claimed") return "not claimed";
    if (answer.claim.attempts > settings.maxAttempts) {
      // No earlier attempt released it: they killed their processes, or never ended.
      await this.#giveUp(
        answer.claim,
        answer.claim.problem ?? "The nodes that claimed this timeout died before firing it.",
      );
      return "failed";
    }
    return (await this.#fireWithin(answer.claim, askedAt)) ? "done" : "failed";
  }

  /** A handler that hangs frees its place when its claim expires. A result that it returns later still counts. */
  async #fireWithin(claim: ClaimedTimeout<Id, State>, askedAt: number): Promise<boolean> {
    const { settings, bus } = this.#parts;
    const { claimMs } = settings;
    const abort = new AbortController();
    let cancel = () => {};
    const over = new Promise<boolean>((resolve) => {
      cancel = this.#world.after(askedAt + claimMs - this.#world.monotonicNow(), () => {
        this.#counts.errors++;
        bus.emit("timeout.overran", factsOf(claim));
        abort.abort(new TimeoutClaimOver(claim.instance, claimMs));
        resolve(false);
      });
    });
    return Promise.race([this.#fire(claim, abort.signal).finally(cancel), over]);
  }

  /** True if it fired or was stale. Never rejects. */
  async #fire(claim: ClaimedTimeout<Id, State>, signal: AbortSignal): Promise<boolean> {
    const { store, bus } = this.#parts;
    const fire = this.#parts.fire;
    let outcome: FireOutcome;
    try {
      outcome = await fire(claim, { signal, complete: ({ tx }) => store.complete(claim, { tx }) });
      if (outcome !== "fired" && outcome !== "stale") throw new TimeoutUnanswered(claim.instance, outcome);
    } catch (error) {
      await this.#putOff(claim, signal, error);
      return false;
    }
    if (outcome === "fired") this.#counts.fired++;
    else this.#counts.skipped++;
    bus.emit(`timeout.${outcome}`, factsOf(claim));
    // Fails without harm: if the row is still there, the next claim finds it stale; if the handler removed it, nothing is left to do.
    await this.#try("complete", () => store.complete(claim));
    return true;
  }

  async #putOff(claim: ClaimedTimeout<Id, State>, signal: AbortSignal, error: unknown): Promise<void> {
    const { store, bus, settings, onPutOff } = this.#parts;
    // Counted when its claim expired; it is due again since then.
    if (signal.aborted) return;
    this.#counts.errors++;
    const problem = failureDetail(error);
    if (isStoreTrouble(error)) {
      bus.emit("timeout.failed", { ...factsOf(claim), error, retryInMs: HELD_MS });
      await sleep(this.#world, HELD_MS);
      await this.#try("release", () => store.release(claim));
      return onPutOff(0);
    }
    if (claim.attempts >= settings.maxAttempts) {
      bus.emit("timeout.failed", { ...factsOf(claim), error, retryInMs: null });
      return this.#giveUp(claim, problem);
    }
    const retryInMs = putOffMs(claim.attempts, () => this.#world.random());
    bus.emit("timeout.failed", { ...factsOf(claim), error, retryInMs });
    await this.#try("release", () => store.release(claim, { retryInMs, problem }));
    onPutOff(retryInMs);
  }

  async #giveUp(claim: ClaimedTimeout<Id, State>, problem: string): Promise<void> {
    const { store, bus } = this.#parts;
    if (!(await this.#try("release", () => store.giveUp(claim, problem)))) return;
    this.#counts.dead++;
    bus.emit("timeout.dead", { ...factsOf(claim), problem });
  }

  async #try<T>(during: During, call: () => Promise<T>): Promise<T | null> {
    try {
      return await call();
    } catch (error) {
      this.#counts.errors++;
      this.#parts.bus.emit("sweeper.error", { during, error });
      return null;
    }
  }
}

function factsOf({ instance, state, sequence, attempts }: ScheduledTimeout): TimeoutFacts {
  return { instance, state, sequence, attempts };
}
