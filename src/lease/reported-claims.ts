// Work claims that report the outcome of each call on the bus.

import { InvalidInput } from "../kernel/error.js";
import type { World } from "../kernel/world.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { LeaseCall, LeaseEvents, LeaseFacts } from "./lease-events.js";
import type { ClaimAnswer, Grant, WorkClaims } from "./work-claims.js";

type OnRenewal = (answer: "held" | "lost" | "error") => boolean;

export class ReportedClaims {
  readonly #claims: WorkClaims;
  readonly #bus: Telemetry<LeaseEvents> | undefined;
  readonly #world: World;

  constructor(claims: WorkClaims, bus: Telemetry<LeaseEvents> | undefined, world: World) {
    this.#claims = claims;
    this.#bus = bus;
    this.#world = world;
  }

  async acquire(key: string, owner: string, options: { readonly leaseMs: number }): Promise<ClaimAnswer> {
    const startedAt = this.#world.monotonicNow();
    const answer = await this.#claims.acquire(key, owner, options);
    const facts = { key, owner, count: 1, durationMs: this.#world.monotonicNow() - startedAt };
    if (!answer.ok) {
      this.#bus?.emit("lease.busy", { ...facts, heldBy: answer.owner ?? null });
      return answer;
    }
    const { attempt, epoch, stolenFrom } = answer;
    if (stolenFrom === undefined) this.#bus?.emit("lease.acquired", { ...facts, attempt, epoch });
    else this.#bus?.emit("lease.steal", { ...facts, attempt, epoch, stolenFrom });
    return answer;
  }

  /**
   * `onAnswer` receives the answer before the bus does, and returns whether to report it: not when the lease ended
   * meanwhile.
   */
  async renew(
    key: string,
    owner: string,
    { leaseMs, grant }: { readonly leaseMs: number; readonly grant: Grant },
    onAnswer: OnRenewal = () => true,
  ): Promise<boolean> {
    const facts = { key, owner, count: 1 };
    let held: boolean;
    try {
      held = await this.#claims.renew(key, owner, leaseMs, grant);
    } catch (error) {
      if (onAnswer("error")) this.#bus?.emit("lease.renew_failed", { ...facts, reason: "error", error });
      throw error;
    }
    if (!onAnswer(held ? "held" : "lost")) return held;
    if (held) {
      this.#bus?.emit("lease.renewed", facts);
    } else {
      this.#bus?.emit("lease.renew_failed", { ...facts, reason: "lost" });
      this.#bus?.emit("lease.lost", { ...facts, call: "renew" });
    }
    return held;
  }

  complete(key: string, owner: string, grant: Grant): Promise<boolean> {
    return this.#end("complete", { key, owner, count: 1 }, () => this.#claims.complete(key, owner, grant));
  }

  fail(key: string, owner: string, detail: string, grant: Grant): Promise<boolean> {
    const send = () => this.#claims.fail(key, owner, detail, grant);
    return this.#end("fail", { key, owner, count: 1 }, send, detail);
  }

  release(key: string, owner: string, grant: Grant): Promise<boolean> {
    const send = () => (this.#claims.release ?? this.#claims.complete).call(this.#claims, key, owner, grant);
    return this.#end("release", { key, owner, count: 1 }, send);
  }

  async reclaimExpired(limit: number): Promise<readonly string[]> {
    if (!Number.isInteger(limit) || limit < 1) throw new InvalidInput("limit", `must be 1 or more; it is ${limit}`);
    return this.#claims.reclaimExpired(limit);
  }

  /** Success is reported only by the owner whose write was accepted. */
  async #end(
    call: Exclude<LeaseCall, "renew">,
    facts: LeaseFacts,
    send: () => Promise<boolean>,
    detail = "",
  ): Promise<boolean> {
    let accepted: boolean;
    try {
      accepted = await send();
    } catch (error) {
      this.#bus?.emit("lease.end_failed", { ...facts, call, error });
      throw error;
    }
    if (!accepted) this.#bus?.emit("lease.lost", { ...facts, call });
    else if (call === "fail") this.#bus?.emit("lease.failed", { ...facts, detail });
    else this.#bus?.emit(`lease.${call}d`, facts);
    return accepted;
  }
}
