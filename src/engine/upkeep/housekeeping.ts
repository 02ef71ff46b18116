// Housekeeping: a heartbeat once per interval and node, and the work that its answer asks for: reclaim the runs of dead nodes, wake
// parked runs, admit held ones.

import { buggify } from "../../kernel/buggify.js";
import { Loop } from "../../kernel/loop.js";
import type { ModeState } from "../../kernel/node-mode.js";
import type { HouseReport } from "../../store/contract/node/house.js";
import type { NodeParts } from "../node-parts.js";
import { reviewMisfits } from "./misfits.js";
import type { OwnPresence } from "./own-presence.js";
import { reportReclaimed } from "./reclaim-counts.js";
import type { ReclaimerLease } from "./reclaimer-lease.js";
import type { Vitals } from "./vitals.js";
import { Watch } from "./watch.js";

const PAGE = 500;
/** Keys of limits examined in one round. */
const LINES = 200;
/** After a failed round the next one comes within this time. */
const AGAIN_MS = 500;
/** Deadlines that fall together are served together. */
const SHORTEST_PAUSE_MS = 10;

type Shared = "store" | "settings" | "world" | "bus" | "modes" | "env" | "incarnation" | "alone";

export interface HousekeepingOptions extends Pick<NodeParts, Shared> {
  /** Null: every node reclaims. */
  readonly reclaimer: ReclaimerLease | null;
  readonly presence: OwnPresence;
  /** The store no longer knows this node. */
  readonly onForgotten: () => Promise<void>;
  /** Other nodes may count this node as gone: its claims are to be confirmed. */
  readonly onMissed: () => void;
  /** The store does not know of the presence that this node holds. */
  readonly onAbsent: () => Promise<void>;
  /** Runs of ours that have unread messages: only a node that is alone asks for them. */
  readonly onCalled: (called: HouseReport["called"]) => void;
  /** How many live nodes claim from any of our groups. */
  readonly onPeers: (peers: number) => void;
  readonly vitals: Vitals;
  /** The timers of state machines that this node fires. */
  readonly timers?: TimerDuty;
  /** False: other nodes reclaim the runs of dead nodes. */
  readonly reclaims: boolean;
  /** After each round; `mode` is null while the store knows no other than this node does. */
  readonly onRound: (mode: ModeState | null) => Promise<void>;
  /** Called when runs became claimable. */
  readonly onWork: () => void;
}

/** What fires timers learns from each round. */
export interface TimerDuty {
  readonly groupIds: readonly number[];
  noted(report: Pick<HouseReport, "first" | "gone">): void;
}

/** All nodes are woken by the same NOTIFY: each looks after its own random delay, and not more often than that. */
const SPREAD_MS = 50;

export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #chores: Chores;
  readonly #loop: Loop;
  #watch!: Watch;

  constructor(options: HousekeepingOptions) {
    const { world, bus } = options;
    this.#options = options;
    this.#chores = new Chores((error) => bus.emit("housekeeping.failed", { error }));
    this.#loop = new Loop({ world, round: () => this.#round(), onError: (error) => this.#failed(error) });
  }

  /** `registeredAt`: when the registration was answered, which noted who is missing. */
  start(registeredAt: number): void {
    const { world, settings } = this.#options;
    this.#watch = new Watch(world, settings.housekeepingMs, registeredAt);
    this.#loop.start();
  }

  async stop(): Promise<void> {
    const { reclaimer, bus } = this.#options;
    await this.#loop.stop();
    await this.#chores.done();
    await reclaimer?.release().catch((error) => bus.emit("housekeeping.failed", { error }));
  }

  /** This node itself has a reason for a round now. */
  wake(): void {
    this.#loop.wake();
  }

  /** A transaction left something to be found, by any node. */
  wakeSoon(): void {
    if (!this.#loop.isWoken) this.#loop.wake(SPREAD_MS * this.#options.world.random());
  }

  async #round(): Promise<number> {
    const { world } = this.#options;
    const pauseMs = this.#pauseMs();
    const sentAt = world.monotonicNow();
    const nextWakeMs = await round(this.#options, this.#watch, this.#chores);
    // From one heartbeat to the next: a slow answer must not make this node silent for longer than others wait for it.
    const leftMs = Math.max(pauseMs - (world.monotonicNow() - sentAt), SHORTEST_PAUSE_MS);
    // It sleeps until the next known deadline instead of polling for it.
    return this.#untilBeat(Math.min(leftMs, Math.max(nextWakeMs ?? leftMs, SHORTEST_PAUSE_MS)));
  }

  #failed(error: unknown): number {
    const { world, bus, presence } = this.#options;
    bus.emit("housekeeping.failed", { error });
    this.#watch.failed();
    presence.unanswered();
    return this.#untilBeat(Math.min(this.#pauseMs(), AGAIN_MS * (0.5 + world.random() / 2)));
  }

  /** Jitter, so that nodes that started together do not reclaim together. */
  #pauseMs(): number {
    const { world, settings } = this.#options;
    if (buggify(world, "housekeeping.early")) return SHORTEST_PAUSE_MS;
    return settings.housekeepingMs * (0.8 + world.random() * 0.4);
  }

  #untilBeat(pauseMs: number): number {
    return Math.min(pauseMs, this.#options.presence.nextBeatMs ?? pauseMs);
  }
}

/** The parts of a round, each independent: one that is slow or fails delays no other, and is not begun again while it runs. */
class Chores {
  readonly #running = new Map<string, Promise<void>>();
  readonly #onFailed: (error: unknown) => void;

  constructor(onFailed: (error: unknown) => void) {
    this.#onFailed = onFailed;
  }

  begin(name: string, work: () => Promise<void>): void {
    if (this.#running.has(name)) return;
    const running = work()
      .catch(this.#onFailed)
      .finally(() => this.#running.delete(name));
    this.#running.set(name, running);
  }

  async done(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }
}

/** The heartbeat comes first and waits for nothing; its answer says which parts have something to do. */
async function round(options: HousekeepingOptions, watch: Watch, chores: Chores): Promise<number | null> {
  const { store, world, incarnation, env, modes, alone, presence } = options;
  const { told } = modes;
  const sentAt = world.monotonicNow();
  const wasMissed = presence.doubtBefore > sentAt;
  presence.heartbeatSent();
  const timerGroups = options.timers?.groupIds ?? [];
  const reported = { ...watch.told, ...options.vitals.next() };
  const report = await store.housekeep({ incarnation, env, alone, timerGroups, ...reported });
  watch.answered();
  presence.heartbeatAnswered(sentAt);
  if (wasMissed) options.onMissed();
  options.onCalled(report.called);
  options.onPeers(report.peers);
  options.timers?.noted(report);
  if (!report.registered) chores.begin("register", options.onForgotten);
  else if (!report.present && presence.held) chores.begin("attend", options.onAbsent);
  // A disabled node changes nothing, not even the runs of others.
  const reclaims = options.reclaims && modes.state.mode !== "disabled";
  if (reclaims && (report.orphans || options.reclaimer)) {
    chores.begin("reclaim", () => reclaimIn(options, watch, report.orphans));
  }
  if (report.due) chores.begin("wake", () => wakeIn(options, chores));
  // Only while a run waits for a limit.
  if (report.held) chores.begin("admit", () => admitIn(options));
  if (report.overdue) chores.begin("expire", () => expireIn(options));
  if (report.misfits) chores.begin("review", () => reviewIn(options));
  // Set by this node itself meanwhile: the report may be older than that.
  chores.begin("obey", () => options.onRound(modes.told === told ? report.mode : null));
  return report.nextWakeMs;
}

async function reclaimIn(options: HousekeepingOptions, watch: Watch, orphans: boolean): Promise<void> {
  const { store, world, bus, incarnation, env, reclaimer, onWork } = options;
  const limit = buggify(world, "housekeeping.reclaim-one") ? 1 : PAGE;
  if (reclaimer && !(await reclaimer.hold())) return;
  for (let more = orphans; more; ) {
    const reclaimed = await store.reclaim({ incarnation, env, limit, ...watch.told });
    reportReclaimed(bus, reclaimed);
    if (reclaimed.length > 0) onWork();
    more = reclaimed.length >= limit;
  }
}

async function wakeIn(options: HousekeepingOptions, chores: Chores): Promise<void> {
  const { store, world, onWork } = options;
  const limit = buggify(world, "housekeeping.wake-one") ? 1 : PAGE;
  for (let woken = limit; woken >= limit; ) {
    woken = await store.runs.wakeParked({ limit });
    if (woken === 0) return;
    onWork();
    // Those under a limit are held now.
    chores.begin("admit", () => admitIn(options));
  }
}

async function admitIn({ store, world, env, onWork }: HousekeepingOptions): Promise<void> {
  const keys = buggify(world, "housekeeping.admit-one") ? 1 : LINES;
  if ((await store.runs.admit({ env, keys })) > 0) onWork();
}

async function expireIn({ store, env, bus }: HousekeepingOptions): Promise<void> {
  for (const expired of await store.runs.expireDeferred({ env, limit: PAGE })) bus.emit("run.expired", expired);
}

async function reviewIn({ store, bus, env, onWork }: HousekeepingOptions): Promise<void> {
  if ((await reviewMisfits({ store, bus, env })) > 0) onWork();
}
