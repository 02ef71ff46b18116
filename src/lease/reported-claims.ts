// The gate in front of work claims: admits everything when there are none, and emits telemetry when there are.

import { InvalidInput } from "../kernel/error.js";
import { leaseKey, nodeName } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { LeaseCall, LeaseEvents, LeaseFacts } from "./lease-events.js";
import type { ClaimAnswer, Grant, Granted, WorkClaims } from "./work-claims.js";

/** Work without a key (null) needs no coordination: it is admitted, as is everything when no claims are configured. */
export interface Gate {
  readonly configured: boolean;
  acquire(key: string | null, owner: string, options: { readonly leaseMs: number }): Promise<ClaimAnswer>;
  /**
   * `hear` receives the answer before the bus does, and returns whether to report it: not when the lease ended
   * meanwhile.
   */
  renew(
    key: string | null,
    owner: string,
    asked: { readonly leaseMs: number; readonly grant: Grant },
    hear?: OnRenewal,
  ): Promise<boolean>;
  complete(key: string | null, owner: string, grant: Grant): Promise<boolean>;
  fail(key: string | null, owner: string, detail: string, grant: Grant): Promise<boolean>;
  release(key: string | null, owner: string, grant: Grant): Promise<boolean>;
  reclaimExpired(limit: number): Promise<readonly string[]>;
}

export type OnRenewal = (answer: "held" | "lost" | "error") => boolean;

export interface GateOptions {
  readonly bus?: Telemetry<LeaseEvents> | undefined;
  readonly world?: World | undefined;
}

export function gate(claims: WorkClaims | undefined, { bus, world = systemWorld() }: GateOptions = {}): Gate {
  return claims ? new ReportingGate(claims, bus, world) : OPEN;
}

const PASSED: Granted = Object.freeze({ ok: true, epoch: 0, token: "", attempt: 1 });

const OPEN: Gate = Object.freeze({
  configured: false,
  acquire: async () => PASSED,
  renew: async () => true,
  complete: async () => true,
  fail: async () => true,
  release: async () => true,
  reclaimExpired: async () => [],
});

class ReportingGate implements Gate {
  readonly configured = true;
  readonly #claims: WorkClaims;
  readonly #bus: Telemetry<LeaseEvents> | undefined;
  readonly #world: World;

  constructor(claims: WorkClaims, bus: Telemetry<LeaseEvents> | undefined, world: World) {
    this.#claims = claims;
    this.#bus = bus;
    this.#world = world;
  }

  async acquire(key: string | null, owner: string, options: { readonly leaseMs: number }): Promise<ClaimAnswer> {
    if (key === null) return PASSED;
    leaseKey(key, "key");
    nodeName(owner, "owner");
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

  async renew(
    key: string | null,
    owner: string,
    { leaseMs, grant }: { readonly leaseMs: number; readonly grant: Grant },
    hear: OnRenewal = () => true,
  ): Promise<boolean> {
    if (key === null) return true;
    const facts = { key, owner, count: 1 };
    let held: boolean;
    try {
      held = await this.#claims.renew(key, owner, leaseMs, grant);
    } catch (error) {
      if (hear("error")) this.#bus?.emit("lease.renew_failed", { ...facts, reason: "error", error });
      throw error;
    }
    if (!hear(held ? "held" : "lost")) return held;
    if (held) {
      this.#bus?.emit("lease.renewed", facts);
    } else {
      this.#bus?.emit("lease.renew_failed", { ...facts, reason: "lost" });
      this.#bus?.emit("lease.lost", { ...facts, call: "renew" });
    }
    return held;
  }

  complete(key: string | null, owner: string, grant: Grant): Promise<boolean> {
    return this.#end("complete", key, owner, {
      send: (named) => this.#claims.complete(named, owner, grant),
      tell: (facts) => this.#bus?.emit("lease.completed", facts),
    });
  }

  fail(key: string | null, owner: string, detail: string, grant: Grant): Promise<boolean> {
    return this.#end("fail", key, owner, {
      send: (named) => this.#claims.fail(named, owner, detail, grant),
      tell: (facts) => this.#bus?.emit("lease.failed", { ...facts, detail }),
    });
  }

  release(key: string | null, owner: string, grant: Grant): Promise<boolean> {
    return this.#end("release", key, owner, {
      send: (named) =>
        this.#claims.release ? this.#claims.release(named, owner, grant) : this.#claims.complete(named, owner, grant),
      tell: (facts) => this.#bus?.emit("lease.released", facts),
    });
  }

  async reclaimExpired(limit: number): Promise<readonly string[]> {
    if (!Number.isInteger(limit) || limit < 1) throw new InvalidInput("limit", `must be 1 or more; it is ${limit}`);
    return this.#claims.reclaimExpired(limit);
  }

  /** Success is reported only by the owner whose write was accepted. */
  async #end(
    call: LeaseCall,
    key: string | null,
    owner: string,
    { send, tell }: { send: (key: string) => Promise<boolean>; tell: (facts: LeaseFacts) => void },
  ): Promise<boolean> {
    if (key === null) return true;
    const facts = { key, owner, count: 1 };
    let accepted: boolean;
    try {
      accepted = await send(key);
    } catch (error) {
      this.#bus?.emit("lease.end_failed", { ...facts, call, error });
      throw error;
    }
    if (accepted) tell(facts);
    else this.#bus?.emit("lease.lost", { ...facts, call });
    return accepted;
  }
}
