// Outputs under faults: more runs than keys ask for a delivery, their nodes die in it, and failed ones are retried from their start.

import type { AnyDefinition } from "../../program/definition.js";
import type { Output, Workflow } from "../../workflow/context.js";
import { workflow } from "../../workflow/workflow.js";
import type { History } from "../check/history.js";
import type { EffectLog, EffectRecord } from "../effect-log.js";
import type { DriveOptions, EffectOp, Place, Workload } from "./workload.js";

interface Letter {
  readonly to: string;
  readonly op: EffectOp;
}

/** Without a place it can be started, but not executed. */
function letter(place: Place | null): Workflow<string, Letter, Output<string>> {
  return workflow("letter", (ctx, { to, op }: Letter) =>
    ctx.output(to, (info) => place!.effect(ctx.runId, info, op, [])),
  );
}

export class OutputWorkload implements Workload {
  programs(place: Place): readonly AnyDefinition[] {
    return [letter(place)];
  }

  drive({ clients, chance, swarm, at }: DriveOptions): void {
    const keys = Math.max(1, Math.ceil(swarm.runs / 3));
    for (let i = 0; i < swarm.runs; i++) {
      const client = chance.one(clients);
      const to = `letter-${i % keys}`;
      const op = {
        do: "step",
        attempts: 1,
        fails: chance.happens(0.2) ? 1 : 0,
        kills: chance.happens(0.2) ? 1 : 0,
        ms: Math.ceil(swarm.leaseMs * chance.between(0, 1.5)),
      } as const;
      const retryAfterMs = chance.between(swarm.leaseMs, 6 * swarm.leaseMs);
      const from = chance.happens(0.5) ? "start" : "last";
      at(chance.between(0, swarm.faultsForMs * 0.7), async () => {
        const runId = await client.start(letter(null), { to, op }, { key: `letter-${i}` });
        if (runId !== null) at(retryAfterMs, () => void client.retry(runId, { from }));
      });
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  /** A delivery counts although it was aborted: what went out went out. */
  makesAttempts(): boolean {
    return false;
  }

  /** A failover may lose that a key was taken; apart from that, no key is delivered twice. */
  async check(history: History, effects: EffectLog): Promise<void> {
    const first = new Map<string, EffectRecord>();
    for (const record of effects.records.filter(({ at }) => at > history.disturbedAt)) {
      const key = /output letter-\d+/.exec(record.idempotencyKey)?.[0];
      if (key === undefined) continue;
      const before = first.get(key);
      if (before) history.broken("S10", record.runId, `${key} is delivered again, after run ${before.runId} did`);
      first.set(key, before ?? record);
    }
  }
}
