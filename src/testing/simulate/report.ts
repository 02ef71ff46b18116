// The report of a simulation: what was tried, and what broke with seed, trace and the smallest case.

import { HoldfastError } from "../../kernel/error.js";
import { describeCase, type SimulatedCase } from "./case.js";
import type { RecordedEffect } from "./ledger.js";
import type { Finding } from "./violation.js";

/** What went wrong, with the smallest case that shows it. */
export interface Violation extends Finding {
  /** The smallest case that shows it: pass it as `only` to see it again. */
  readonly case: SimulatedCase;
  /** What happened, a line for each point. */
  readonly trace: readonly string[];
}

/** The simulation found violations. */
export class SimulationFailed extends HoldfastError {
  readonly code = "SIMULATION_FAILED";
}

/** What `simulate` found. */
export class SimulationReport {
  /** The number of histories. */
  readonly cases: number;
  /** What went wrong; empty: nothing did. */
  readonly violations: readonly Violation[];
  /** What happened outside without faults. */
  readonly effects: readonly RecordedEffect[];

  constructor(cases: number, violations: readonly Violation[], effects: readonly RecordedEffect[]) {
    this.cases = cases;
    this.violations = violations;
    this.effects = effects;
  }

  /** Whether nothing went wrong. */
  get ok(): boolean {
    return this.violations.length === 0;
  }

  /** Throws with the whole report when something broke. */
  assert(): void {
    if (!this.ok) throw new SimulationFailed(this.toString());
  }

  /** A text for people. */
  toString(): string {
    if (this.ok) return `${this.cases} histories, no violation.`;
    const parts = this.violations.map(({ kind, message, trace, case: of }) =>
      [`${kind}: ${message}`, `  ${describeCase(of)}`, ...trace.map((line) => `  ${line}`)].join("\n"),
    );
    const found = parts.length === 1 ? "1 violation" : `${parts.length} violations`;
    return `${this.cases} histories, ${found}.\n\n${parts.join("\n\n")}`;
  }
}
