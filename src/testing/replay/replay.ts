// `replay`: runs recorded journals against this code, without effects, and reports which of them do not fit.

import type { AnyActor } from "../../actor/actor.js";
import type { Codecs } from "../../kernel/codec/codecs.js";
import type { Payload } from "../../kernel/codec/payload.js";
import { HoldfastError } from "../../kernel/error.js";
import type { Effect } from "../../kernel/run/effect.js";
import type { AnyDefinition } from "../../program/definition.js";
import type { Commit } from "../../store/contract/claim/commits.js";
import { TestStuck } from "../node/driver.js";
import type { Passage } from "../node/life-store.js";
import { type BedOptions, TestBed } from "../node/test-bed.js";
import { checkHistories, type Histories, type RunHistory } from "./history.js";
import { endOf, loadHistory } from "./load-history.js";

type AnyProgram = AnyDefinition | AnyActor;

/** A run whose journal the code does not fit. */
export interface ReplayProblem {
  /** The id of the run. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** What differs. */
  readonly message: string;
}

/** Recorded journals do not fit the code. */
export class ReplayFailed extends HoldfastError {
  readonly code = "REPLAY_FAILED";
}

/** What `replay` found. */
export class ReplayReport {
  /** How many histories were executed. */
  readonly replayed: number;
  /** Runs that this code cannot continue. */
  readonly misfits: readonly ReplayProblem[];
  /** Runs that had ended, and would end in another way with this code. */
  readonly changed: readonly ReplayProblem[];
  /** Runs of programs that were not given. */
  readonly skipped: readonly ReplayProblem[];

  constructor(replayed: number, problems: Pick<ReplayReport, "misfits" | "changed" | "skipped">) {
    this.replayed = replayed;
    this.misfits = problems.misfits;
    this.changed = problems.changed;
    this.skipped = problems.skipped;
  }

  /** Whether every journal fits. */
  get ok(): boolean {
    return this.misfits.length === 0;
  }

  /** Throws when a history does not fit. */
  assert(): void {
    if (!this.ok) throw new ReplayFailed(this.toString());
  }

  /** A text for people. */
  toString(): string {
    const lines = (title: string, problems: readonly ReplayProblem[]) =>
      problems.map(({ runId, program, message }) => `${title}: run ${runId} of ${program}: ${message}`);
    const counts = `${this.replayed} histories, ${this.misfits.length} do not fit.`;
    return [counts, ...lines("misfit", this.misfits), ...lines("changed", this.changed)].join("\n");
  }
}

type Verdict = { readonly as: "fits" | "misfit" | "changed" | "skipped"; readonly message: string };

const FITS: Verdict = { as: "fits", message: "" };

/** What the code needs outside of its steps. */
export type ReplayOptions = Pick<BedOptions, "codecs" | "services" | "definitions">;

/**
 * Runs recorded journals against the code of a program. Steps are not executed: a history that reaches its last entry and asks for something new fits.
 *
 * @example
 * ```ts
 * test("code that makes the same calls continues the recorded runs", async () => {
 *   const report = await replay(order, await recorded());
 *   report.assert();
 * });
 * ```
 */
export async function replay(
  programs: AnyProgram | readonly AnyProgram[],
  histories: Histories,
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  const all = checkHistories(histories);
  const listed = [programs].flat() as readonly AnyProgram[];
  const found = { fits: [], misfit: [], changed: [], skipped: [] } as Record<Verdict["as"], ReplayProblem[]>;
  for (const history of all) {
    const { as, message } = await replayOne({ ...options, programs: listed }, history, all);
    found[as].push({ runId: history.id, program: history.program, message });
  }
  const { misfit: misfits, changed, skipped } = found;
  return new ReplayReport(all.length - skipped.length, { misfits, changed, skipped });
}

async function replayOne(
  code: Pick<BedOptions, "programs"> & ReplayOptions,
  history: RunHistory,
  all: readonly RunHistory[],
): Promise<Verdict> {
  let verdict: Verdict | null = null;
  const reach = (reached: Verdict) => {
    verdict ??= reached;
    return new Promise<never>(() => {});
  };
  const bed = new TestBed(
    { ...code, startAt: new Date(history.entries.at(-1)!.at), patience: 0, identity: { build: "replay" } },
    // It asks for something new: what was recorded fits.
    { perform: <T>() => reach(FITS) as T },
  );
  const row = loadHistory(bed.tables, history, true);
  for (const other of all) if (other.id !== history.id) loadHistory(bed.tables, other, false);
  const passage: Passage = async ({ name, args }, apply) => {
    const effects = name === "runs.commit" ? effectsFor(history.id, args[0] as readonly Commit[]) : [];
    return effects.length > 0 ? reach(judge(history, effects, bed.codecs)) : apply();
  };
  const { life } = await bed.open({ id: "replay", programs: () => code.programs, passage });
  try {
    const served = [...bed.tables.nodes.values()].some(({ serves }) => serves.includes(row.groupId));
    if (!served) return { as: "skipped", message: "its program was not given" };
    await bed.driver.until(() => verdict !== null);
  } catch (error) {
    if (!(error instanceof TestStuck)) throw error;
    return { as: "misfit", message: error.message };
  } finally {
    life.kill();
  }
  return verdict ?? FITS;
}

function effectsFor(runId: string, commits: readonly Commit[]): readonly Effect[] {
  return commits.filter(({ claim }) => claim.runId === runId).flatMap(({ effects }) => effects);
}

function judge(history: RunHistory, effects: readonly Effect[], codecs: Codecs): Verdict {
  const last = effects.at(-1)!;
  if (last.kind === "misfit") return { as: "misfit", message: shown(last.reason, codecs) };
  const end = endOf(history);
  if (!end || last.kind === "append" || last.kind === "park") return FITS;
  const [kind, payload] = endingOf(last);
  if (kind === end.kind && (kind !== "completed" || payload?.data === end.payload?.data)) return FITS;
  const value = kind === "completed" ? ` with ${payload?.data.slice(0, 200)}` : "";
  return { as: "changed", message: `it was ${end.kind}, and would be ${kind}${value}` };
}

function endingOf(effect: Effect): readonly [kind: string, payload: Payload | null] {
  if (effect.kind === "complete") return ["completed", effect.output];
  return effect.kind === "fail" ? [effect.as, effect.reason] : [effect.kind, null];
}

function shown(reason: Payload, codecs: Codecs): string {
  const { message } = (codecs.decode(reason) ?? {}) as { message?: unknown };
  return String(message ?? reason.data);
}
