// The timer loop fires the timers of a node's machines: it sleeps until the next known deadline by the store's clock, claims what is
// due, and delivers it to the instances. Firing is an append that names its timer, so a node that is late finds it gone.

import { buggify } from "../../kernel/buggify.js";
import { failureDetail } from "../../kernel/failure-detail.js";
import { Loop, type Pause, STOP_GRACE_MS } from "../../kernel/loop.js";
import type { RunGroup } from "../../kernel/run/new-run.js";
import { retryDelayMs, retryPolicy } from "../../kernel/run/retry.js";
import { type World, within } from "../../kernel/world.js";
import type {
  ClaimedTimers,
  LoadedInstance,
  TimerRecord,
  TimerSettlement,
} from "../../store/contract/machine/machines.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { AnyMachine } from "../definition.js";
import { timerGroup } from "../draft.js";
import { InstanceEnded, isPassing } from "../errors.js";
import type { Instances } from "../instances.js";
import type { AfterBranch, MachineEvent } from "../logic.js";
import type { MachineEvents } from "../machine-events.js";
import type { Delivered } from "../mailbox.js";
import type { Incoming } from "../steps.js";
import { OwnDeadlines } from "./own-deadlines.js";
import { drawSuspects, isSuspect } from "./suspect-timers.js";
import { TimerPace } from "./timer-pace.js";

/** A timer that could not be tried now is tried again after this time. */
const NOT_YET_MS = 250;
/**
 * One node is the first to look at a deadline. The others look this much later, in case it is busy, slow or gone: with every node at
 * every deadline, nine looks of ten nodes found nothing.
 */
const STAND_BY_MS = 500;
/** How much the times of one deadline may differ: an answer of the store takes a while. */
const NEAR_MS = 50;
/** Deadlines that fall together are served together. */
const SHORTEST_PAUSE_MS = 5;
/** A timer that this code does not know, or of an unknown instance, is tried again after this time. */
const KEPT_MS = 60_000;
/** The first retry after a failed look comes no earlier, whatever wakes the loop. */
const FAILED_PAUSE_MS = 1_000;
const RETRY = retryPolicy({ attempts: 10, delay: "1s", maxDelay: "5m" });

export interface TimerLoopOptions {
  readonly instances: Instances;
  readonly machines: readonly AnyMachine[];
  readonly world: World;
  readonly bus: Telemetry<MachineEvents>;
  /** The longest pause between two looks. */
  readonly lookEveryMs: number;
  readonly incarnation: string;
  readonly settings: { readonly timerClaimMs: number };
}

/** Of which timer of which instance an event is. */
interface OfTimer {
  readonly machine: string;
  readonly id: string;
  readonly timer: string;
}

export class TimerLoop {
  readonly #options: TimerLoopOptions;
  readonly #machines: ReadonlyMap<string, AnyMachine>;
  readonly #groups: readonly RunGroup[];
  readonly #loop: Loop;
  readonly #underWay = new Set<Promise<void>>();
  readonly #pace: TimerPace;
  /** A round answers all earlier wakes: those for later deadlines are remembered here. */
  readonly #own = new OwnDeadlines();
  #suspecting = false;
  #taken = 0;
  #groupIds: ReadonlySet<number> = new Set();
  #isFirst = true;
  /** Nodes that died with what they had claimed. */
  #gone: readonly string[] = [];
  /** Monotonic: when to look though nothing is known to be due. */
  #lookAt = 0;

  constructor(options: TimerLoopOptions) {
    const { machines, instances, world, bus, lookEveryMs, settings } = options;
    this.#options = options;
    this.#loop = new Loop({
      world,
      round: () => this.#look(),
      onError: (error) => {
        bus.emit("timers.failed", { error });
        return { ms: this.#lookAt - world.monotonicNow(), atLeastMs: Math.min(FAILED_PAUSE_MS, lookEveryMs) };
      },
    });
    instances.wakeups.on("timers", (inMs) => {
      if (inMs > 0) this.#own.add(world.monotonicNow() + inMs);
      this.#loop.wake(inMs);
    });
    instances.wakeups.on("groups", (groupIds) => {
      if (groupIds.length === 0 || groupIds.some((id) => this.#groupIds.has(id))) this.#loop.wake(this.#standByMs);
    });
    this.#pace = new TimerPace(world, settings.timerClaimMs);
    this.#machines = new Map(machines.map((machine) => [machine.name, machine]));
    // A node of a stack also fires the timers of what was started in none.
    const stacks = instances.stack === null ? [null] : [instances.stack, null];
    this.#groups = machines.flatMap(({ name }) => stacks.map((stack) => timerGroup(instances.env, stack, name)));
  }

  get groupIds(): readonly number[] {
    return [...this.#groupIds];
  }

  /** Housekeeping reports whether this node is the first to look, and which nodes are gone. */
  noted({ first, gone }: { readonly first: readonly number[]; readonly gone: readonly string[] }): void {
    if (this.#groupIds.size === 0) return;
    const wasFirst = this.#isFirst;
    const known = this.#gone;
    this.#isFirst = first.length > 0;
    this.#gone = gone;
    // What the first one, or a node that died, has left is looked for now.
    if (gone.some((one) => !known.includes(one)) || (this.#isFirst && !wasFirst)) this.#loop.wake(this.#standByMs);
  }

  get #standByMs(): number {
    return this.#isFirst ? 0 : STAND_BY_MS;
  }

  async start(): Promise<void> {
    if (this.#groups.length === 0) return;
    this.#groupIds = new Set(await this.#options.instances.store.runs.groupIds(this.#groups));
    this.#loop.start();
  }

  async stop(): Promise<void> {
    const stopped = this.#loop.stop().then(() => Promise.all(this.#underWay));
    await within(this.#options.world, STOP_GRACE_MS, stopped);
  }

  /** Fires what is due and waits for the outcome. Returns how many were claimed since the last call, by the loop too. */
  async untilFired(): Promise<number> {
    if (this.#groups.length === 0) return 0;
    await this.#round();
    await Promise.all(this.#underWay);
    const taken = this.#taken;
    this.#taken = 0;
    return taken;
  }

  async #look(): Promise<number | Pause> {
    const { world, lookEveryMs } = this.#options;
    // A slow timer delays the next look only when there is no room for more.
    while (this.#pace.isFull && this.#underWay.size > 0) await Promise.race(this.#underWay);
    this.#lookAt = world.monotonicNow() + lookEveryMs * (0.8 + world.random() * 0.2);
    if (this.#loop.isStopped) return 0;
    const { full, nextMs } = await this.#round();
    if (full) return 0;
    if (buggify(world, "timers.early")) return SHORTEST_PAUSE_MS;
    const now = world.monotonicNow();
    return { ms: Math.min(this.#lookAt, this.#nextLookAt(now, nextMs)) - now, atLeastMs: SHORTEST_PAUSE_MS };
  }

  /** Nothing is pending before `nextMs`: a deadline of this node's own that is earlier was cancelled. */
  #nextLookAt(now: number, nextMs: number | null): number {
    this.#own.forgetBefore(now - NEAR_MS);
    if (nextMs === null) return Number.POSITIVE_INFINITY;
    const nextAt = now + nextMs;
    return Math.min(nextAt + this.#standByMs, Math.max(nextAt, this.#own.from(nextAt - NEAR_MS)));
  }

  /** It is under way from the moment it asks: `untilFired` also waits for what is being claimed. */
  async #round(): Promise<{ readonly full: boolean; readonly nextMs: number | null }> {
    const { bus, instances, incarnation: owner, settings, world } = this.#options;
    const limit = buggify(world, "timers.one") ? 1 : this.#pace.limit;
    const taking = { groups: this.#groups, limit, leaseMs: settings.timerClaimMs, mostAttempts: RETRY.attempts };
    const claim = { ...taking, owner, gone: this.#gone };
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
    for (const { as, delayMs } of some) if (as !== "dead" && as !== "drop") this.#loop.wake(delayMs);
  }

  /** Null: the timer is gone, nothing is to be settled. */
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

  #settled(timer: TimerRecord, of: OfTimer, delivered: Delivered, now: number): TimerSettlement | null {
    const { bus } = this.#options;
    switch (delivered.outcome) {
      case "applied":
        bus.emit("timer.fired", { ...of, lateMs: now - timer.dueAt });
        return null;
      case "unknown branch":
        return this.#keep(timer, of, "No branch of the current definition matches this timer.");
      case "failed":
        if (!(delivered.error instanceof InstanceEnded)) return this.#failed(timer, of, delivered.error);
        break;
      case "unhandled":
        if (timer.kind !== "sent") break;
        bus.emit("instance.unhandled", { ...of, seq: delivered.state.seq, event: timer.name });
        return settlement(timer, "drop");
    }
    bus.emit("timer.skipped", of);
    return settlement(timer, "drop");
  }

  #keep(timer: TimerRecord, of: OfTimer, problem: string): TimerSettlement {
    this.#options.bus.emit("timer.unknown", { ...of, problem });
    return { ...settlement(timer, "keep"), delayMs: KEPT_MS, problem };
  }

  #failed(timer: TimerRecord, of: OfTimer, error: unknown): TimerSettlement {
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
