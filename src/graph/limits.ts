// Limits that end a run that would loop for too long: its number of nodes, and its budgets.

import { InvalidInput } from "../kernel/error.js";
import { PermanentError } from "../replay/step-error.js";
import type { Bounds } from "./plan.js";

/** The run has executed as many nodes as its graph allows. */
export class IterationLimit extends PermanentError {
  override readonly code = "ITERATION_LIMIT";

  constructor(limit: number, next: string) {
    super(
      `${limit} nodes were executed, as many as the graph allows; ${next} would be one more. ` +
        "Find out why the run loops, or raise limits.iterations and retry the run.",
    );
  }
}

/** The run has spent more than its graph allows. */
export class BudgetExceeded extends PermanentError {
  override readonly code = "BUDGET_EXCEEDED";
  /** The budget, its limit and what was spent. */
  readonly details: { readonly budget: string; readonly limit: number; readonly spent: number };

  constructor(budget: string, limit: number, spent: number) {
    super(
      `The budget ${JSON.stringify(budget)} of ${limit} is exceeded: ${spent} were spent. Raise it, then retry the run.`,
    );
    this.details = { budget, limit, spent };
  }
}

/** `choose` returned something that is not a target of the edge. */
export class EdgeNotTaken extends PermanentError {
  override readonly code = "EDGE_NOT_TAKEN";

  constructor(node: string, answer: unknown, to: readonly string[]) {
    super(
      `The edge of ${JSON.stringify(node)} chose ${JSON.stringify(answer) ?? String(answer)}, which is not one of ${to.join(", ")}.`,
    );
  }
}

const ENDS_THE_RUN: readonly unknown[] = ["ITERATION_LIMIT", "BUDGET_EXCEEDED"];

/** A failure edge is not taken for an exceeded limit. */
export function endsTheRun(error: unknown): boolean {
  return ENDS_THE_RUN.includes((error as { code?: unknown } | null)?.code);
}

/** The first exceeded budget. */
export function exceeded({ budgets }: Bounds, spent: Readonly<Record<string, number>>): BudgetExceeded | null {
  for (const [budget, limit] of Object.entries(budgets)) {
    const used = spent[budget] ?? 0;
    if (used > limit) return new BudgetExceeded(budget, limit, used);
  }
  return null;
}

export function checkedBudgets(budgets: unknown): Readonly<Record<string, number>> {
  if (typeof budgets !== "object" || budgets === null)
    throw new InvalidInput("limits.budgets", "must be an object like { tokens: 1000 }");
  for (const [name, limit] of Object.entries(budgets))
    if (typeof limit !== "number" || !(limit >= 0))
      throw new InvalidInput(`limits.budgets.${name}`, "must be a number from 0");
  return budgets as Readonly<Record<string, number>>;
}
