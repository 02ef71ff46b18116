// The lease keeper renews all claims of a node in one call, and passes each answer to its session: confirmed, messages waiting, or lost.

import { buggify } from "../../kernel/buggify.js";
import { Loop, type RoundStart } from "../../kernel/loop.js";
import type { Claim } from "../../kernel/run/claim.js";
import type { HouseReport } from "../../store/contract/node/house.js";
import type { RunStore } from "../../store/contract/run/runs.js";
import type { NodeParts } from "../node-parts.js";
import type { Session } from "../session.js";
import type { OwnPresence } from "../upkeep/own-presence.js";

/** What a node that is alone renews for, once: there is no other node to take the claim. */
const FOR_GOOD_MS = 100 * 365 * 86_400_000;

/** A failed renewal is repeated within this time: an outage may have ended, and other nodes watch for expired leases. */
const AGAIN_MS = 500;

/**
 * A claim whose row was locked is renewed again after this time, and then after twice as long each time. The run's own commit holds the
 * lock for a few milliseconds: a run of many short steps would otherwise meet one at renewal after renewal.
 */
const BUSY_MS = 20;
/** Short enough to find a row between two of the transactions that lock it. */
const LONGEST_BUSY_MS = 100;

export interface LeaseKeeperOptions extends Pick<NodeParts, "settings" | "world" | "bus"> {
  readonly store: RunStore;
  readonly presence: OwnPresence;
  /** Each claim is renewed once, when its run takes that long, and is then held until it is released. */
  readonly alone?: boolean;
}

export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  readonly #held = new Set<Session>();
  /** Sessions that were reported to be in doubt. */
  readonly #doubted = new Set<Session>();
  /** Sessions whose rows were locked when they were last renewed. */
  #busy: ReadonlySet<Session> = new Set();
  #busyMs = BUSY_MS;
  /** Monotonic: when all claims are renewed again. */
  #allAt = 0;
  /** Alone: sessions that were renewed for good, and claims of ended sessions that were. */
  readonly #forGood = new Set<Session>();
  readonly #dropped = new Set<Claim>();
  readonly #loop: Loop;

  constructor(options: LeaseKeeperOptions) {
    const { world, settings, bus } = options;
    this.#options = options;
    this.#loop = new Loop({
      world,
      round: (start) => this.#round(start),
      // If the keeper died, the node would lose every claim.
      onError: (error) => bus.emit("lease.keeper_restarted", { error }),
      pauseMs: () => settings.renewEveryMs,
    });
  }

  get held(): ReadonlySet<Session> {
    return this.#held;
  }

  /** A claim that was requested before this node's presence was confirmed again is in doubt when it arrives: it is renewed at once. */
  add(session: Session): void {
    this.#held.add(session);
    if (session.inDoubt) this.wake();
  }

  remove(session: Session): void {
    this.#held.delete(session);
    this.#doubted.delete(session);
    this.#forGood.delete(session);
  }

  /** The work has ended and the claim was not released: its lease decides, even where it had no end. */
  drop(session: Session): void {
    if (this.#forGood.has(session)) this.#dropped.add(session.run);
    this.remove(session);
  }

  /** Its work may have ended while it was renewed. */
  #renewedForGood(session: Session): void {
    if (this.#held.has(session)) this.#forGood.add(session);
    else this.#dropped.add(session.run);
  }

  /** Limits dropped claims to the length of a lease. Rejects when the store is unavailable: they are tried again. */
  async endDropped(): Promise<void> {
    const claims = [...this.#dropped];
    if (claims.length === 0) return;
    const answers = await this.#options.store.renew(claims, this.#options.settings.leaseMs);
    for (const [i, claim] of claims.entries()) if (answers[i]!.outcome !== "busy") this.#dropped.delete(claim);
  }

  start(): void {
    this.#loop.start(this.#options.settings.renewEveryMs);
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Renews now instead of at the next interval: claims may be in doubt. */
  wake(): void {
    this.#loop.wake();
  }

  async #round({ lateMs, isWoken }: RoundStart): Promise<number> {
    const { renewEveryMs } = this.#options.settings;
    const { world } = this.#options;
    let pauseMs = buggify(world, "renew.early") ? renewEveryMs / 4 : renewEveryMs;
    if (lateMs > renewEveryMs) this.#options.bus.emit("node.blocked", { lateMs });
    try {
      await world.faultPoint("lease-keeper.round");
      if (buggify(world, "renew.skipped")) return pauseMs;
      const now = world.monotonicNow();
      if (this.#busy.size > 0 && !isWoken && now < this.#allAt) {
        this.#busyMs = Math.min(2 * this.#busyMs, LONGEST_BUSY_MS);
        pauseMs = this.#allAt - now;
        const due = [...this.#held].filter((session) => this.#busy.has(session) || session.inDoubt);
        this.#busy = await this.#renew(due);
      } else {
        this.#busyMs = BUSY_MS;
        this.#allAt = now + pauseMs;
        await this.endDropped();
        const due = [...this.#held].filter((session) => !this.#forGood.has(session) || session.inDoubt);
        this.#busy = await this.#renew(due);
      }
    } catch (error) {
      this.#options.bus.emit("lease.renew_failed", { reason: "error", error, count: this.#held.size });
      this.#busy = new Set();
      pauseMs = this.#soonMs;
    }
    this.#reportDoubts();
    if (this.#busy.size > 0) pauseMs = Math.min(pauseMs, this.#busyMs);
    // It may continue as soon as it is confirmed.
    return this.#doubted.size > 0 ? Math.min(pauseMs, this.#soonMs) : pauseMs;
  }

  get #soonMs(): number {
    return Math.min(this.#options.settings.renewEveryMs, AGAIN_MS * (0.5 + this.#options.world.random() / 2));
  }

  #reportDoubts(): void {
    for (const session of this.#held) {
      if (!session.inDoubt) this.#doubted.delete(session);
      else if (!this.#doubted.has(session)) {
        this.#doubted.add(session);
        this.#options.bus.emit("claim.in_doubt", { runId: session.run.runId, epoch: session.run.epoch });
      }
    }
  }

  /** Handles what a renewal would have returned; for a node that sends none. */
  called(called: HouseReport["called"]): void {
    if (called.length === 0) return;
    const seqs = new Map(called.map(({ runId, inboxSeq }) => [runId, inboxSeq]));
    for (const session of this.#held) session.heard(seqs.get(session.run.runId) ?? session.inboxSeq);
  }

  /** These runs were asked to stop. */
  call(runIds: ReadonlySet<string>): void {
    for (const session of this.#held) if (runIds.has(session.run.runId)) session.called();
  }

  /** Returns those whose rows were locked. */
  async #renew(sessions: readonly Session[]): Promise<ReadonlySet<Session>> {
    const busy = new Set<Session>();
    if (sessions.length === 0) return busy;
    const sentAt = this.#options.world.monotonicNow();
    const leaseMs = this.#options.alone ? FOR_GOOD_MS : this.#options.settings.leaseMs;
    const answers = await this.#options.store.renew(
      sessions.map(({ run }) => run),
      leaseMs,
    );
    if (answers.some(({ outcome }) => outcome === "held")) this.#options.presence.confirmed(sentAt);
    for (const [i, session] of sessions.entries()) {
      const answer = answers[i]!;
      if (answer.outcome === "held") {
        session.renewed(sentAt, leaseMs);
        if (this.#options.alone) this.#renewedForGood(session);
        session.heard(answer.inboxSeq);
      } else if (answer.outcome === "busy") {
        busy.add(session);
      } else if (this.#held.has(session)) {
        // The engine reports it when the work has ended.
        this.remove(session);
        session.lose();
      }
    }
    return busy;
  }
}
