// Dead letters: runs that failed for good, with the reason. An operator can retry them.

import { decodeError, type RecordedError, type StoredError } from "../kernel/codec/recorded-error.js";
import { RETRYABLE_STATES, type RunState } from "../kernel/run/run-state.js";
import { type CrashReason, crashLimit } from "../kernel/run/suspicion.js";
import type { RetryAnswer } from "../store/contract/run/retry.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { RunsOptions } from "./runs.js";

/** Which dead letters are meant. Without a field: all of them. */
export interface DeadFilter {
  /** Only runs of this program. */
  readonly program?: string;
  /** Only runs of this queue. */
  readonly queue?: string;
  /** Only runs in one of these states. @default dead, failed and quarantined */
  readonly states?: readonly DeadState[];
}

export type DeadState = (typeof RETRYABLE_STATES)[number];

/** A run that failed for good, with the reason. */
export interface DeadLetter extends RunRecord {
  /** The error the run failed with. */
  readonly reason: RecordedError | null;
}

/** Options of `retry`: who asks, and from where the run continues. */
export interface RetryOptions {
  /** Who asks; recorded in the journal of the run. @default `"client"` */
  readonly by?: string;
  /** `last`: the run continues where it was, and what failed last is tried again. `start`: it begins again with the same input. @default `last` */
  readonly from?: "last" | "start";
}

/** Options of `retryAll`. */
export interface RetryAllOptions extends RetryOptions {
  /** Called after each page of at most 500 runs with the number so far. */
  readonly onProgress?: (runs: number) => void;
}

type DeadLettersOptions = Pick<RunsOptions, "store" | "codecs" | "env" | "world">;

/** The most runs per call to the store. */
const PAGE = 500;

/** Lists and retries the runs that failed, died or are quarantined. */
export class DeadLetters {
  readonly #options: DeadLettersOptions;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  /** Newest first. `next` is the `before` of the following page. */
  async list(
    filter: DeadFilter = {},
    page: { readonly limit?: number; readonly before?: string } = {},
  ): Promise<{ readonly letters: readonly DeadLetter[]; readonly next: string | null }> {
    const { limit = 50, before } = page;
    const { runs, next } = await this.#options.store.runs.list(this.#filter(filter), {
      limit,
      ...(before !== undefined && { before }),
    });
    const letters = await Promise.all(runs.map(async (run) => ({ ...run, reason: await this.#reason(run) })));
    return { letters, next };
  }

  /** How many there are. */
  async count(filter: DeadFilter = {}): Promise<number> {
    const counts = await this.#options.store.runs.count(this.#filter(filter));
    return Object.values(counts).reduce((sum, n) => sum + n, 0);
  }

  /** Retries these runs. Answers are in the order of the ids. */
  retry(runIds: readonly string[], options: RetryOptions = {}): Promise<readonly RetryAnswer[]> {
    const { by = "client", from = "last" } = options;
    return this.#options.store.runs.retry(runIds, {
      by,
      callId: this.#options.world.token(),
      fromStart: from === "start",
    });
  }

  /** Retries all of them, page by page, and returns how many. Runs that die meanwhile are left for another call. */
  async retryAll(filter: DeadFilter = {}, options: RetryAllOptions = {}): Promise<number> {
    let retried = 0;
    let before: string | null = null;
    do {
      const { runs, next }: { runs: readonly RunRecord[]; next: string | null } = await this.#options.store.runs.list(
        this.#filter(filter),
        { limit: PAGE, ...(before !== null && { before }) },
      );
      const ids = runs.map(({ id }) => id);
      const answers = ids.length > 0 ? await this.retry(ids, options) : [];
      retried += answers.filter(({ outcome }) => outcome === "retried").length;
      options.onProgress?.(retried);
      before = next;
    } while (before !== null);
    return retried;
  }

  #filter({ program, queue, states = RETRYABLE_STATES }: DeadFilter) {
    return {
      env: this.#options.env,
      states: states as readonly RunState[],
      ...(program !== undefined && { program }),
      ...(queue !== undefined && { queue }),
    };
  }

  /** The last journal entry holds the reason the run ended. */
  async #reason({ id, seq }: RunRecord): Promise<RecordedError | null> {
    const page = await this.#options.store.journal.read(id, { after: seq - 1, limit: 1 });
    const payload = page?.entries[0]?.payload;
    if (!payload) return null;
    const stored = this.#options.codecs.decode(payload) as Partial<StoredError> & Partial<CrashReason>;
    if (stored.code === "CRASH_LIMIT") return decodeError(crashLimit(stored, "run"));
    return typeof stored.message === "string" ? decodeError({ name: "Error", ...stored }) : null;
  }
}
