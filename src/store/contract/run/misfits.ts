// Misfits: runs whose journal the code of some nodes does not fit.

export interface Misfit {
  /** Builds whose code was tried and does not fit; an incarnation where a build names more than one code. */
  readonly builds: readonly string[];
  /** The build that wrote last, as far as its node is still registered. */
  readonly wanted: string | null;
}

export interface MisfitReview {
  readonly env: string;
  readonly limit: number;
  /** Only quarantined runs that this incarnation may try, whenever they were last looked at: it has just come. */
  readonly newcomer?: string;
}

export interface MisfitReviewed {
  readonly runId: string;
  readonly program: string;
  /** `lifted`: claimable again. `quarantined`: no live node is left that may fit. */
  readonly outcome: "lifted" | "quarantined";
}

/** Housekeeping looks at a run again after this time. */
export const LOOK_AGAIN_MS = 2_000;

/** Why a run was quarantined that waited when the last node left which had not been tried. */
export const NO_FITTING_NODE = "NO_FITTING_NODE";

/** What a run's misfits are compared with: by which names a node may be among them. */
export function namesOf(build: string | null | undefined, incarnation: string): readonly string[] {
  return build === null || build === undefined ? [incarnation] : [build, incarnation];
}

/** Entries that say nothing of whose code the journal fits: also a node whose code does not fit writes them. */
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
   * Looks at runs that some code does not fit: quarantined ones that a live node has not tried are claimable again, and waiting
   * ones that every live node of their group has tried are quarantined. Bounded, within one env. Executes nothing.
   */
  reviewMisfits(review: MisfitReview): Promise<readonly MisfitReviewed[]>;
}
