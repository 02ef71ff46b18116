// Statistics: starts, ends, durations and depths over time. One node of an env at a time counts them from the stored rows.
//
// A round counts the last closed steps again, because a commit may become visible after the time that it carries; a number only
// rises, so that repeating a round is safe and a retry takes nothing away. Fine steps are joined into coarser ones as they age, which
// bounds the rows.

/** Lengths of a step in milliseconds, the finest first. */
export const STEPS_MS = [10_000, 60_000, 3_600_000] as const;

/** Old figures are joined into longer steps, and removed, this often. */
export const JOIN_EVERY_MS = 600_000;
export const JOIN_PART = "statistics-join";
export type StepMs = (typeof STEPS_MS)[number];

/** Older steps are joined into those of the next length; of the last length, removed. */
export const STEP_KEPT_MS = [2 * 3_600_000, 2 * 86_400_000, 90 * 86_400_000] as const;

/** How many closed steps a round counts. */
export const COUNTED_STEPS = 3;

/** Ids carry the clock of the process that made them: a start further away from its id than this is not counted. */
export const ID_SKEW_MS = 10_000;

/** The upper bounds of the durations from creation to end; the last count has none. */
export const DURATION_BOUNDS_MS: readonly number[] = [
  0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
].map((seconds) => seconds * 1_000);

/** The name of all programs or queues after this many, in the order of names. */
export const OTHER = "other";
export const MOST_NAMES = 200;

/** A round counts at most this many runs of a group in one state. */
export const MOST_SAMPLED = 100_000;

export interface CollectRound {
  readonly env: string;
  /** Does nothing when a node of the env has done a round within this time. */
  readonly everyMs: number;
}

export interface FiguresRequest {
  readonly env: string;
  /** From this time, inclusive, to that, exclusive. */
  readonly from: number;
  readonly to: number;
  /** Steps of the answer. Figures that were joined into coarser steps are in the first step of theirs. */
  readonly stepMs: StepMs;
  /** Only of this program. @default all */
  readonly program?: string;
  readonly queue?: string;
}

export interface EndedCounts {
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  readonly dead: number;
  readonly cancelled: number;
  readonly skipped: number;
  /** How many of the ended runs took how long, by DURATION_BOUNDS_MS. */
  readonly durations: readonly number[];
}

export interface RunFigures extends EndedCounts {
  readonly at: number;
}

/** The most that was seen within the step. */
export interface QueueFigures {
  readonly at: number;
  readonly waiting: number;
  readonly running: number;
  readonly parked: number;
  readonly held: number;
  readonly oldestMs: number | null;
}

export interface Figures {
  /** When the last round was done; null: never. */
  readonly at: number | null;
  /** Steps without a start or end are left out. */
  readonly runs: readonly RunFigures[];
  readonly queues: readonly QueueFigures[];
}

export interface ProgramFigures extends EndedCounts {
  readonly program: string;
}

export interface StatisticsStore {
  /** Counts and samples once. False: another node has done so within `everyMs`. Not repeated after a failure: there is a next round. */
  collect(round: CollectRound): Promise<boolean>;

  /** Figures by time, the oldest first. */
  figures(request: FiguresRequest): Promise<Figures>;

  /** Sums by program, by name; programs that neither started nor ended a run are left out. */
  programs(request: Omit<FiguresRequest, "stepMs" | "program" | "queue">): Promise<readonly ProgramFigures[]>;
}
