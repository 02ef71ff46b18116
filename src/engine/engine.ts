// A node: one process at work. It assembles the parts of the engine and knows how to stop them in order.

import { ClaimLost } from "../kernel/claim.js";
import { settles } from "../kernel/effect.js";
import type { HoldfastError } from "../kernel/error.js";
import { errorClass } from "../kernel/error-class.js";
import type { Drain, ModeState, NodeMode } from "../kernel/node-mode.js";
import type { Settings } from "../kernel/setting-options.js";
import { sleep, type World } from "../kernel/world.js";
import type { Attendance } from "../store/contract/attend.js";
import type { Subscription } from "../store/contract/events.js";
import type { HouseReport } from "../store/contract/house.js";
import type { ClaimedRun, Commit } from "../store/contract/runs.js";
import type { Telemetry } from "../telemetry/bus.js";
import { Admitter } from "./admitter.js";
import { type AssignmentOptions, Assignments } from "./assignments.js";
import { BreakerWatch } from "./breaker-watch.js";
import { Committer } from "./committer.js";
import { ABORTED_GRACE_MS, drain, LOOK_EVERY_MS } from "./drain.js";
import type { EngineEvents } from "./events.js";
import { Executor } from "./executor.js";
import { Door, keepHouse } from "./housekeeping.js";
import { LeaseKeeper } from "./lease-keeper.js";
import { Nearby } from "./nearby.js";
import { NodeReplaced, NotAlone } from "./not-alone.js";
import type { Program } from "./program.js";
import type { Served } from "./routing.js";
import { Session } from "./session.js";
import type { Slots } from "./slots.js";
import { Subscriber } from "./subscriber.js";
import { SweeperLease } from "./sweeper-lease.js";

/** The store may be away when a node stops: it is not waited for longer than this. */
const FAREWELL_MS = 2_000;

export interface EngineOptions extends AssignmentOptions {
  /** What starts them besides a call. */
  readonly subscriptions: readonly Subscription[];
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly identity: string;
  readonly name: string;
  readonly build: string | null;
  /** Whether every node reclaims, one at a time under a lease, or none. */
  readonly sweeper: "every" | "one" | "off";
  /** The only node of its env and stack: a claim is renewed once at most. */
  readonly alone: boolean;
  /** The store does not let this node go on: another has taken its place. */
  readonly onReplaced: () => void;
  /** The mode it starts in, unless another was kept. */
  readonly mode: NodeMode;
  /** Called around the work on each run. */
  readonly around?: (program: Program, session: Session, work: () => Promise<void>) => Promise<void>;
  /** It knows its mode, and has claimed nothing yet. */
  readonly onRegistered: () => Promise<void>;
  /** It has drained and is to stop. */
  readonly onExit: () => void;
  /** Others have told of these groups, not only of those it claims from. */
  readonly onHint?: (groupIds: readonly number[]) => void;
}

export class Engine {
  readonly nearby = new Nearby();
  /** Something was left that is no run. */
  onNews: () => void = () => {};
  readonly #options: EngineOptions;
  readonly #keeper: LeaseKeeper;
  readonly #committer: Committer;
  readonly #executors: readonly Executor[];
  readonly #assignments: Assignments;
  readonly #admitter: Admitter;
  readonly #house = new AbortController();
  readonly #subscriber: Subscriber;
  readonly #breakers: BreakerWatch;
  /** Sessions whose work has begun. */
  readonly #begun = new WeakSet<Session>();
  #attendance: Attendance | null = null;
  #keeping: Promise<void> = Promise.resolve();
  #stopping = false;
  #lastClaim: Promise<unknown> = Promise.resolve();
  #left: ReadonlySet<Session> = new Set();
  #worked = 0;

  constructor(options: EngineOptions) {
    const { store, settings, world, bus } = options;
    this.#options = options;
    this.#admitter = new Admitter(store.runs, () => this.hint());
    this.#committer = new Committer(store.runs, world, (written) => this.#admitter.soon(written.flatMap(movedInLine)));
    this.#keeper = new LeaseKeeper(store.runs, settings, world, bus, options.alone);
    this.#assignments = new Assignments(options);
    this.#executors = [...options.routing.executors].map(([name, size]) => this.#executor(name, size));
    this.#subscriber = new Subscriber({ ...options, onRound: () => this.#assignments.declare() });
    this.#breakers = new BreakerWatch(options);
  }

  #executor(name: string, size: number): Executor {
    const { store, settings, world, bus, incarnation: owner } = this.#options;
    const onClaimed = (run: ClaimedRun, askedAt: number) => this.#work(executor, run, askedAt);
    const groupIds = () => this.#assignments.claimable(name);
    const parts = { store: store.runs, settings, world, bus, owner, groupIds, onClaimed };
    const executor: Executor = new Executor({ name, size, ...parts });
    return executor;
  }

  async start(): Promise<void> {
    const { store, settings, world, bus, env, incarnation, alone } = this.#options;
    const refused = await this.#register();
    if (refused) throw refused;
    await this.#options.onRegistered();
    const door = new Door(world);
    this.#attendance = await store.attend({
      incarnation,
      onNews: () => {
        door.knock();
        this.onNews();
      },
      onSkipped: (runs) => {
        for (const skipped of runs) bus.emit("run.overflowed", skipped);
      },
      onHint: (ids) => {
        this.#options.onHint?.(ids);
        for (const executor of this.#executors) executor.hint(ids);
      },
    });
    this.#keeper.start();
    for (const { loop } of this.#executors) loop.start();
    const house = {
      store,
      settings,
      world,
      bus,
      env,
      incarnation,
      door,
      sweeper: this.#sweeper(),
      alone,
      onForgotten: () => this.#registerAgain(),
      onCalled: (called: HouseReport["called"]) => this.#keeper.called(called),
      modes: this.#options.modes,
      reclaims: this.#options.sweeper !== "off",
      onRound: async (mode: ModeState | null) => {
        if (mode) await this.obey(mode);
        if (await this.#assignments.lookAround()) this.hint();
      },
      onWork: () => this.hint(),
    };
    this.#keeping = keepHouse(house, this.#house.signal);
    await this.#subscriber.start();
    this.#tellStarted();
  }

  #tellStarted(): void {
    const { bus } = this.#options;
    const { groups: serves, executors, all: programs } = this.#assignments;
    bus.emit("node.started", { serves, executors, programs });
    const unserved = programs.filter(({ executor }) => executor === null);
    if (unserved.length > 0) bus.emit("node.unserved", { programs: unserved });
  }

  /** Every program of this node, and who of it works on it. */
  get serves(): readonly Served[] {
    return this.#assignments.all;
  }

  /**
   * From now on these programs and no others; what is under way goes on. Their triggers go first: while this node is known to
   * have a program, a trigger that nobody declares any more is removed.
   */
  async serve(programs: readonly Program[], subscriptions: readonly Subscription[]): Promise<void> {
    await this.#subscriber.change(subscriptions);
    this.#assignments.programs = programs;
    await this.#registerAgain();
    this.hint();
  }

  /** Null, or why it cannot work. */
  async #register(again = false): Promise<HoldfastError | null> {
    const { store, settings, env, stack, incarnation, identity, name, build, alone, bus, modes, mode } = this.#options;
    await this.#assignments.number();
    const { housekeepingMs: heartbeatMs, leaseMs } = settings;
    const { groupIds: serves, executors } = this.#assignments;
    const who = { incarnation, identity, name, env, stack, build, alone };
    const answer = await store.nodes.register({ ...who, serves, executors, mode, heartbeatMs, leaseMs });
    if (answer.outcome === "refused") return new NotAlone({ env, stack }, answer.by);
    if (answer.outcome === "stopped") return new NodeReplaced(identity);
    modes.set(answer.mode);
    // At its start in full mode, the registration says so.
    if (again || this.#assignments.claimable().length < serves.length) await this.#assignments.tell();
    await this.#assignments.declare();
    for (const reclaimed of answer.reclaimed) bus.emit("run.reclaimed", reclaimed);
    return null;
  }

  /** A failover has lost that it is registered, and maybe the numbers of its groups; or another took it for dead. */
  async #registerAgain(): Promise<void> {
    if (this.#stopping) return;
    const refused = await this.#register(true);
    if (!refused) return this.#attendance?.again();
    this.#options.bus.emit("node.replaced", { error: refused });
    this.#options.onReplaced();
  }

  /** The mode that the store has for this node, however it came to know. What runs goes on, unless it drains. */
  async obey(state: ModeState): Promise<void> {
    const { modes, bus } = this.#options;
    const { drain: before } = modes.state;
    if (!modes.set(state)) return;
    bus.emit("mode.changed", { nodeMode: state.mode, overrides: state.overrides, drain: state.drain });
    for (const session of this.#keeper.held) if (!this.#begun.has(session)) this.#spare(session);
    this.hint();
    if (state.drain !== null && state.drain !== before) void this.#drain(state.drain);
    await this.#assignments.tell();
    await this.#assignments.declare();
  }

  /** Hands back what was claimed before the mode changed and has not begun. */
  #spare(session: Session): void {
    const program = this.#assignments.programOf(session.run.groupId);
    if (program && this.#options.modes.of(program.name) !== "full") session.stop(this.#underWay());
  }

  #underWay(): Promise<unknown> {
    return Promise.all(this.#executors.map(({ loop }) => loop.underWay));
  }

  async #drain(how: Drain): Promise<void> {
    const { modes, settings, world, bus, onExit } = this.#options;
    const left = await drain({
      world,
      graceMs: settings.shutdownGraceMs,
      held: () => this.#keeper.held,
      active: () => this.active,
      isOn: () => modes.state.drain !== null && !this.#stopping,
      lastClaim: () => this.#underWay(),
    });
    if (left === null) return;
    bus.emit("node.drained", { left });
    if (how === "exit") onExit();
  }

  #sweeper(): SweeperLease | null {
    const { store, settings, world, bus, env, incarnation, sweeper } = this.#options;
    if (sweeper !== "one") return null;
    const leaseMs = 3 * settings.housekeepingMs;
    return new SweeperLease({ leases: store.leases, world, bus, env, owner: incarnation, leaseMs });
  }

  /** There may be work: look now instead of at the next poll. */
  hint(): void {
    for (const { loop } of this.#executors) loop.hint();
  }

  /** Claimed runs, those that wait for a slot included. */
  get active(): number {
    return this.#executors.reduce((sum, { loop }) => sum + loop.active, 0);
  }

  /** Runs worked on until their claim could be given back, since the start. */
  get worked(): number {
    return this.#worked;
  }

  /** True when nothing was left to claim and nothing at work; false when that took longer, or the node stops. */
  async untilIdle(timeoutMs: number): Promise<boolean> {
    const { world } = this.#options;
    const until = world.monotonicNow() + timeoutMs;
    for (;;) {
      const leftMs = until - world.monotonicNow();
      if (leftMs <= 0 || this.#stopping) return false;
      if (this.active === 0) {
        const claimed = await within(world, leftMs, Promise.all(this.#executors.map(({ loop }) => loop.look())));
        if (claimed?.every((count) => count === 0) && this.active === 0) return true;
      }
      await sleep(world, Math.min(LOOK_EVERY_MS, leftMs));
    }
  }

  /**
   * Claims nothing more and lets steps under way end; after the grace aborts them. Runs whose work has ended are handed
   * back. One whose work ignores the abort is left to its lease, so that nobody works on it while this process does.
   */
  async stop(graceMs: number): Promise<void> {
    const { store, world, bus, incarnation } = this.#options;
    this.#stopping = true;
    bus.emit("node.stopping", { active: this.active, graceMs });
    this.#lastClaim = Promise.all(this.#executors.map(({ loop }) => loop.stop()));
    await this.#ask((session) => session.stop(this.#lastClaim), graceMs);
    await this.#ask((session) => session.expire(), ABORTED_GRACE_MS);
    this.#left = new Set(this.#keeper.held);
    for (const session of this.#left) session.lose();
    for (const session of this.#left) this.#keeper.drop(session);
    this.#house.abort();
    const farewell = Promise.all([
      this.#lastClaim,
      this.#keeping,
      this.#keeper.stop().then(() => this.#keeper.endDropped()),
      store.nodes.stop(incarnation),
    ]);
    const gone = farewell
      .then(() => Promise.all([this.#admitter.stop(), this.#subscriber.stop()]))
      .then(() => this.#attendance?.leave())
      .catch((error) => bus.emit("housekeeping.failed", { error }));
    await within(world, FAREWELL_MS, gone);
    bus.emit("node.stopped", { left: this.#left.size });
  }

  /** Tells all sessions, and waits until they are over, or until their time is. */
  async #ask(tell: (session: Session) => void, timeMs: number): Promise<void> {
    const { world } = this.#options;
    const until = world.monotonicNow() + timeMs;
    for (const session of this.#keeper.held) tell(session);
    const claiming = () => this.#executors.some(({ loop }) => loop.claiming);
    while ((this.active > 0 || claiming()) && world.monotonicNow() < until) await sleep(world, LOOK_EVERY_MS);
  }

  async #work({ name: executor, slots }: Executor, run: ClaimedRun, askedAt: number): Promise<void> {
    const { store, settings, world, bus } = this.#options;
    const program = this.#assignments.programOf(run.groupId);
    // Nobody renews it: its lease brings it back.
    if (!program) return bus.emit("claim.failed", { error: new ClaimLost(run) });
    const writer = this.#committer.open(run, run.seq);
    const session = new Session({
      run,
      writer,
      store,
      world,
      bus,
      askedAt,
      leaseMs: settings.leaseMs,
      onCommitted: (id) => this.nearby.tell(id),
    });
    // Granted by the last claim of all, which was on its way.
    if (this.#stopping) session.stop(this.#lastClaim);
    else this.#spare(session);
    this.#keeper.add(session);
    const facts = { runId: run.runId, program: program.name, epoch: run.epoch };
    const work = { ...facts, kind: program.kind, parentId: run.parentId };
    bus.emit("run.claimed", { ...work, executor, attempt: run.failures + 1 });
    if (run.deferredBy !== null) bus.emit("run.deferred_taken", { ...facts, by: run.deferredBy });
    try {
      await this.#execute(program, session, slots);
      if (session.settledAs === "handed-back") bus.emit("run.handed_back", facts);
      else this.#worked++;
      const settled = { as: session.settledAs ?? "unknown", ms: world.monotonicNow() - askedAt };
      bus.emit("run.settled", { ...work, ...settled, error: errorClass(session.failedWith) });
      await this.#breakers.ended(program, run.runId, session.settledAs);
    } catch (error) {
      if ((error as { code?: unknown }).code === "CLAIM_LOST") {
        if (!this.#left.has(session)) bus.emit("claim.lost", { runId: run.runId, epoch: run.epoch });
      } else bus.emit("run.broken", { runId: run.runId, error });
    } finally {
      // Broken, or given up in a stop: its lease brings the run back.
      if (session.settledAs === null) this.#keeper.drop(session);
      else this.#keeper.remove(session);
    }
  }

  /** One that was claimed ahead and never began is handed back as it is. */
  async #execute(program: Program, session: Session, slots: Slots): Promise<void> {
    if (!(await slots.take(session))) {
      await session.commit([{ kind: "handBack" }]);
      return;
    }
    this.#begun.add(session);
    try {
      const { debounce } = session.run;
      const { around } = this.#options;
      const work = () => program.execute(session);
      if (!debounce) return await (around ? around(program, session, work) : work());
      await session.settleDebounced(debounce);
      this.hint();
    } finally {
      slots.give();
    }
  }
}

/** What it answers, or null when it takes longer than that. */
async function within<T>(world: World, ms: number, work: Promise<T>): Promise<T | null> {
  const timer = new AbortController();
  const late = sleep(world, ms, timer.signal).then(() => null);
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    timer.abort("answered");
  }
}

/** The runs whose keys are worth a look after this commit: limited children, and a limited run that gave its claim back. */
function movedInLine({ claim, effects }: Commit): string[] {
  const children = effects.flatMap((effect) =>
    effect.kind === "enqueue" && (effect.run.limits?.length ?? 0) > 0 ? effect.run.id : [],
  );
  // A writer is opened with the whole claimed run.
  const { limited } = claim as Partial<ClaimedRun>;
  return limited && settles(effects.at(-1)!) ? [...children, claim.runId] : children;
}
