// The claim loop: takes as many runs as there are free slots, after a pause no more than its share of them, and waits for a hint or
// the next poll when there are none.

import { claimToken } from "../../kernel/run/claim.js";
import type { Settings } from "../../kernel/setting/setting-options.js";
import type { World } from "../../kernel/world.js";
import type { ClaimedRun, RunStore } from "../../store/contract/run/runs.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";
import type { Solitary } from "./solitary.js";

/**
 * What no hint asks for waits so long, and mostly need not be asked at all: what is due later, and whether there is something
 * for a slot that became free though others were. Asked at once, it stood in the way of the very work that was waited for
 * (20-task DAGs: 1,730 tasks/s instead of 2,210).
 */
const SOON_MS = 5;
/**
 * After its share a node looks again so much later, for half a share each time: the others have their hint meanwhile, but on a busy
 * machine not within 5 ms. What is still left after the last of these looks is a backlog, of which it takes all it has slots for.
 */
const SHARE_PAUSES_MS = [10, 20, 20, 30];
/** Where answers are slow, others need longer, too: for a look that found rows locked, the question whether something is due, and another look. */
const SHARE_PAUSE_ANSWERS = 3;
const LONGEST_SHARE_PAUSE_MS = 200;
/**
 * What is due and was not handed out may be locked for a moment: others are claiming it, or a sweep that came second has locked what the
 * first one made claimable. It is looked for again after this time, then after twice as long, up to the poll. (Left to the poll,
 * two of four idle nodes found nothing among 30 reclaimed runs, and the other two shared them: 16/14/0/0.)
 */
const LOCKED_MS = 20;

export interface ClaimLoopOptions {
  readonly store: RunStore;
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly owner: string;
  /** The node's build. */
  readonly build?: string;
  /** Runs worked on at the same time. */
  readonly size: number;
  /** Asked for each claim: what a node takes depends on its mode. */
  readonly groupIds: () => readonly number[];
  /** Live nodes that claim from any of its groups, this one included. */
  readonly peers: () => number;
  readonly solitary: Pick<Solitary, "isClosed" | "mayPrefetch" | "ask" | "answered" | "left">;
  /** `askedAt` is the monotonic time before the claim was sent: the lease is counted from there. */
  readonly onClaimed: (run: ClaimedRun, askedAt: number) => Promise<void>;
}

export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  #stopped = false;
  #active = 0;
  #claiming = false;
  #hinted = false;
  /** The last look had no room for all there may be. */
  #leftSome = true;
  /** How many looks in a row got all they asked for. */
  #fullLooks = 0;
  /** Monotonic time before the last claim was sent. */
  #lookedAt = 0;
  /** How soon to look again for what is due and was not handed out. */
  #lockedMs = LOCKED_MS;
  #cancelLook: (() => void) | null = null;
  #lookers: ((claimed: number | null) => void)[] = [];
  #wake: (() => void) | null = null;
  #running: Promise<void> = Promise.resolve();
  #call: Promise<unknown> = Promise.resolve();

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#active;
  }

  /** Whether it may still be granted something. */
  get claiming(): boolean {
    return this.#claiming;
  }

  /** Resolves when the claim call that is on its way has come back. */
  get underWay(): Promise<unknown> {
    return this.#call;
  }

  start(): void {
    this.#claiming = true;
    this.#running = this.#loop().finally(() => {
      this.#claiming = false;
      this.#cancelLook?.();
    });
  }

  /** Claims nothing more; what was claimed goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake?.();
    await this.#running;
  }

  /** There may be work: look now. Losing hints costs latency, never work. */
  hint(): void {
    this.#hinted = true;
    this.#wake?.();
  }

  /** How many the next look takes that begins after this call; null when it cannot be made. */
  look(): Promise<number | null> {
    if (this.#stopped) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#lookers.push(resolve);
      this.hint();
    });
  }

  async #loop(): Promise<void> {
    const { settings, world, solitary } = this.#options;
    let pauseMs = settings.pollIntervalMs;
    while (!this.#stopped) {
      this.#hinted = false;
      this.#cancelLook?.();
      this.#cancelLook = null;
      const free = solitary.isClosed ? 0 : this.#room();
      const lookers = this.#lookers.splice(0);
      const { claimed, asked } = free > 0 ? await this.#look(free) : { claimed: null, asked: 0 };
      const isFull = claimed !== null && claimed === asked;
      this.#leftSome = claimed === null || isFull;
      // A node without room has not found out anything.
      if (claimed !== null) this.#fullLooks = isFull ? this.#fullLooks + 1 : 0;
      for (const tell of lookers) tell(claimed);
      if (claimed) this.#lockedMs = LOCKED_MS;
      if (claimed) pauseMs = settings.pollIntervalMs;
      // A full answer means there is more; runs that end at the same moment free their slots together.
      if (isFull && asked === free) await world.turn();
      else if (isFull) await this.#pause(this.#sharePauseMs(), "through hints");
      else {
        const hinted = (await this.#pause(SOON_MS)) || (await this.#pauseUntilDue(free > 0, pauseMs));
        if (hinted) this.#lockedMs = LOCKED_MS;
        pauseMs = hinted ? settings.pollIntervalMs : Math.min(pauseMs * 1.5, settings.pollMaxMs);
      }
    }
    for (const tell of this.#lookers.splice(0)) tell(null);
  }

  #sharePauseMs(): number {
    const tookMs = this.#options.world.monotonicNow() - this.#lookedAt;
    return Math.max(
      SHARE_PAUSES_MS[this.#fullLooks - 1] ?? SOON_MS,
      Math.min(SHARE_PAUSE_ANSWERS * tookMs, LONGEST_SHARE_PAUSE_MS),
    );
  }

  #room(): number {
    const { settings, size, solitary } = this.#options;
    return size + (solitary.mayPrefetch ? settings.prefetch : 0) - this.#active;
  }

  /** Takes its share, or all it has room for; of a suspect only what it has a slot for. */
  async #look(free: number): Promise<{ readonly claimed: number | null; readonly asked: number }> {
    const { size, peers, solitary } = this.#options;
    const slots = size - this.#active;
    const suspects = slots > 0 ? solitary.ask() : 0;
    const room = suspects > 0 ? Math.min(free, slots) : free;
    const asked =
      this.#fullLooks >= SHARE_PAUSES_MS.length ? room : Math.min(room, fairShare(room, peers(), this.#fullLooks));
    return { claimed: await this.#claim(asked, suspects), asked };
  }

  async #pauseUntilDue(hasRoom: boolean, pauseMs: number): Promise<boolean> {
    const dueMs = hasRoom ? await this.#nextDue() : null;
    return this.#pause(Math.min(pauseMs * (0.75 + this.#options.world.random() / 2), dueMs ?? pauseMs * 2));
  }

  /** When a delayed run or one in back-off can be claimed: slept until, not polled for. */
  async #nextDue(): Promise<number | null> {
    try {
      const inMs = await this.#options.store.nextDue(this.#options.groupIds());
      if (inMs === null || inMs > 0) return inMs;
      const sinceLook = this.#options.world.monotonicNow() - this.#lookedAt;
      if (-inMs <= sinceLook) return 0;
      // Due before the last look, and not claimed: locked, or not for this node.
      const againMs = this.#lockedMs;
      this.#lockedMs = Math.min(2 * againMs, this.#options.settings.pollMaxMs);
      return againMs;
    } catch {
      return null; // the poll is complete by itself
    }
  }

  /** Null: it failed. */
  async #claim(limit: number, suspects: 0 | 1): Promise<number | null> {
    const { store, settings, world, bus, owner, solitary, build } = this.#options;
    const token = claimToken(world.token(), owner);
    const groupIds = this.#options.groupIds();
    const askedAt = world.monotonicNow();
    let claimed: readonly ClaimedRun[] | null = null;
    try {
      if (groupIds.length === 0) return 0;
      this.#lookedAt = askedAt;
      const asked = { owner, token, groupIds, limit, leaseMs: settings.leaseMs, suspects, build: build ?? null };
      const call = store.claim(asked);
      this.#call = call.catch(() => {});
      claimed = await call;
    } catch (error) {
      // Whether it was granted is unknown; nothing is run. What was granted is taken back when its lease is over.
      bus.emit("claim.failed", { error });
      return null;
    } finally {
      if (suspects > 0) solitary.answered(claimed);
    }
    for (const run of claimed) void this.#work(run, askedAt);
    return claimed.length;
  }

  async #work(run: ClaimedRun, askedAt: number): Promise<void> {
    this.#active++;
    try {
      await this.#options.onClaimed(run, askedAt);
    } finally {
      this.#active--;
      if (run.suspect) this.#options.solitary.left();
      if (this.#leftSome) this.hint();
      else this.#lookSoon();
    }
  }

  /** Whoever makes work tells of it; this is for when nobody could. */
  #lookSoon(): void {
    if (!this.#claiming) return;
    this.#cancelLook ??= this.#options.world.after(SOON_MS, () => {
      this.#cancelLook = null;
      this.hint();
    });
  }

  /** True when a hint or the stop ended it. Without an AbortController: the way from a hint to the claim is as short as it can be. */
  async #pause(ms: number, how: "until a hint" | "through hints" = "until a hint"): Promise<boolean> {
    const isThrough = how === "through hints";
    if ((this.#hinted && !isThrough) || this.#stopped) return true;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.world.after(ms, resolve);
      this.#wake = () => {
        if (isThrough && !this.#stopped) return;
        cancel();
        resolve();
      };
    });
    this.#wake = null;
    return this.#hinted || this.#stopped;
  }
}

/** Of what is ready, as far as a node can tell: an equal part of its room for each node that could take it; then half of that. */
export function fairShare(room: number, peers: number, looks: number): number {
  if (peers <= 1) return room;
  return Math.ceil(room / (looks === 0 ? peers : 2 * peers));
}
