// One claimed job in a worker: runs its handler, renews its claim, writes its end once.

import { InvalidInput } from "../kernel/error.js";
import { Loop } from "../kernel/loop.js";
import { ClaimLost } from "../kernel/run/claim.js";
import { sleep, type World } from "../kernel/world.js";
import type { Transaction } from "../store/contract/transaction.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { ClaimedJob } from "./job.js";
import { type JobOutcome, outcomeOf } from "./job-outcome.js";
import type { WorkerEvents } from "./worker-events.js";
import type { WorkerSettings } from "./worker-options.js";

/** Delay before an end whose outcome is unknown is written again. */
const UNKNOWN_DELAY_MS = 200;

export class JobWork {
  readonly job: ClaimedJob;
  readonly #settings: WorkerSettings;
  readonly #bus: Telemetry<WorkerEvents>;
  readonly #world: World;
  readonly #abort = new AbortController();
  readonly #stopping = new AbortController();
  /** Aborts when there is nothing more to do for this job: it is settled, lost or abandoned. */
  readonly #over = new AbortController();
  /** The handler gave the job back: the worker does not ask for it again at once. */
  handedBack = false;
  #phase: "working" | "settling" | "over" = "working";
  #cancelled = false;

  constructor(job: ClaimedJob, settings: WorkerSettings, bus: Telemetry<WorkerEvents>) {
    this.job = job;
    this.#settings = settings;
    this.#bus = bus;
    this.#world = settings.world;
  }

  /** Resolves when the handler has ended and its job is settled, lost or abandoned. Never rejects. */
  async run(): Promise<void> {
    this.#report("job:claimed");
    const heartbeat = this.#heartbeat();
    this.#over.signal.addEventListener("abort", () => void heartbeat.stop());
    const context = {
      signal: this.#abort.signal,
      stopping: this.#stopping.signal,
      transaction: <T>(work: (tx: Transaction) => Promise<T>) => this.#transaction(work),
    };
    const outcome = await outcomeOf(() => this.#settings.handler(this.job, context));
    if (this.#phase === "working") {
      this.#phase = "settling";
      // An aborted handler may return as if everything were done. Another attempt loses nothing; an ack might.
      await this.#settle(this.#cancelled ? { kind: "handBack" } : outcome);
      this.handedBack = outcome.kind === "handBack";
    }
    this.letGo();
    await heartbeat.stop(Number.POSITIVE_INFINITY);
  }

  /** Refused when the claim was lost meanwhile; the handler then ends with that error, and the job is not touched. */
  #transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { queue } = this.#settings;
    if (!queue.transaction) throw new InvalidInput("transaction", "this queue has none; use claimEpoch as a fence");
    return queue.transaction(this.job, work);
  }

  /** The worker stops: the handler may finish its current piece. */
  stop(): void {
    this.#stopping.abort();
  }

  /** The grace period has ended. */
  cancel(): void {
    this.#cancelled = true;
    this.#abort.abort();
  }

  /** No more calls for this job: if it is not settled, its claim expires. */
  letGo(): void {
    this.#phase = "over";
    this.#over.abort();
  }

  #lose(): void {
    if (this.#phase === "over") return;
    this.letGo();
    this.#report("job:claim_lost");
    this.#abort.abort(new ClaimLost({ runId: this.job.id, epoch: this.job.claimEpoch, token: "" }));
  }

  /** Often enough for the job's own timeout: two heartbeats may get lost. */
  #heartbeat(): Loop {
    const { queue, workerId, heartbeatIntervalMs } = this.#settings;
    const everyMs = Math.min(heartbeatIntervalMs, Math.ceil(this.job.visibilityTimeoutMs / 3));
    const round = async () => {
      const { ok } = await queue.heartbeat(this.job, undefined, workerId);
      // While its end is being written, only the answer to that write shows who owns the job.
      if (!ok && this.#phase === "working") this.#lose();
    };
    const onError = (error: unknown) => this.#bus.emit("worker:error", { workerId, during: "heartbeat", error });
    const loop = new Loop({ world: this.#world, round, onError, pauseMs: () => everyMs });
    loop.start(everyMs);
    return loop;
  }

  /**
   * A write without an answer is repeated unchanged: failing the job because its ack got lost would execute it twice.
   */
  async #settle(outcome: JobOutcome): Promise<void> {
    const { workerId } = this.#settings;
    while (this.#phase === "settling") {
      try {
        return await this.#write(outcome);
      } catch (error) {
        this.#bus.emit("worker:error", { workerId, during: "settle", error });
        if (!isStoreTrouble(error)) return;
        await sleep(this.#world, UNKNOWN_DELAY_MS, this.#over.signal).catch(() => {});
      }
    }
  }

  async #write(outcome: JobOutcome): Promise<void> {
    const { queue, workerId } = this.#settings;
    switch (outcome.kind) {
      case "done":
        return (await queue.ack(this.job, workerId)) ? this.#report("job:completed") : this.#lose();
      case "release":
        return (await queue.release(this.job, workerId)) ? this.#report("job:released") : this.#lose();
      case "handBack":
        return (await queue.handBack(this.job, workerId)) ? this.#report("job:handed_back") : this.#lose();
      case "lost":
        return this.#lose();
      case "failed": {
        const became = await queue.nack(this.job, outcome.error, workerId);
        if (became === false) return this.#lose();
        this.#bus.emit(became === "waiting" ? "job:failed" : "job:dead_letter", {
          jobId: this.job.id,
          runId: this.job.runId,
          error: outcome.error,
        });
      }
    }
  }

  #report(name: "job:claimed" | "job:completed" | "job:released" | "job:claim_lost" | "job:handed_back"): void {
    this.#bus.emit(name, { jobId: this.job.id, runId: this.job.runId });
  }
}
