// The scheduler fires the schedules of a node's programs: it declares them, sleeps until the next one is due, and decides which windows
// start a run. All nodes with the program try; the store lets one of them succeed.
//
// The store's clock and rows that all nodes read alike decide which windows there are; this process's clock decides only when to look.

import type { NodeParts } from "../engine/node-parts.js";
import type { BreakerRule } from "../kernel/breaker-rule.js";
import { buggify } from "../kernel/buggify.js";
import { InvalidInput } from "../kernel/error.js";
import { type LimitRule, newLimits } from "../kernel/limit-rule.js";
import { Loop } from "../kernel/loop.js";
import type { NewRun, RunGroup } from "../kernel/run/new-run.js";
import type { BreakerStore } from "../store/contract/limit/breakers.js";
import type { DeclaredSchedule, Fire, ScheduleRecord, ScheduleStore } from "../store/contract/schedule/schedules.js";
import type { Telemetry } from "../telemetry/bus.js";
import { judge } from "./breaker-gate.js";
import { decideFires, type Fires, MISSED_AFTER_MS } from "./decide-fires.js";
import { isoOf, tickOf, windowKey } from "./schedule-run.js";
import { isSchedule, readSpec, scheduleKey, windowsOf, writeSpec } from "./schedule-spec.js";
import type { TriggerSpec } from "./trigger.js";
import type { ScheduleEvents, TriggerEvents } from "./trigger-events.js";
import type { Windows } from "./windows.js";

/** How many missed windows of one schedule are caught up in one round, and how long after it the next round comes, on any node. */
export const MOST_WINDOWS = 100;
export const CATCH_UP_PAUSE_MS = 1_000;
/** Schedules are declared again: lost ones come back, and those that no node declares any more can be recognised. */
const DECLARE_EVERY_MS = 60_000;
/** Several times that: a node that was cut off for a while finds its schedules still there. */
export const REMOVE_AFTER_MS = 5 * DECLARE_EVERY_MS;
/** Fires that fall together are served together. */
const SHORTEST_PAUSE_MS = 10;

export interface ScheduledProgram {
  readonly name: string;
  readonly queue: string;
  readonly version: string | null;
  readonly limits: readonly LimitRule[];
  readonly triggers: readonly TriggerSpec[];
  readonly breaker: BreakerRule | null;
}

export interface SchedulerOptions extends Pick<NodeParts, "world" | "env" | "stack" | "modes"> {
  readonly store: ScheduleStore;
  readonly breakers: BreakerStore;
  readonly bus: Telemetry<ScheduleEvents & Pick<TriggerEvents, "breaker.half_opened">>;
  /** Of several versions of a program, the last one's schedules count. */
  readonly programs: readonly ScheduledProgram[];
  readonly newRun: (program: ScheduledProgram, input: unknown) => NewRun;
  /** The longest sleep: a schedule that was resumed is found then. */
  readonly lookEveryMs: number;
}

interface Decision {
  readonly row: ScheduleRecord;
  readonly fires: Fires;
  readonly fire: Fire;
  /** By the id of its run. */
  readonly windowOf: ReadonlyMap<string, number>;
  /** Runs of windows that may have been rejected: they count only if the run exists in the end. */
  readonly doubtful: readonly string[];
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #programs: ReadonlyMap<string, ScheduledProgram>;
  readonly #declared: readonly DeclaredSchedule[];
  readonly #windows = new Map<string, Windows>();
  readonly #loop: Loop;
  /** By the schedules that were declared, in their order. */
  #ids: readonly string[] = [];
  #active: readonly DeclaredSchedule[] = [];
  readonly #ignoreModes: () => void;
  /** Monotonic. */
  #declareAt = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#programs = new Map(options.programs.map((program) => [program.name, program]));
    this.#declared = [...this.#programs.values()].flatMap((program) => schedulesOf(program, options));
    const { world, bus } = options;
    this.#loop = new Loop({
      world,
      round: () => this.#declareAndFire(),
      onError: (error) => bus.emit("schedule.failed", { error }),
      pauseMs: () => this.#pauseMs(),
    });
    this.#ignoreModes = options.modes.onChange(() => {
      this.#declareAt = 0;
      this.#loop.wake();
    });
  }

  get hasSchedules(): boolean {
    return this.#declared.length > 0;
  }

  /** Its schedules are declared before. */
  start(): void {
    this.#declareAt = this.#options.world.monotonicNow() + DECLARE_EVERY_MS;
    if (this.#programs.size > 0) this.#loop.start();
  }

  /** Fires nothing more. */
  stop(): Promise<void> {
    this.#ignoreModes();
    return this.#loop.stop();
  }

  /** `removeAfterMs`: removes schedules of our programs that no node has declared for this long. */
  async declare(removeAfterMs: number | null): Promise<void> {
    const { store, env, stack } = this.#options;
    const programs = [...this.#programs.keys()].filter((name) => this.#mayFire(name));
    const active: DeclaredSchedule[] = [];
    const ids: string[] = [];
    // Those of the env and those of its stack: of both, those that no node declares any more are removed.
    for (const place of programs.length === 0 ? [] : new Set([null, stack])) {
      const schedules = this.#declared.filter(({ group }) => group.stack === place && this.#mayFire(group.program));
      ids.push(...(await store.declare({ env, stack: place, programs, schedules, removeAfterMs })));
      active.push(...schedules);
    }
    this.#active = active;
    this.#ids = ids;
  }

  /** This node neither declares nor fires the schedules of a program that is disabled here. */
  #mayFire(program: string): boolean {
    return this.#options.modes.of(program) !== "disabled";
  }

  /** Decides on what is due. Returns in how many ms to look again; null when nothing will be due. */
  async round(): Promise<number | null> {
    const ids = this.#ids.filter((_, i) => this.#mayFire(this.#active[i]!.group.program));
    if (ids.length === 0) return null;
    const { store } = this.#options;
    const { now, schedules, nextMs } = await store.due(ids);
    if (schedules.length === 0) return nextMs;
    const decisions = await this.#guard(schedules.map((row) => this.#decide(row, now)));
    const answers = await store.fire(decisions.map(({ fire }) => fire));
    for (const [i, answer] of answers.entries()) {
      if (answer.outcome === "fired") this.#report(decisions[i]!, answer.runIds, now);
      else this.#lost(decisions[i]!);
    }
    return 0;
  }

  async #declareAndFire(): Promise<number> {
    const { world } = this.#options;
    if (world.monotonicNow() >= this.#declareAt) {
      this.#declareAt = world.monotonicNow() + DECLARE_EVERY_MS;
      await this.declare(REMOVE_AFTER_MS);
    }
    const nextMs = await this.round();
    return Math.min(this.#pauseMs(), Math.max(nextMs ?? Number.POSITIVE_INFINITY, SHORTEST_PAUSE_MS));
  }

  #pauseMs(): number {
    if (this.#options.world.monotonicNow() >= this.#declareAt) return 0;
    if (this.#ids.length === 0) return DECLARE_EVERY_MS;
    return buggify(this.#options.world, "schedule.early") ? SHORTEST_PAUSE_MS : this.#options.lookEveryMs;
  }

  #decide(row: ScheduleRecord, now: number): Decision {
    const spec = readSpec(row.spec);
    const windows = this.#windowsOf(row);
    const limit = buggify(this.#options.world, "schedule.one-window") ? 1 : MOST_WINDOWS;
    const due = { last: row.last, now, catchUp: spec.catchUp, limit };
    const fires = decideFires(windows, due);
    const program = this.#programs.get(row.group.program)!;
    // What is due once for the env belongs to no stack: the stack of the node that was first may have no node that executes it.
    const runs = fires.windows.map((window) => {
      const run = this.#options.newRun(program, tickOf(spec.kind, window, now));
      const { stack } = row.group;
      return { ...run, group: { ...run.group, stack }, key: windowKey(row.group, row.key, spec.per, window) };
    });
    // More windows are to be caught up: no faster than this, however many nodes there are.
    const next = isBehind(fires, now) ? now + CATCH_UP_PAUSE_MS : fires.next;
    return {
      row,
      fires,
      fire: { scheduleId: row.id, seenLast: row.last, last: fires.last, next, runs },
      windowOf: new Map(runs.map(({ id }, i) => [id, fires.windows[i]!])),
      doubtful: [],
    };
  }

  /**
   * Windows that a circuit breaker rejects are decided on without a run. A probe is taken in the statement that fires: taken
   * before it, by a node that is then too late, it would keep all nodes from trying.
   */
  async #guard(decisions: readonly Decision[]): Promise<readonly Decision[]> {
    const { breakers, env } = this.#options;
    const guarded = decisions.flatMap(({ row, fire }) => {
      const { program } = row.group;
      const { breaker } = this.#programs.get(program)!;
      return fire.runs.map(({ id: runId }) => ({ env, program, runId, breaker }));
    });
    const verdicts = await judge(breakers, guarded);
    const verdictOf = new Map(guarded.map(({ runId }, i) => [runId, verdicts[i]!]));
    return decisions.map((decision) => {
      const { fire } = decision;
      const probe = fire.runs.map(({ id }) => verdictOf.get(id)!.probe).find((one) => one !== null);
      const runs = fire.runs.filter(({ id }) => verdictOf.get(id)!.outcome !== "rejected");
      const doubtful = fire.runs.map(({ id }) => id).filter((id) => verdictOf.get(id)!.outcome !== "passes");
      return { ...decision, doubtful, fire: { ...fire, runs, ...(probe && { probe }) } };
    });
  }

  #windowsOf({ id, spec, anchor }: ScheduleRecord): Windows {
    const name = `${id} ${anchor} ${spec}`;
    const windows = this.#windows.get(name) ?? windowsOf(readSpec(spec), anchor);
    this.#windows.set(name, windows);
    return windows;
  }

  #lost({ row, fire, windowOf }: Decision): void {
    if (fire.runs.length === 0) return;
    const windows = fire.runs.map(({ id }) => isoOf(windowOf.get(id)!));
    const keys = fire.runs.map(({ key }) => key!.key);
    this.#options.bus.emit("schedule.lost", { program: row.group.program, schedule: row.key, windows, keys });
  }

  #report({ row, fires, fire, windowOf, doubtful }: Decision, runIds: readonly string[], now: number): void {
    const { bus } = this.#options;
    const { program } = row.group;
    const of = { program, schedule: row.key };
    const windowsOf = (ids: readonly string[]) => ids.map((id) => windowOf.get(id)!);
    if (fires.skipped) {
      const until = fires.windows[0] === undefined ? fires.last : fires.windows[0] - 1;
      bus.emit("schedule.skipped", { ...of, after: isoOf(row.last), until: isoOf(until) });
    }
    const rejected = windowsOf(doubtful.filter((id) => !runIds.includes(id)));
    if (rejected.length > 0) bus.emit("schedule.rejected", { ...of, windows: rejected.map(isoOf) });
    if (runIds.length === 0) return;
    const { runId } = fire.probe ?? {};
    if (runId !== undefined && runIds.includes(runId)) bus.emit("breaker.half_opened", { program, runId });
    const windows = windowsOf(runIds);
    bus.emit("schedule.fired", { ...of, windows: windows.map(isoOf), runIds, lateMs: now - windows.at(-1)! });
    const missed = windows.filter((window) => now - window > MISSED_AFTER_MS).length;
    if (windows.length > 1 || missed > 0) {
      bus.emit("schedule.caught_up", { ...of, windows: windows.length, more: isBehind(fires, now) });
    }
  }
}

function isBehind({ next }: Fires, now: number): boolean {
  return next !== null && next <= now;
}

/** Rejects at start what could not be started when it is due. */
function schedulesOf(program: ScheduledProgram, { env, stack, world }: SchedulerOptions): DeclaredSchedule[] {
  const { name, queue, version, limits, triggers } = program;
  const specs = triggers.filter(isSchedule);
  const keys = specs.map(scheduleKey);
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined) throw new InvalidInput(`on of ${JSON.stringify(name)}`, `has "${twice}" twice; keep one`);
  return specs.map((spec, i) => {
    newLimits(limits, queue, tickOf(spec.kind, 0, 0));
    const group: RunGroup = { env, stack: spec.per === "env" ? null : stack, queue, program: name, version };
    return { id: world.token(), group, key: keys[i]!, spec: writeSpec(spec) };
  });
}
