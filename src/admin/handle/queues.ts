// Handlers of queues and limits, and the answer for autoscalers.

import type * as z from "zod";
import { queuePattern } from "../../kernel/queue-pattern.js";
import type { NodeRecord } from "../../store/contract/node/nodes.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { QUEUE_ROUTES, queueRow } from "../routes/queues.js";
import { iso } from "../view/iso.js";

type QueueView = z.output<typeof queueRow>;

export async function queueRows(call: Call, nodes: readonly NodeRecord[]): Promise<QueueView[]> {
  const queues = await call.store.queues.list(call.env);
  return queues.map(({ queue, counts, oldestWaitingMs, paused }) => {
    const serving = nodes.filter(({ alive, claims }) => alive && claims.some((group) => group.queue === queue));
    return {
      queue,
      counts: { ...counts },
      oldestWaitingMs,
      paused: paused && { at: iso(paused.at), by: paused.by },
      servedBy: serving.map(({ name }) => name),
      slots: serving.reduce((sum, node) => sum + slotsOf(node, queue), 0),
    };
  });
}

function slotsOf({ executors }: NodeRecord, queue: string): number {
  const serving = executors.filter(({ queues }) =>
    queues.some((one) => one === queue || queuePattern(one).matches(queue)),
  );
  return serving.reduce((sum, { slots }) => sum + slots, 0);
}

export const queueHandlers: Handlers<RouteName & keyof typeof QUEUE_ROUTES> = {
  "queues.list": async (call) => ({ rows: await queueRows(call, await call.store.nodes.list({ env: call.env })) }),
  "queues.pause": async (call, { queue, note }) => {
    const change = { action: "queues.pause" as const, object: queue, after: { paused: true }, note };
    await call.change(change, () => call.store.queues.pause(call.env, queue, call.by));
    return { outcome: "paused" };
  },
  "queues.resume": async (call, { queue, note }) => {
    const change = { action: "queues.resume" as const, object: queue, after: { paused: false }, note };
    await call.change(change, () => call.store.queues.resume(call.env, queue));
    return { outcome: "resumed" };
  },
  "limits.list": async (call, { before, limit }) => {
    const request = { env: call.env, limit, ...(before !== undefined && { after: before }) };
    const { rows, next } = await call.store.views.limits(request);
    return { rows: [...rows], next };
  },
  "scale.get": async (call, { queue }) => {
    const nodes = (await call.store.nodes.list({ env: call.env })).filter(({ alive }) => alive);
    const queues = (await queueRows(call, nodes)).filter((row) => queue === undefined || row.queue === queue);
    const sum = (of: (row: QueueView) => number) => queues.reduce((total, row) => total + of(row), 0);
    const [waiting, running] = [sum(({ counts }) => counts.waiting ?? 0), sum(({ counts }) => counts.running ?? 0)];
    const serving = nodes.filter(({ claims }) => queue === undefined || claims.some((one) => one.queue === queue));
    const slots = serving.reduce((total, node) => {
      return total + (queue === undefined ? allSlots(node) : slotsOf(node, queue));
    }, 0);
    const perNode = serving.length === 0 ? 1 : Math.max(slots / serving.length, 1);
    return { waiting, running, slots, nodes: serving.length, wantedNodes: Math.ceil((waiting + running) / perNode) };
  },
};

function allSlots({ executors }: NodeRecord): number {
  return executors.reduce((sum, { slots }) => sum + slots, 0);
}
