// The claim loop takes as many runs as there are free slots, after a pause no more than its share of them. When there are none, it
// sleeps until it is woken, a run becomes due, or the next poll.

import { buggify } from "../../kernel/buggify.js";
import { Loop, type Pause, type RoundStart } from "../../kernel/loop.js";
import { claimToken } from "../../kernel/run/claim.js";
import type { ClaimedRun, RunStore } from "../../store/contract/run/runs.js";
import type { NodeParts } from "../node-parts.js";
import { ClaimAhead } from "./claim-ahead.js";
import { LookBack } from "./look-back.js";
import type { Solitary } from "./solitary.js";

/**
 * Queries without a wake wait this long, and mostly turn out to be unnecessary: what is due later, and whether there is a run for a
 * slot that became free while others were free. Sent at once, they delayed the work that was awaited (20-task DAGs:
 * 1,730 tasks/s instead of 2,210).
 */
const SOON_MS = 5;
/**
 * After its share a node pauses this long before it looks again, each time for half a share: other nodes are woken meanwhile, but on a
 * busy machine not within 5 ms. What is left after the last of these looks is a backlog, of which it takes all it has slots for.
 */
const SHARE_PAUSES_MS = [10, 20, 20, 30];
/** Where answers are slow, other nodes need longer, too: for a look that found rows locked, the query whether something is due, and another look. */
const SHARE_PAUSE_ANSWERS = 3;
const LONGEST_SHARE_PAUSE_MS = 200;
/**
 * A run that is due and was not handed out may be locked for a moment: another node is claiming it, or a second reclaim has locked
 * what the first one made claimable. The loop looks again after this time, then after twice as long, up to the poll. (Left to the poll,
 * two of four idle nodes found nothing among 30 reclaimed runs, and the other two shared them: 16/14/0/0.)
 */
const LOCKED_MS = 20;

interface Look {
  /** Null: it failed, or was not made. */
  readonly claimed: number | null;
  readonly asked: number;
  /** It left room for other nodes' claims. */
  readonly isShare: boolean;
}

const NO_LOOK: Look = { claimed: null, asked: 0, isShare: false };

/** What a wake is for: runs that have just become due, or any. */
export type Wanted = "new" | "all";

export interface ClaimLoopOptions extends Pick<NodeParts, "settings" | "world" | "bus"> {
  readonly store: RunStore;
  readonly owner: string;
  /** The node's build. */
  readonly build?: string;
  /** Runs worked on at the same time. */
  readonly size: number;
  /** Asked for each claim: what a node takes depends on its mode. */
  readonly groupIds: () => readonly number[];
  /** Whether a run may be claimed before there is a slot for it, unless the node's setting says how many. */
  readonly mayClaimAhead: () => boolean;
  /** Claimed runs that sleep for a moment and have lent their slots. */
  readonly lent: () => number;
  /** Live nodes that claim from any of its groups, this one included. */
  readonly peers: () => number;
  readonly solitary: Pick<Solitary, "isClosed" | "mayPrefetch" | "ask" | "answered" | "left">;
  /** `askedAt` is the monotonic time before the claim was sent: the lease is counted from there. */
  readonly onClaimed: (run: ClaimedRun, askedAt: number) => Promise<void>;
}

export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #loop: Loop;
  readonly #ahead: ClaimAhead;
  readonly #lookBack: LookBack;
  #active = 0;
  #claiming = false;
  /** The last look had no room for all there may be. */
  #leftSome = true;
  /** How many looks in a row got all they asked for. */
  #fullLooks = 0;
  /** Monotonic time before the last claim was sent. */
  #lookedAt = 0;
  /** How soon to look again for what is due and was not handed out. */
  #lockedMs = LOCKED_MS;
  /** Monotonic time of the look for a slot that became free. */
  #soonAt = Number.POSITIVE_INFINITY;
  /** After a look that found less than it asked for: a short pause, then a query for what is due next, then a long pause. */
  #stage: "looking" | "quiet" | "polling" = "looking";
  #hadRoom = false;
  /** A wake was for more than new runs. */
  #wantsAll = false;
  /** The long pause, before its jitter: longer after each poll that found nothing. */
  #pollMs: number;
  #lookers: ((claimed: number | null) => void)[] = [];
  #call: Promise<unknown> = Promise.resolve();

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
    const { world, settings, bus, size, mayClaimAhead: mayWait } = options;
    this.#ahead = new ClaimAhead({ world, size, fixed: settings.prefetch, mayWait });
    this.#lookBack = new LookBack(world);
    this.#pollMs = settings.pollIntervalMs;
    this.#loop = new Loop({
      world,
      round: (start) => this.#round(start),
      onError: (error) => bus.emit("claim.failed", { error }),
      pauseMs: () => settings.pollIntervalMs,
    });
  }

  get active(): number {
    return this.#active;
  }

  /** Whether it may still be granted something. */
  get claiming(): boolean {
    return this.#claiming;
  }

  /** Resolves when the claim call under way has returned. */
  get underWay(): Promise<unknown> {
    return this.#call;
  }

  start(): void {
    this.#claiming = true;
    this.#loop.start();
  }

  /** Claims nothing more; what was claimed continues. Resolves when the claim call under way has returned. */
  async stop(): Promise<void> {
    await this.#loop.stop(Number.POSITIVE_INFINITY);
    this.#claiming = false;
    for (const answer of this.#lookers.splice(0)) answer(null);
  }

  /**
   * There may be work, in these groups or in any: look now. Losing a wake costs latency, never work. A run that was reclaimed or
   * admitted is not new: it may have been due for long.
   */
  wake(groupIds: readonly number[] = [], what: Wanted = groupIds.length > 0 ? "new" : "all"): void {
    if (groupIds.length > 0 && buggify(this.#options.world, "notify.lost")) return;
    const own = groupIds.length > 0 ? this.#options.groupIds() : [];
    if (groupIds.length > 0 && !groupIds.some((id) => own.includes(id))) return;
    if (what === "all") this.#wantsAll = true;
    this.#loop.wake();
  }

  /** How many the next look takes that begins after this call; null when it cannot be made. */
  look(): Promise<number | null> {
    if (this.#loop.isStopped) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.#lookers.push(resolve);
      this.wake();
    });
  }

  async #round({ isWoken }: RoundStart): Promise<number | Pause> {
    const { settings, world, solitary } = this.#options;
    if (this.#stage === "quiet" && !isWoken) {
      this.#stage = "polling";
      return this.#untilDue();
    }
    if (isWoken) {
      this.#pollMs = settings.pollIntervalMs;
      this.#lockedMs = LOCKED_MS;
    } else if (this.#stage === "polling") this.#pollMs = Math.min(this.#pollMs * 1.5, settings.pollMaxMs);
    this.#soonAt = Number.POSITIVE_INFINITY;
    const free = solitary.isClosed ? 0 : this.#room();
    const lookers = this.#lookers.splice(0);
    // A poll looks at everything, too.
    const recentMs = isWoken && !this.#wantsAll ? this.#lookBack.recentMs : null;
    if (free > 0) this.#wantsAll = false;
    const { claimed, asked, isShare } = free > 0 ? await this.#look(free, recentMs) : NO_LOOK;
    const isFull = claimed !== null && claimed === asked;
    if (claimed !== null) this.#lookBack.looked(this.#lookedAt, recentMs, isFull);
    this.#hadRoom = free > 0;
    this.#leftSome = claimed === null || isFull;
    // A node without free slots has learnt nothing.
    if (claimed !== null) this.#fullLooks = isFull ? this.#fullLooks + 1 : 0;
    for (const answer of lookers) answer(claimed);
    if (claimed) {
      this.#pollMs = settings.pollIntervalMs;
      this.#lockedMs = LOCKED_MS;
    }
    this.#stage = isFull ? "looking" : "quiet";
    if (!isFull) return SOON_MS;
    if (isShare) {
      const ms = this.#sharePauseMs();
      return { ms, atLeastMs: ms };
    }
    // A full answer means there is more; runs that end at the same moment free their slots together.
    await world.turn();
    return 0;
  }

  #sharePauseMs(): number {
    const tookMs = this.#options.world.monotonicNow() - this.#lookedAt;
    return Math.max(
      SHARE_PAUSES_MS[this.#fullLooks - 1] ?? SOON_MS,
      Math.min(SHARE_PAUSE_ANSWERS * tookMs, LONGEST_SHARE_PAUSE_MS),
    );
  }

  get #slots(): number {
    return this.#options.size + this.#options.lent() - this.#active;
  }

  #room(): number {
    return this.#slots + (this.#options.solitary.mayPrefetch ? this.#ahead.count : 0);
  }

  /** Takes its share, or all it has room for. While a suspect may be among them, it claims nothing ahead: the next look does. */
  async #look(free: number, recentMs: number | null): Promise<Look> {
    const { peers, solitary, world } = this.#options;
    const slots = this.#slots;
    const suspects = slots > 0 ? solitary.ask() : 0;
    const room = suspects > 0 ? Math.min(free, slots) : free;
    const asked =
      this.#fullLooks >= SHARE_PAUSES_MS.length ? room : Math.min(room, fairShare(room, peers(), this.#fullLooks));
    const limit = buggify(world, "claim.one") ? 1 : asked;
    return { claimed: await this.#claim(limit, suspects, recentMs), asked: limit, isShare: limit < room };
  }

  async #untilDue(): Promise<number> {
    const { world } = this.#options;
    const dueMs = this.#hadRoom ? await this.#nextDue() : null;
    if (this.#soonAt < Number.POSITIVE_INFINITY) this.#loop.wake(this.#soonAt - world.monotonicNow());
    if (buggify(world, "claim.early-poll")) return 1;
    return Math.min(this.#pollMs * (0.75 + world.random() / 2), dueMs ?? this.#pollMs * 2, this.#lookBack.wholeInMs);
  }

  /** When a delayed run or one in back-off can be claimed: the loop sleeps until then instead of polling. */
  async #nextDue(): Promise<number | null> {
    if (buggify(this.#options.world, "claim.no-next-due")) return null;
    try {
      const inMs = await this.#options.store.nextDue(this.#options.groupIds(), { recentMs: this.#lookBack.recentMs });
      if (inMs === null || inMs > 0) return inMs;
      const sinceLook = this.#options.world.monotonicNow() - this.#lookedAt;
      if (-inMs <= sinceLook) return 0;
      // Due before the last look, and not claimed: locked, or not for this node.
      const againMs = this.#lockedMs;
      this.#lockedMs = Math.min(2 * againMs, this.#options.settings.pollMaxMs);
      return againMs;
    } catch {
      return null; // the poll alone finds everything
    }
  }

  /** Null: it failed. */
  async #claim(limit: number, suspects: 0 | 1, recentMs: number | null): Promise<number | null> {
    const { store, settings, world, bus, owner, solitary, build } = this.#options;
    const token = claimToken(world.token(), owner);
    const groupIds = this.#options.groupIds();
    const askedAt = world.monotonicNow();
    let claimed: readonly ClaimedRun[] | null = null;
    try {
      if (groupIds.length === 0) return 0;
      this.#lookedAt = askedAt;
      const asked = {
        owner,
        token,
        groupIds,
        limit,
        leaseMs: settings.leaseMs,
        suspects,
        build: build ?? null,
        recentMs,
      };
      const call = store.claim(asked);
      this.#call = call.catch(() => {});
      claimed = await call;
    } catch (error) {
      // Whether it was granted is unknown; nothing is executed. What was granted is reclaimed when its lease has expired.
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
      this.#ahead.ended();
      if (run.suspect) this.#options.solitary.left();
      this.freed();
    }
  }

  /** A slot became free. */
  freed(): void {
    if (this.#leftSome) this.#loop.wake();
    else this.#lookSoon();
  }

  /** Most events that make a run claimable wake this node; this is for those that cannot. */
  #lookSoon(): void {
    if (this.#soonAt < Number.POSITIVE_INFINITY) return;
    this.#soonAt = this.#options.world.monotonicNow() + SOON_MS;
    this.#loop.wake(SOON_MS);
  }
}

/** Of what is ready, as far as a node knows: its room divided by the nodes that could take it; after the first look, half of that. */
export function fairShare(room: number, peers: number, looks: number): number {
  if (peers <= 1) return room;
  return Math.ceil(room / (looks === 0 ? peers : 2 * peers));
}
