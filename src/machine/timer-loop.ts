// Fires the timers of a node's machines: sleeps until the next known deadline by the store's clock, claims due timers,
// and passes them to the instances. Firing is an append that names its timer, so a late node finds the timer gone.

import { failureDetail } from "../kernel/failure-detail.js";
import type { RunGroup } from "../kernel/run/new-run.js";
import { retryDelayMs, retryPolicy } from "../kernel/run/retry.js";
import { sleep, type World } from "../kernel/world.js";
import type {
  ClaimedTimers,
  LoadedInstance,
  TimerRecord,
  TimerSettlement,
} from "../store/contract/machine/machines.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { AnyMachine } from "./definition.js";
import { timerGroup } from "./draft.js";
import { InstanceEnded, isPassing } from "./errors.js";
import type { Instances } from "./instances.js";
import type { AfterBranch, MachineEvent } from "./logic.js";
import type { MachineEvents } from "./machine-events.js";
import type { Delivered } from "./mailbox.js";
import type { Incoming } from "./steps.js";
import { drawSuspects, isSuspect } from "./suspect-timers.js";
import { TimerPace } from "./timer-pace.js";

/** Delay before a timer that could not be tried is claimed again. */
const NOT_YET_MS = 250;
/** How long no other node claims them. */
const LEASE_MS = 5_000;
/** Deadlines that fall together are served together. */
const SHORTEST_PAUSE_MS = 5;
/** Delay for a timer that this code does not know, or whose instance does not exist. */
const KEPT_MS = 60_000;
const FAREWELL_MS = 2_000;
const RETRY = retryPolicy({ attempts: 10, delay: "1s", maxDelay: "5m" });

export interface TimerLoopOptions {
  readonly instances: Instances;
  readonly machines: readonly AnyMachine[];
  readonly world: World;
  readonly bus: Telemetry<MachineEvents>;
  /** Looks so often at least. */
  readonly lookEveryMs: number;
}

export class TimerLoop {
  readonly #options: TimerLoopOptions;
  readonly #machines: ReadonlyMap<string, AnyMachine>;
  readonly #groups: readonly RunGroup[];
  readonly #stopped = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  readonly #pace: TimerPace;
  #suspecting = false;
  #taken = 0;
  #groupIds: ReadonlySet<number> = new Set();
  #loop: Promise<void> = Promise.resolve();
  #wakeAt = Number.POSITIVE_INFINITY;
  #interrupt: (() => void) | null = null;

  constructor(options: TimerLoopOptions) {
    const { machines, instances } = options;
    this.#options = options;
    this.#pace = new TimerPace(options.world, LEASE_MS);
    this.#machines = new Map(machines.map((machine) => [machine.name, machine]));
    // A node of a stack also serves instances started in no stack.
    const stacks = instances.stack === null ? [null] : [instances.stack, null];
    this.#groups = machines.flatMap(({ name }) => stacks.map((stack) => timerGroup(instances.env, stack, name)));
  }

  async start(): Promise<void> {
    if (this.#groups.length === 0) return;
    this.#groupIds = new Set(await this.#options.instances.store.runs.groupIds(this.#groups));
    this.#loop = this.#run();
  }

  /** The store may be away: what is under way is not waited for longer than this. */
  async stop(): Promise<void> {
    this.#stopped.abort("stopped");
    const over = new AbortController();
    const late = sleep(this.#options.world, FAREWELL_MS, over.signal).catch(() => {});
    await Promise.race([this.#loop.then(() => Promise.all(this.#underWay)), late]);
    over.abort("over");
  }

  /** A timer may be due in this many ms. */
  knock(inMs: number): void {
    const at = this.#options.world.monotonicNow() + inMs;
    if (at >= this.#wakeAt) return;
    this.#wakeAt = at;
    this.#interrupt?.();
  }

  /** Another process has set timers in these groups; empty: any group. */
  hear(groupIds: readonly number[]): void {
    if (groupIds.length === 0 || groupIds.some((id) => this.#groupIds.has(id))) this.knock(0);
  }

  /** Takes what is due and waits for what comes of it. Answers how many were taken since it was asked last, by the loop too. */
  async untilFired(): Promise<number> {
    if (this.#groups.length === 0) return 0;
    await this.#round();
    await Promise.all(this.#underWay);
    const taken = this.#taken;
    this.#taken = 0;
    return taken;
  }

  async #run(): Promise<void> {
    const { world, bus, lookEveryMs } = this.#options;
    while (!this.#stopped.signal.aborted) {
      // A wake-up from now on counts for the next round.
      this.#wakeAt = world.monotonicNow() + lookEveryMs * (0.8 + world.random() * 0.2);
      let pauseMs = SHORTEST_PAUSE_MS;
      try {
        const { full, nextMs } = await this.#round();
        if (full) pauseMs = 0;
        if (nextMs !== null) this.#wakeAt = Math.min(this.#wakeAt, world.monotonicNow() + nextMs);
      } catch (error) {
        pauseMs = Math.min(1_000, lookEveryMs);
        bus.emit("timers.failed", { error });
      }
      if (pauseMs > 0) await sleep(world, pauseMs, this.#stopped.signal).catch(() => {});
      // A slow timer does not delay the others as long as there is capacity.
      while (this.#pace.isFull && this.#underWay.size > 0) await Promise.race(this.#underWay);
      if (pauseMs > 0) await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const { world } = this.#options;
    for (;;) {
      const leftMs = this.#wakeAt - world.monotonicNow();
      // Not the last part of a millisecond: a clock that runs a little off might never reach it.
      if (leftMs < 1 || this.#stopped.signal.aborted) return;
      const knocked = new AbortController();
      this.#interrupt = () => knocked.abort("knocked");
      await sleep(world, leftMs, AbortSignal.any([this.#stopped.signal, knocked.signal])).catch(() => {});
      this.#interrupt = null;
    }
  }

  /** In flight from the moment the claim is sent, so untilFired() also waits for timers still being claimed. */
  async #round(): Promise<{ readonly full: boolean; readonly nextMs: number | null }> {
    const { bus, instances } = this.#options;
    const { limit } = this.#pace;
    const claim = { groups: this.#groups, limit, leaseMs: LEASE_MS, mostAttempts: RETRY.attempts };
    const claimed = instances.store.machines.claimTimers(claim);
    const fire = async (taken: ClaimedTimers) => {
      this.#taken += taken.timers.length;
      const arrived = this.#pace.begin(taken.timers.length);
      await this.#fireAll(taken).catch((error: unknown) => bus.emit("timers.failed", { error }));
      arrived();
    };
    const work = claimed.then(fire, () => {});
    const done: Promise<void> = work.finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    const { timers, nextMs } = await claimed;
    return { full: timers.length >= limit, nextMs };
  }

  async #fireAll({ timers, instances, now }: ClaimedTimers): Promise<void> {
    const byKey = new Map(instances.map((one) => [one.key, one]));
    const fire = (timer: TimerRecord) => this.#fire(timer, byKey.get(timer.instanceKey), now);
    const suspects = timers.filter(isSuspect);
    const others = timers.filter((timer) => !isSuspect(timer));
    const settled = Promise.all(others.map(fire)).then((settlements) => this.#settle(settlements));
    await Promise.all([settled, this.#fireSuspects(suspects, fire)]);
  }

  async #fireSuspects(
    suspects: readonly TimerRecord[],
    fire: (timer: TimerRecord) => Promise<TimerSettlement | null>,
  ): Promise<void> {
    if (suspects.length === 0) return;
    if (this.#suspecting) return this.#settle(suspects.map((timer) => untried(timer, NOT_YET_MS)));
    this.#suspecting = true;
    try {
      const { now, together, back } = drawSuspects(suspects, this.#options.world);
      await this.#settle(back.map((timer) => untried(timer, SHORTEST_PAUSE_MS)));
      if (together) await this.#settle(await Promise.all(now.map(fire)));
      else for (const timer of now) await this.#settle([await fire(timer)]);
    } finally {
      this.#suspecting = false;
    }
  }

  async #settle(settlements: readonly (TimerSettlement | null)[]): Promise<void> {
    const { store } = this.#options.instances;
    const some = settlements.filter((one) => one !== null);
    if (some.length === 0) return;
    await store.machines.settleTimers(some);
    for (const { as, delayMs } of some) if (as !== "dead" && as !== "drop") this.knock(delayMs);
  }

  /** Null: the timer is done. */
  async #fire(timer: TimerRecord, loaded: LoadedInstance | undefined, now: number): Promise<TimerSettlement | null> {
    const { bus, instances } = this.#options;
    const machine = loaded && this.#machines.get(loaded.group.program);
    const of = { machine: machine?.name ?? "", id: loaded?.id ?? "", timer: timer.name };
    if (timer.state === "dead") {
      bus.emit("timer.dead", { ...of, attempts: timer.attempts - 1, problem: timer.problem });
      return null;
    }
    if (!machine) return this.#failed(timer, of, new Error("The instance does not exist (yet)."));
    try {
      await instances.offer(machine, loaded);
      const delivered = await instances.deliver(machine, loaded.id, incomingOf(instances, timer));
      return this.#settled(timer, of, delivered, now);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "INSTANCE_QUARANTINED") return this.#failed(timer, of, error);
      return this.#keep(timer, of, (error as Error).message);
    }
  }

  #settled(
    timer: TimerRecord,
    of: { readonly machine: string; readonly id: string; readonly timer: string },
    delivered: Delivered,
    now: number,
  ): TimerSettlement | null {
    const { bus } = this.#options;
    switch (delivered.outcome) {
      case "applied":
        bus.emit("timer.fired", { ...of, lateMs: now - timer.dueAt });
        return null;
      case "unknown branch":
        return this.#keep(timer, of, "No branch of the current definition matches this timer.");
      case "failed":
        if (!(delivered.error instanceof InstanceEnded)) return this.#failed(timer, of, delivered.error);
        bus.emit("timer.skipped", of);
        return settlement(timer, "drop");
      case "unhandled":
        if (timer.kind === "sent") {
          bus.emit("instance.unhandled", { ...of, seq: delivered.state.seq, event: timer.name });
          return settlement(timer, "drop");
        }
        bus.emit("timer.skipped", of);
        return settlement(timer, "drop");
      default:
        bus.emit("timer.skipped", of);
        return settlement(timer, "drop");
    }
  }

  #keep(timer: TimerRecord, of: { machine: string; id: string; timer: string }, problem: string): TimerSettlement {
    this.#options.bus.emit("timer.unknown", { ...of, problem });
    return { ...settlement(timer, "keep"), delayMs: KEPT_MS, problem };
  }

  #failed(timer: TimerRecord, of: { machine: string; id: string; timer: string }, error: unknown): TimerSettlement {
    const { bus, world } = this.#options;
    const { attempts } = timer;
    const problem = failureDetail(error);
    bus.emit("timer.failed", { ...of, attempts, error });
    // Not the timer's fault.
    if (isPassing(error)) return { ...untried(timer, NOT_YET_MS * (1 + world.random())), problem };
    if (attempts < RETRY.attempts) {
      const delayMs = retryDelayMs(RETRY, attempts, () => world.random());
      return { ...settlement(timer, "retry"), delayMs, problem };
    }
    bus.emit("timer.dead", { ...of, attempts, problem });
    return { ...settlement(timer, "dead"), problem };
  }
}

function settlement({ id, generation, attempts }: TimerRecord, as: TimerSettlement["as"]): TimerSettlement {
  return { id, generation, attempts, as, delayMs: 0, problem: null };
}

/** Released without counting an attempt. */
function untried(timer: TimerRecord, delayMs: number): TimerSettlement {
  return { ...settlement(timer, "untried"), delayMs };
}

function incomingOf({ codecs }: Instances, { id, generation, kind, payload }: TimerRecord): Incoming {
  const timer = { id, generation };
  const value = codecs.decode(payload);
  if (kind === "after") return { kind, branch: value as AfterBranch, generation, timer };
  if (kind === "raise") return { kind, event: value as MachineEvent, name: "", generation, timer };
  const { event, by, key } = value as { event: MachineEvent; by: string | null; key?: string };
  return { kind: "event", event, by, key: key ?? id, timer };
}
