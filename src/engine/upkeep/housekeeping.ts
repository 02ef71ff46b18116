// Housekeeping: a heartbeat once per interval and node, and beside it what it found to do: sweep of orphans, wake-up of parked
// runs, admission of held ones.

import type { ModeState } from "../../kernel/node-mode.js";
import type { Settings } from "../../kernel/setting/setting-options.js";
import { sleep, type World } from "../../kernel/world.js";
import type { HouseReport } from "../../store/contract/node/house.js";
import type { Store } from "../../store/contract/store.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";
import type { Modes } from "../modes.js";
import { reviewMisfits } from "./misfits.js";
import type { OwnPresence } from "./own-presence.js";
import { tellReclaimed } from "./sweep-counts.js";
import type { SweeperLease } from "./sweeper-lease.js";
import { Watch } from "./watch.js";

const PAGE = 500;
/** Keys of limits looked at in one round. */
const LINES = 200;
/** How soon the next round comes after one that failed, at most. */
const AGAIN_MS = 500;
/** Deadlines that fall together are served together. */
const SHORTEST_PAUSE_MS = 10;

export interface HousekeepingOptions {
  readonly store: Store;
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly env: string;
  readonly incarnation: string;
  /** Null: every node reclaims. */
  readonly sweeper: SweeperLease | null;
  /** When the registration was answered, which noted who is missing. */
  readonly registeredAt: number;
  readonly presence: OwnPresence;
  /** The only node of its env and stack: it hears of messages here, because it renews hardly ever. */
  readonly alone: boolean;
  /** The store does not know this node any more. */
  readonly onForgotten: () => Promise<void>;
  /** Others may have taken this node for gone: its claims are to be confirmed. */
  readonly onMissed: () => void;
  /** The store does not know of the presence that this node holds. */
  readonly onAbsent: () => Promise<void>;
  /** Runs of ours that have unread messages: told to a node that is alone. */
  readonly onCalled: (called: HouseReport["called"]) => void;
  /** How many live nodes claim from any of our groups. */
  readonly onPeers: (peers: number) => void;
  readonly modes: Modes;
  /** False: somebody else takes back the runs of dead nodes. */
  readonly reclaims: boolean;
  /** After each round; `mode` is null while the store knows no other than this node does. */
  readonly onRound: (mode: ModeState | null) => Promise<void>;
  /** Knocked at when somebody's own transaction left something to be found. */
  readonly door: Door;
  /** Called when runs became claimable. */
  readonly onWork: () => void;
}

/** Many knock at once, on every node: answered after a while that differs from node to node, and not more often. */
const KNOCK_MS = 50;

/** Lets the next round come earlier. */
export class Door {
  readonly #world: World;
  #open: (() => void) | null = null;
  #knocked = false;
  /** The knock is to be answered, and nobody was waiting. */
  #due = false;

  constructor(world: World) {
    this.#world = world;
  }

  knock(): void {
    if (this.#knocked) return;
    this.#knocked = true;
    this.#world.after(KNOCK_MS * this.#world.random(), () => {
      this.#due = true;
      this.#open?.();
    });
  }

  /** At once: this node itself has a reason. */
  open(): void {
    this.#due = true;
    this.#open?.();
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const knocked = new AbortController();
    this.#open = () => knocked.abort("knocked");
    if (!this.#due) await sleep(this.#world, ms, AbortSignal.any([signal, knocked.signal])).catch(() => {});
    this.#open = null;
    this.#knocked = false;
    this.#due = false;
  }
}

/** Runs until the signal aborts. A round that fails is told and the next one comes, soon. */
export async function keepHouse(options: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { world, settings, bus, presence } = options;
  const watch = new Watch(world, settings.housekeepingMs, options.registeredAt);
  const chores = new Chores((error) => bus.emit("housekeeping.failed", { error }));
  while (!signal.aborted) {
    // Jitter, so that nodes that started together do not sweep together.
    let pauseMs = settings.housekeepingMs * (0.8 + world.random() * 0.4);
    const sentAt = world.monotonicNow();
    try {
      const nextWakeMs = await round(options, watch, chores);
      // From one sign of life to the next: a slow answer must not make this node silent for longer than others wait for it.
      pauseMs = Math.max(pauseMs - (world.monotonicNow() - sentAt), SHORTEST_PAUSE_MS);
      // The next known deadline is slept on, not polled for.
      if (nextWakeMs !== null) pauseMs = Math.min(pauseMs, Math.max(nextWakeMs, SHORTEST_PAUSE_MS));
    } catch (error) {
      bus.emit("housekeeping.failed", { error });
      watch.failed();
      presence.unanswered();
      pauseMs = Math.min(pauseMs, AGAIN_MS * (0.5 + world.random() / 2));
    }
    await options.door.wait(Math.min(pauseMs, presence.nextBeatMs ?? pauseMs), signal);
  }
  await chores.done();
  await options.sweeper?.release().catch((error) => bus.emit("housekeeping.failed", { error }));
}

/** The parts of a round, each on its own: one that is slow or fails holds up no other, and is not begun again while it runs. */
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

/** The sign of life comes first and waits for nothing; it answers which parts have something to do. */
async function round(options: HousekeepingOptions, watch: Watch, chores: Chores): Promise<number | null> {
  const { store, world, incarnation, env, modes, alone, presence } = options;
  const { told } = modes;
  const sentAt = world.monotonicNow();
  const wasMissed = presence.doubtBefore > sentAt;
  presence.beating();
  const report = await store.housekeep({ incarnation, env, alone, ...watch.told });
  watch.answered();
  presence.beaten(sentAt);
  if (wasMissed) options.onMissed();
  options.onCalled(report.called);
  options.onPeers(report.peers);
  if (!report.registered) chores.begin("register", options.onForgotten);
  else if (!report.present && presence.held) chores.begin("attend", options.onAbsent);
  // A disabled node makes nothing, not even of others' runs.
  const reclaims = options.reclaims && modes.state.mode !== "disabled";
  if (reclaims && (report.orphans || options.sweeper)) {
    chores.begin("reclaim", () => reclaimIn(options, watch, report.orphans));
  }
  if (report.due) chores.begin("wake", () => wakeIn(options, chores));
  // Only while somebody waits for a limit.
  if (report.held) chores.begin("admit", () => admitIn(options));
  if (report.overdue) chores.begin("expire", () => expireIn(options));
  if (report.misfits) chores.begin("review", () => reviewIn(options));
  // Set by this node itself meanwhile: the report may be older than that.
  chores.begin("obey", () => options.onRound(modes.told === told ? report.mode : null));
  return report.nextWakeMs;
}

async function reclaimIn(options: HousekeepingOptions, watch: Watch, orphans: boolean): Promise<void> {
  const { store, bus, incarnation, env, sweeper, onWork } = options;
  if (sweeper && !(await sweeper.hold())) return;
  for (let more = orphans; more; ) {
    const reclaimed = await store.reclaim({ incarnation, env, limit: PAGE, ...watch.told });
    tellReclaimed(bus, reclaimed);
    if (reclaimed.length > 0) onWork();
    more = reclaimed.length >= PAGE;
  }
}

async function wakeIn(options: HousekeepingOptions, chores: Chores): Promise<void> {
  const { store, onWork } = options;
  for (let woken = PAGE; woken >= PAGE; ) {
    woken = await store.runs.wakeParked({ limit: PAGE });
    if (woken === 0) return;
    onWork();
    // Those under a limit stand in line now.
    chores.begin("admit", () => admitIn(options));
  }
}

async function admitIn({ store, env, onWork }: HousekeepingOptions): Promise<void> {
  if ((await store.runs.admit({ env, keys: LINES })) > 0) onWork();
}

async function expireIn({ store, env, bus }: HousekeepingOptions): Promise<void> {
  for (const expired of await store.runs.expireDeferred({ env, limit: PAGE })) bus.emit("run.expired", expired);
}

async function reviewIn({ store, bus, env, onWork }: HousekeepingOptions): Promise<void> {
  if ((await reviewMisfits({ store, bus, env })) > 0) onWork();
}
