// Misfits: runs whose journal the code of some nodes does not fit.

/** The builds whose code does not fit the run's journal. */
export interface Misfit {
  /** Builds whose code was tried and does not fit; an incarnation where a build names more than one code. */
  readonly builds: readonly string[];
  /** The build that wrote last, as far as its node is still registered. */
  readonly wanted: string | null;
}

export interface MisfitReview {
  readonly env: string;
  readonly limit: number;
  /** Only quarantined runs that this incarnation may try, whenever they were last examined: it has just started. */
  readonly newcomer?: string;
}

export interface MisfitReviewed {
  readonly runId: string;
  readonly program: string;
  /** `lifted`: claimable again. `quarantined`: no live node is left that may fit. */
  readonly outcome: "lifted" | "quarantined";
}

/** Housekeeping examines a run again after this time. */
export const LOOK_AGAIN_MS = 2_000;

/** The reason for quarantining a run that waited when the last node left whose code had not been tried. */
export const NO_FITTING_NODE = "NO_FITTING_NODE";

/** The names under which a node may be listed in a run's misfits. */
export function namesOf(build: string | null | undefined, incarnation: string): readonly string[] {
  return build === null || build === undefined ? [incarnation] : [build, incarnation];
}

/** Entries that do not show whose code the journal fits: a node whose code does not fit writes them, too. */
export const ANYBODYS_ENTRIES: readonly string[] = ["take", "misfit", "handed-back"];

/** The last entry of a run that was quarantined without being claimed. */
export function noFittingNode(builds: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    name: "NoFittingNode",
    code: NO_FITTING_NODE,
    message: `No live node has code that fits the journal. Tried: ${builds.join(", ")}.`,
  };
}

export interface RunMisfits {
  /**
   * Examines runs that some code does not fit: quarantined ones that a live node has not tried are claimable again, and waiting
   * ones that every live node of their group has tried are quarantined. Bounded, within one env. Executes nothing.
   */
  reviewMisfits(review: MisfitReview): Promise<readonly MisfitReviewed[]>;
}
