// The lease keeper: renews all claims of a node in one call, and tells each session what the answer means.

import type { Claim } from "../../kernel/run/claim.js";
import type { Settings } from "../../kernel/setting/setting-options.js";
import { sleep, type World } from "../../kernel/world.js";
import type { HouseReport } from "../../store/contract/node/house.js";
import type { RunStore } from "../../store/contract/run/runs.js";
import type { Telemetry } from "../../telemetry/bus.js";
import type { EngineEvents } from "../events.js";
import type { Session } from "../session.js";
import type { OwnPresence } from "../upkeep/own-presence.js";

/** What a node that is alone renews for, once: nobody else is there to take the claim. */
const FOR_GOOD_MS = 100 * 365 * 86_400_000;

/** How soon a renewal that failed is repeated, at most: an outage may have ended, and others watch whose lease is over. */
const AGAIN_MS = 500;

export interface LeaseKeeperOptions {
  readonly store: RunStore;
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly presence: OwnPresence;
  readonly alone?: boolean;
}

export class LeaseKeeper {
  readonly #store: RunStore;
  readonly #settings: Settings;
  readonly #world: World;
  readonly #bus: Telemetry<EngineEvents>;
  readonly #held = new Set<Session>();
  /** Those of which it was told that they are in doubt. */
  readonly #doubted = new Set<Session>();
  /** Alone: those that were renewed for good, and claims that nobody works on any more and that were. */
  readonly #forGood = new Set<Session>();
  readonly #dropped = new Set<Claim>();
  readonly #alone: boolean;
  readonly #stop = new AbortController();
  readonly #presence: OwnPresence;
  #hurried = false;
  #wakeUp: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  /** `alone`: each claim is renewed once, when its run takes that long, and then holds until it is given back. */
  constructor({ store, settings, world, bus, presence, alone = false }: LeaseKeeperOptions) {
    this.#store = store;
    this.#alone = alone;
    this.#settings = settings;
    this.#world = world;
    this.#bus = bus;
    this.#presence = presence;
  }

  get held(): ReadonlySet<Session> {
    return this.#held;
  }

  /** A claim that was asked for before this node was heard of again is in doubt from its first moment: it is confirmed at once. */
  add(session: Session): void {
    this.#held.add(session);
    if (session.inDoubt) this.hurry();
  }

  remove(session: Session): void {
    this.#held.delete(session);
    this.#doubted.delete(session);
    this.#forGood.delete(session);
  }

  /** Nobody works on it any more, and it was not given back: its lease decides, also where it had no end. */
  drop(session: Session): void {
    if (this.#forGood.has(session)) this.#dropped.add(session.claim);
    this.remove(session);
  }

  /** Gives dropped claims their lease's time. Rejects when the store is away: they are tried again. */
  async endDropped(): Promise<void> {
    const claims = [...this.#dropped];
    if (claims.length === 0) return;
    await this.#store.renew(claims, this.#settings.leaseMs);
    for (const claim of claims) this.#dropped.delete(claim);
  }

  start(): void {
    this.#running = this.#keepAlive();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** A keeper that died would lose every claim of the node: whatever ends the loop, it begins again. */
  async #keepAlive(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#keep();
      } catch (error) {
        this.#bus.emit("lease.keeper_restarted", { error });
        await this.#world.turn();
      }
    }
  }

  /** Renews now instead of at its time: claims may be in doubt. */
  hurry(): void {
    this.#hurried = true;
    this.#wakeUp();
  }

  /** Whatever breaks in a round, the next one comes. */
  async #keep(): Promise<void> {
    const { signal } = this.#stop;
    const { renewEveryMs } = this.#settings;
    for (let pauseMs = renewEveryMs; !signal.aborted; ) {
      const before = this.#world.monotonicNow();
      await this.#pause(pauseMs);
      if (signal.aborted) return;
      const lateMs = this.#world.monotonicNow() - before - pauseMs;
      if (lateMs > renewEveryMs) this.#bus.emit("node.blocked", { lateMs });
      pauseMs = renewEveryMs;
      try {
        await this.#world.faultPoint("lease-keeper.round");
        await this.endDropped();
        await this.#renew([...this.#held].filter((session) => !this.#forGood.has(session) || session.inDoubt));
      } catch (error) {
        this.#bus.emit("lease.renew_failed", { reason: "error", error, count: this.#held.size });
        pauseMs = this.#soonMs;
      }
      this.#tellDoubts();
      // Its row was locked: it may go on as soon as it is confirmed.
      if (this.#doubted.size > 0) pauseMs = this.#soonMs;
    }
  }

  get #soonMs(): number {
    return Math.min(this.#settings.renewEveryMs, AGAIN_MS * (0.5 + this.#world.random() / 2));
  }

  async #pause(ms: number): Promise<void> {
    const hurry = new AbortController();
    this.#wakeUp = () => hurry.abort("hurried");
    if (!this.#hurried) {
      const signal = AbortSignal.any([this.#stop.signal, hurry.signal]);
      await sleep(this.#world, ms, signal).catch((error) => {
        if (!signal.aborted) throw error;
      });
    }
    this.#hurried = false;
  }

  #tellDoubts(): void {
    for (const session of this.#held) {
      if (!session.inDoubt) this.#doubted.delete(session);
      else if (!this.#doubted.has(session)) {
        this.#doubted.add(session);
        this.#bus.emit("claim.in_doubt", { runId: session.run.runId, epoch: session.run.epoch });
      }
    }
  }

  /** What a renewal would have told; for a node that makes none. */
  called(called: HouseReport["called"]): void {
    if (called.length === 0) return;
    const seqs = new Map(called.map(({ runId, inboxSeq }) => [runId, inboxSeq]));
    for (const session of this.#held) session.heard(seqs.get(session.run.runId) ?? session.inboxSeq);
  }

  /** These runs were asked to stop. */
  call(runIds: ReadonlySet<string>): void {
    for (const session of this.#held) if (runIds.has(session.run.runId)) session.called();
  }

  async #renew(sessions: readonly Session[]): Promise<void> {
    if (sessions.length === 0) return;
    const sentAt = this.#world.monotonicNow();
    const leaseMs = this.#alone ? FOR_GOOD_MS : this.#settings.leaseMs;
    const answers = await this.#store.renew(
      sessions.map(({ claim }) => claim),
      leaseMs,
    );
    if (answers.some(({ outcome }) => outcome === "held")) this.#presence.confirmed(sentAt);
    for (const [i, session] of sessions.entries()) {
      const answer = answers[i]!;
      if (answer.outcome === "held") {
        session.renewed(sentAt, leaseMs);
        if (this.#alone) this.#forGood.add(session);
        session.heard(answer.inboxSeq);
      } else if (answer.outcome === "lost" && this.#held.has(session)) {
        // The engine tells of it when the work has ended, however it came to know.
        this.remove(session);
        session.lose();
      }
    }
  }
}
