// The engine of a node: assembles what claims, executes and keeps runs, and stops these parts in order.

import { errorClass } from "../kernel/codec/recorded-error.js";
import type { HoldfastError } from "../kernel/error.js";
import { type Loop, STOP_GRACE_MS } from "../kernel/loop.js";
import type { Drain, ModeState, NodeMode } from "../kernel/node-mode.js";
import { within } from "../kernel/world.js";
import type { Subscription } from "../store/contract/event/events.js";
import type { Attendance } from "../store/contract/node/attend.js";
import type { ProgramFacts } from "../store/contract/node/programs.js";
import type { ClaimedRun } from "../store/contract/run/runs.js";
import { Admitter, movedInLine } from "./claiming/admitter.js";
import { type AssignmentOptions, Assignments } from "./claiming/assignments.js";
import { ClaimLoop, type Wanted } from "./claiming/claim-loop.js";
import { LeaseKeeper } from "./claiming/lease-keeper.js";
import type { Served } from "./claiming/routing.js";
import { SlotSeat } from "./claiming/slot-seat.js";
import { Slots } from "./claiming/slots.js";
import { Solitary } from "./claiming/solitary.js";
import { Committer } from "./committer.js";
import { endCorrupt } from "./corrupt-journal.js";
import { handBackAll, untilIdle } from "./idle.js";
import type { NodeParts } from "./node-parts.js";
import type { NodeWakeups } from "./node-wakeups.js";
import { type Program, ProgramGone } from "./program.js";
import { Session } from "./session.js";
import { BreakerWatch } from "./upkeep/breaker-watch.js";
import { startCleanup } from "./upkeep/cleanup.js";
import { Housekeeping, type TimerDuty } from "./upkeep/housekeeping.js";
import { OwnPresence } from "./upkeep/own-presence.js";
import { ReclaimerLease } from "./upkeep/reclaimer-lease.js";
import { registerNode } from "./upkeep/register-node.js";
import { startStatistics } from "./upkeep/statistics.js";
import { Subscriber } from "./upkeep/subscriber.js";
import { Vitals } from "./upkeep/vitals.js";

export interface EngineOptions extends NodeParts, AssignmentOptions {
  /** What starts them, apart from calls. */
  readonly subscriptions: readonly Subscription[];
  /** The store refuses this node: another node has replaced it. */
  readonly onReplaced: () => void;
  /** The mode it starts in, unless another was stored. */
  readonly mode: NodeMode;
  /** Called around the work on each run. */
  readonly around?: (program: Program, session: Session, work: () => Promise<void>) => Promise<void>;
  /** It knows its mode, and has claimed nothing yet. */
  readonly onRegistered: () => Promise<void>;
  /** The timers of state machines that this node fires. */
  readonly timers?: TimerDuty;
  /** The node has drained and is to stop. */
  readonly onExit: () => void;
  /** This process has written to the run, and may have released it: callers that wait for it look now. */
  readonly onCommitted: (runId: string, isReleased: boolean) => void;
  /** What its programs look like, for people. */
  readonly facts: () => readonly ProgramFacts[];
  /** It is woken for runs, and wakes others for groups and news. */
  readonly wakeups: NodeWakeups;
}

/** Its slots and its own claim loop: a full executor does not keep others from claiming. */
interface Executor {
  readonly name: string;
  readonly slots: Slots;
  readonly loop: ClaimLoop;
}

export class Engine {
  readonly #options: EngineOptions;
  readonly #presence: OwnPresence;
  readonly #house: Housekeeping;
  readonly #keeper: LeaseKeeper;
  readonly #committer: Committer;
  readonly #executors: readonly Executor[];
  readonly #assignments: Assignments;
  readonly #admitter: Admitter;
  readonly #subscriber: Subscriber;
  readonly #breakers: BreakerWatch;
  readonly #solitary: Solitary;
  #attendance: Attendance | null = null;
  #cleanup: Loop | null = null;
  readonly #onCommitted = (runId: string, isReleased: boolean): void => {
    this.#options.onCommitted(runId, isReleased);
    if (this.#presence.wantsBeat) this.#house.wake();
  };
  #statistics: Loop | null = null;
  #stopping = false;
  #lastClaim: Promise<unknown> = Promise.resolve();
  #left: ReadonlySet<Session> = new Set();
  #worked = 0;
  #peers = 1;

  constructor(options: EngineOptions) {
    const { store, settings, world, bus, alone } = options;
    this.#options = options;
    this.#admitter = new Admitter(store.runs, () => this.wake());
    this.#committer = new Committer(store.runs, world, (written) => this.#admitter.soon(written.flatMap(movedInLine)));
    this.#presence = new OwnPresence(world, settings);
    this.#keeper = new LeaseKeeper({ store: store.runs, settings, world, bus, presence: this.#presence, alone });
    this.#assignments = new Assignments(options);
    this.#solitary = new Solitary({
      world,
      active: () => this.active,
      handBack: (suspect) => this.#handBackUnstarted((session) => session !== suspect),
      onOpen: () => this.wake(),
    });
    this.#executors = [...options.routing.executors].map(([name, size]) => this.#executor(name, size));
    this.#subscriber = new Subscriber({ ...options, onRound: () => this.#assignments.declare() });
    this.#breakers = new BreakerWatch(options);
    this.#house = this.#housekeeping();
    options.wakeups.on("runs", () => this.wake());
    options.wakeups.on("news", () => this.#house.wakeSoon());
    options.wakeups.on("groups", (groupIds) => {
      for (const { loop } of this.#executors) loop.wake(groupIds);
    });
  }

  #housekeeping(): Housekeeping {
    const { reclaimer } = this.#options;
    return new Housekeeping({
      ...this.#options,
      presence: this.#presence,
      vitals: new Vitals(this.#options.world, () => this.#executors),
      reclaimer: reclaimer === "one" ? new ReclaimerLease(this.#options) : null,
      reclaims: reclaimer !== "off",
      onForgotten: () => this.#registerAgain(),
      onMissed: () => this.#keeper.wake(),
      onAbsent: async () => this.#attendance?.again(),
      onCalled: (called) => this.#keeper.called(called),
      onPeers: (peers) => {
        this.#peers = peers;
      },
      onRound: async (mode) => {
        if (mode) await this.obey(mode);
        if (await this.#assignments.refreshOtherStacks(() => this.#handBackUnstarted())) this.wake();
      },
      onWork: () => this.wake(),
    });
  }

  #executor(name: string, size: number): Executor {
    const { store, settings, world, bus, build, incarnation: owner } = this.#options;
    const slots = new Slots(size);
    const onClaimed = (run: ClaimedRun, askedAt: number) => this.#work(executor, run, askedAt);
    const groupIds = () => this.#assignments.claimable(name);
    const parts = { store: store.runs, settings, world, bus, owner, build, size, groupIds, onClaimed };
    const mayClaimAhead = () => !this.#assignments.failsWhatDied;
    const lent = () => slots.lent;
    const loop = new ClaimLoop({ ...parts, mayClaimAhead, solitary: this.#solitary, peers: () => this.#peers, lent });
    const executor: Executor = { name, slots, loop };
    return executor;
  }

  async start(): Promise<void> {
    const { store, world, bus, incarnation, wakeups } = this.#options;
    const refused = await this.#register();
    if (refused) throw refused;
    const registeredAt = world.monotonicNow();
    await this.#options.onRegistered();
    this.#attendance = await store.attend({
      incarnation,
      onNews: () => wakeups.wake("news"),
      onPresence: (held) => this.#presenceChanged(held),
      onCalled: (runIds) => this.#keeper.call(new Set(runIds)),
      onSkipped: (runs) => {
        for (const skipped of runs) bus.emit("run.overflowed", skipped);
      },
      onWake: (groupIds) => wakeups.wake("groups", groupIds),
    });
    if (this.#attendance.seen) this.#presence.attend();
    this.#keeper.start();
    for (const { loop } of this.#executors) loop.start();
    this.#house.start(registeredAt);
    this.#cleanup = startCleanup(this.#options);
    if (this.#options.statistics) this.#statistics = startStatistics(this.#options);
    await this.#subscriber.start();
    this.#reportStarted();
  }

  /** Other nodes miss it from now on, or no longer: it sends a heartbeat at once and renews its claims. */
  #presenceChanged(held: boolean): void {
    this.#presence.change(held);
    this.#house.wake();
    if (this.#attendance) this.#keeper.wake();
  }

  #reportStarted(): void {
    const { bus } = this.#options;
    const { groups: serves, executors, all: programs } = this.#assignments;
    bus.emit("node.started", { serves, executors, programs });
    const unserved = programs.filter(({ executor }) => executor === null);
    if (unserved.length > 0) bus.emit("node.unserved", { programs: unserved });
  }

  /** Every program of this node, and the executor that it has here. */
  get serves(): readonly Served[] {
    return this.#assignments.all;
  }

  /**
   * From now on these programs and no others; what is under way continues. Their triggers go first: while this node is known to
   * have a program, a trigger that no node declares any more is removed.
   */
  async serve(programs: readonly Program[], subscriptions: readonly Subscription[]): Promise<void> {
    await this.#subscriber.change(subscriptions);
    this.#assignments.programs = programs;
    await this.#registerAgain();
    this.wake();
  }

  #register(again = false): Promise<HoldfastError | null> {
    return registerNode(this.#options, this.#assignments, again);
  }

  /** A failover has lost its registration, and maybe the numbers of its groups; or another node found it dead. */
  async #registerAgain(): Promise<void> {
    if (this.#stopping) return;
    const refused = await this.#register(true);
    if (!refused) return this.#attendance?.again();
    this.#options.bus.emit("node.replaced", { error: refused });
    this.#options.onReplaced();
  }

  /** The mode that the store has for this node, however it was learned. What runs continues, unless it drains. */
  async obey(state: ModeState): Promise<void> {
    const { modes, bus } = this.#options;
    const { drain: before } = modes.state;
    if (!modes.set(state)) return;
    bus.emit("mode.changed", { nodeMode: state.mode, overrides: state.overrides, drain: state.drain });
    this.#handBackUnstarted();
    this.wake();
    if (state.drain !== null && state.drain !== before) void this.#drain(state.drain);
    await this.#assignments.tell();
    await this.#assignments.declare();
  }

  /** Hands back what was claimed, has not begun and is not to. */
  #handBackUnstarted(isUnwanted = (session: Session) => this.#isUnwanted(session)): void {
    for (const session of this.#keeper.held) {
      if (!session.begun && isUnwanted(session)) session.stop(this.#underWay());
    }
  }

  /** It was claimed before the mode changed, its stack had a node of its own again, or a suspect was to be executed alone. */
  #isUnwanted({ run }: Session): boolean {
    return this.#assignments.isGivenUp(run.groupId) || (this.#solitary.handsBackUnstarted && !run.suspect);
  }

  #underWay(): Promise<unknown> {
    return Promise.all(this.#executors.map(({ loop }) => loop.underWay));
  }

  async #drain(how: Drain): Promise<void> {
    const { modes, settings, world, bus, onExit } = this.#options;
    const left = await handBackAll({
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

  /** There may be work: look now instead of at the next poll. */
  wake(what: Wanted = "all"): void {
    for (const { loop } of this.#executors) loop.wake([], what);
  }

  /** Claimed runs, those that wait for a slot included. */
  get active(): number {
    return this.#executors.reduce((sum, { loop }) => sum + loop.active, 0);
  }

  /** Runs worked on until their claim could be released, since the start. */
  get worked(): number {
    return this.#worked;
  }

  /** True when nothing is left to claim and no run is being worked on; false when that took longer, or the node stops. */
  untilIdle(timeoutMs: number): Promise<boolean> {
    const look = () => Promise.all(this.#executors.map(({ loop }) => loop.look()));
    // Runs that sleep do not count.
    const active = () => this.#executors.reduce((sum, { loop, slots }) => sum + loop.active - slots.lent, 0);
    return untilIdle({ world: this.#options.world, timeoutMs, look, isStopping: () => this.#stopping, active });
  }

  /**
   * Claims nothing more and lets steps under way end; after the grace aborts them. Runs whose work has ended are handed
   * back. One whose work ignores the abort is left to its lease, so that no other node executes it while this process does.
   */
  async stop(graceMs: number): Promise<void> {
    const { store, world, bus, incarnation } = this.#options;
    this.#stopping = true;
    bus.emit("node.stopping", { active: this.active, graceMs });
    this.#lastClaim = Promise.all(this.#executors.map(({ loop }) => loop.stop()));
    for (const session of this.#keeper.held) session.stop(this.#lastClaim);
    await handBackAll({
      world,
      graceMs,
      held: () => this.#keeper.held,
      active: () => this.active + this.#executors.filter(({ loop }) => loop.claiming).length,
      isOn: () => true,
      lastClaim: () => this.#lastClaim,
    });
    this.#left = new Set(this.#keeper.held);
    for (const session of this.#left) session.lose();
    for (const session of this.#left) this.#keeper.drop(session);
    // What fails is reported, and keeps no other part: a node that could not say goodbye leaves all the same.
    const all = (parts: readonly (Promise<unknown> | undefined)[]) =>
      Promise.all(parts.map((part) => part?.catch((error) => bus.emit("housekeeping.failed", { error }))));
    const gone = all([
      this.#lastClaim,
      this.#house.stop(),
      this.#cleanup?.stop(),
      this.#statistics?.stop(),
      this.#keeper.stop().then(() => this.#keeper.endDropped()),
      store.nodes.stop(incarnation),
    ])
      .then(() => all([this.#admitter.stop(), this.#subscriber.stop()]))
      .then(() => all([this.#attendance?.leave()]));
    await within(world, STOP_GRACE_MS, gone);
    bus.emit("node.stopped", { left: this.#left.size });
  }

  async #work(executor: Executor, run: ClaimedRun, askedAt: number): Promise<void> {
    const { store, settings, world, bus, build, env } = this.#options;
    const program = this.#assignments.programOf(run.groupId);
    // It is not renewed: when its lease has expired, it is reclaimed.
    if (!program) return bus.emit("claim.failed", { error: new ProgramGone(run.runId) });
    const writer = this.#committer.open(run, run.seq);
    const session = new Session({
      run,
      writer,
      store,
      world,
      bus,
      build,
      env,
      askedAt,
      leaseMs: settings.leaseMs,
      presence: this.#presence,
      onCommitted: this.#onCommitted,
    });
    // Granted by the last claim, which was under way.
    if (this.#stopping) session.stop(this.#lastClaim);
    else if (this.#isUnwanted(session)) session.stop(this.#underWay());
    this.#keeper.add(session);
    const { runId, epoch, parentId } = run;
    const { name, kind } = program;
    const claimed = { runId, program: name, epoch, kind, parentId, executor: executor.name, attempt: run.failures + 1 };
    bus.emit("run.claimed", claimed);
    if (run.deferredBy !== null) bus.emit("run.deferred_taken", { runId, program: name, epoch, by: run.deferredBy });
    try {
      const execute = () => this.#execute(program, session, executor);
      await (run.suspect ? this.#solitary.execute(session, execute) : execute());
      const error = errorClass(session.failedWith);
      if (session.settledAs === "handed-back") bus.emit("run.handed_back", { runId, program: name, epoch });
      else if (session.settledAs === "misfit") bus.emit("run.misfit", { runId, program: name, epoch, build, error });
      else this.#worked++;
      const [as, ms] = [session.settledAs ?? "unknown", world.monotonicNow() - askedAt];
      bus.emit("run.settled", { runId, program: name, epoch, kind, parentId, as, ms, error });
      if (program.breaker) await this.#breakers.ended(program, run.runId, session.settledAs);
    } catch (error) {
      if ((error as { code?: unknown }).code === "CLAIM_LOST") {
        if (!this.#left.has(session)) bus.emit("claim.lost", { runId: run.runId, epoch: run.epoch });
      } else {
        bus.emit("run.broken", { runId: run.runId, error });
        await endCorrupt(session, error);
      }
    } finally {
      // Broken, or given up in a stop: the run is reclaimed when its lease expires.
      if (session.settledAs === null) this.#keeper.drop(session);
      else this.#keeper.remove(session);
    }
  }

  /** One that was claimed ahead and never began is handed back as it is; one that is to stop needs no slot for that. */
  async #execute(program: Program, session: Session, { slots, loop }: Executor): Promise<void> {
    const turn = slots.takeNow(session) ?? (await slots.take(session));
    if (turn === "none") return void (await session.commit([{ kind: "handBack" }]));
    if (turn === "stop") return program.execute(session);
    session.begun = true;
    const mayKeep = () => this.#assignments.mayHoldAsleep(program) && !this.#isUnwanted(session);
    session.seat = new SlotSeat({ slots, session, mayKeep, onLent: () => loop.freed() });
    try {
      const { debounce } = session.run;
      const { around } = this.#options;
      const work = () => program.execute(session);
      if (!debounce) return await (around ? around(program, session, work) : work());
      await session.settleDebounced(debounce);
      this.wake();
    } finally {
      session.seat.leave();
    }
  }
}
