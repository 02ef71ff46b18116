// One fault of the matrix, and the tests that many of them name.

export interface Fault {
  readonly id: string;
  readonly fault: string;
  /** What must hold, or how it is shown. */
  readonly holds: string;
  /** `folder/name` of a test file, or `folder/name: text` for the tests whose names contain the text, after `^` begin with it. */
  readonly tests: readonly string[];
  /** Why no test shows it. */
  readonly whyNot?: string;
}

export const fault = (id: string, [what, holds]: readonly [string, string], ...tests: string[]): Fault => {
  return { id, fault: what, holds, tests };
};

export const CHAOS = "chaos/chaos";
export const SEEDS = "simulator/first-seeds";
export const UNANSWERED = "store/unanswered/unanswered-commit";
export const CONFORMS = (group: string) => `conformance/postgres: ^${group} `;
