// `simulate`: runs a program under faults at every point of its history, and compares each history with the calm one.

import type { RunHandle } from "../../client/run-handle.js";
import { InvalidInput } from "../../kernel/error.js";
import type { MachineDefinition } from "../../machine/definition.js";
import type { Instance } from "../../machine/instance.js";
import type { MachineEvent } from "../../machine/logic.js";
import type { NodeOptions } from "../../node/node-options.js";
import type { AnyDefinition, Definition } from "../../program/definition.js";
import type { Services } from "../../program/environment.js";
import type { Transaction } from "../../store/contract/transaction.js";
import type { Stubs } from "../node/stubs.js";
import { VirtualWorld } from "../virtual-world.js";
import { FAULT_KINDS, type FaultKind, type Point, type SimulatedCase, type SimulatedFault } from "./case.js";
import type { Effects } from "./ledger.js";
import { SimulationReport, type Violation } from "./report.js";
import { Scenario, type SimulatedHistory, type Subject } from "./scenario.js";
import { type Finding, findingsOf, ownFindings } from "./violation.js";

/** Options of `simulate`. */
export interface SimulateOptions<Input, Started> {
  /** The input of the run. */
  readonly input: Input;
  /** `"everywhere"`: one history for each fault at each point. `"none"`: only the random histories. @default everywhere */
  readonly crashes?: "everywhere" | "none";
  /** How many random histories with several faults. @default 20 */
  readonly seeds?: number;
  /** Which kinds of faults happen. @default all */
  readonly faults?: readonly FaultKind[];
  /** Only this case, for example that of a violation. */
  readonly only?: SimulatedCase;
  /** Programs that the program starts. */
  readonly programs?: NodeOptions["programs"];
  /** What programs find in `ctx.services`, made for each process. */
  readonly services?: (effects: Effects) => Services;
  /** Answers the SQL of transaction steps. */
  readonly database?: Transaction["query"];
  /** Answers for approvals and signals, and stubs for steps and children. */
  readonly stubs?: (stub: Stubs) => unknown;
  /** What a client does after the start, for example the events of a machine. */
  readonly act?: (started: Started) => Promise<unknown>;
  /** The simulation ends after this many violations. @default 1 */
  readonly most?: number;
}

const NEAR_MS = 5_000;
const FAR_MS = 20_000;
const MOST_FAULTS = 3;

/**
 * Runs a program under faults at every point of its history, and reports doubled, missing and leaked effects. Pass a function that
 * makes the program for each simulated process: what it keeps in memory then ends with the process, and its effects are recorded.
 *
 * @example
 * ```ts
 * const fixed = (effects: Effects) =>
 *   workflow("order", async (ctx, cents: number) => {
 *     await ctx.step("charge", ({ idempotencyKey }) => effects.call("charge", { cents }, { key: idempotencyKey }));
 *     return cents;
 *   });
 * ```
 */
export function simulate<In, Out, Ev extends MachineEvent, Value, Context>(
  machine:
    | MachineDefinition<string, In, Out, Ev, Value, Context>
    | ((effects: Effects) => MachineDefinition<string, In, Out, Ev, Value, Context>),
  options: SimulateOptions<In, Instance<Ev, Value, Context, Out>>,
): Promise<SimulationReport>;
export function simulate<In, Out, Parsed>(
  program: Definition<string, In, Out, Parsed> | ((effects: Effects) => Definition<string, In, Out, Parsed>),
  options: SimulateOptions<In, RunHandle<Out>>,
): Promise<SimulationReport>;
export async function simulate(
  program: AnyDefinition | ((effects: Effects) => AnyDefinition),
  options: SimulateOptions<unknown, never>,
): Promise<SimulationReport> {
  const { input, programs = [], services, stubs, act, database } = options;
  const make = typeof program === "function" ? program : () => program;
  // The handle has the type that the overloads declare.
  const acts = act as Subject["act"];
  return new Simulation({ make, input, programs, services, stubs, database, act: acts }, options).run();
}

class Simulation {
  readonly #subject: Subject;
  readonly #options: SimulateOptions<unknown, never>;
  readonly #violations: Violation[] = [];
  readonly #seen = new Set<string>();
  #cases = 0;

  constructor(subject: Subject, options: SimulateOptions<unknown, never>) {
    this.#subject = subject;
    this.#options = options;
    const unknown = (options.faults ?? []).find((kind) => !FAULT_KINDS.includes(kind));
    if (unknown !== undefined) throw new InvalidInput("faults", `must be some of ${FAULT_KINDS.join(", ")}`);
  }

  async run(): Promise<SimulationReport> {
    const quiet = { seed: 1, faults: [] };
    const calm = await this.#history(quiet);
    for (const finding of ownFindings(calm)) this.#add(finding, quiet, calm);
    if (this.#violations.length === 0) await this.#disturb(calm);
    return new SimulationReport(this.#cases, this.#violations, calm.ledger.effects);
  }

  async #disturb(calm: SimulatedHistory): Promise<void> {
    const { only, most = 1 } = this.#options;
    for (const one of only ? [only] : this.#plan(calm.points)) {
      const history = await this.#history(one);
      for (const finding of findingsOf(calm, history)) {
        if (!this.#seen.has(idOf(finding))) await this.#shrink(calm, finding, one, history);
      }
      if (this.#violations.length >= most) return;
    }
  }

  *#plan(points: readonly Point[]): Generator<SimulatedCase> {
    const { crashes = "everywhere", seeds = 20, faults = FAULT_KINDS } = this.#options;
    if (crashes === "everywhere") {
      for (const kind of faults) {
        for (const [i, { takes }] of points.entries()) {
          // Alternately another process takes over, and the same one is back first.
          const backAfterMs = i % 2 === 0 ? FAR_MS : NEAR_MS;
          if (takes.includes(kind)) yield { seed: 1, faults: [{ kind, at: i + 1, backAfterMs }] };
        }
      }
    }
    for (let seed = 1; seed <= seeds; seed++) yield { seed, faults: drawFaults(seed, points, faults) };
  }

  /** Leaves out faults while the same violation remains. */
  async #shrink(
    calm: SimulatedHistory,
    finding: Finding,
    found: SimulatedCase,
    shown: SimulatedHistory,
  ): Promise<void> {
    let smallest = found;
    let history = shown;
    let kept = finding;
    for (let i = 0; i < smallest.faults.length && smallest.faults.length > 1; ) {
      const smaller = { seed: smallest.seed, faults: smallest.faults.filter((_, n) => n !== i) };
      const tried = await this.#history(smaller);
      const same = findingsOf(calm, tried).find((other) => idOf(other) === idOf(finding));
      if (same) [smallest, history, kept] = [smaller, tried, same];
      else i++;
    }
    this.#add(kept, smallest, history);
  }

  #add(finding: Finding, of: SimulatedCase, { trace }: SimulatedHistory): void {
    this.#seen.add(idOf(finding));
    this.#violations.push({ ...finding, case: of, trace });
  }

  #history(one: SimulatedCase): Promise<SimulatedHistory> {
    this.#cases++;
    return new Scenario(this.#subject, one).run();
  }
}

/** Violations of one kind with the same subject are reported once. */
function idOf({ kind, message }: Finding): string {
  return kind === "doubled" || kind === "missing" || kind === "leaked" ? `${kind} ${message.split(" ")[1]}` : kind;
}

function drawFaults(seed: number, points: readonly Point[], kinds: readonly FaultKind[]): readonly SimulatedFault[] {
  const chance = new VirtualWorld({ seed: seed * 7919 });
  const draw = (n: number) => Math.floor(chance.random() * n);
  const drawn = Array.from({ length: 2 + draw(MOST_FAULTS - 1) }, (): SimulatedFault | null => {
    const at = 1 + draw(points.length);
    const fit = kinds.filter((kind) => points[at - 1]!.takes.includes(kind));
    const kind = fit[draw(fit.length)];
    return kind === undefined ? null : { kind, at, backAfterMs: draw(2) === 0 ? NEAR_MS : FAR_MS };
  });
  const faults = drawn.filter((fault) => fault !== null).sort((a, b) => a.at - b.at);
  return faults.filter(({ at }, i) => faults[i - 1]?.at !== at);
}
