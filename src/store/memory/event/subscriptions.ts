// Keeps the subscriptions in line with the nodes' declarations, and finds those that match an event.

import { containsOneOf } from "../../../kernel/contains.js";
import {
  type Declaration,
  type EventToMatch,
  FORGOTTEN_AFTER_MS,
  type Matched,
  type Subscription,
} from "../../contract/event/events.js";
import { isAlive } from "../node/nodes.js";
import { toUs } from "../table/micros.js";
import { compareText, joinKey } from "../table/names.js";
import type { Tables } from "../table/tables.js";

export function subscriptionsOf(tables: Tables, wanted: (one: Subscription) => boolean): Subscription[] {
  const found = [...tables.subscriptions.values()].filter(wanted);
  return structuredClone(found.sort((a, b) => compareText(a.id, b.id)));
}

export function subscribe(tables: Tables, declaration: Declaration): number {
  const { env, incarnation, subscriptions, withdrawn = [], leaving = false, starting } = declaration;
  for (const one of subscriptions) {
    const at = joinKey(env, one.id);
    if (starting || !tables.subscriptions.has(at)) tables.subscriptions.set(at, structuredClone(one));
    tables.subscribers.set(at, new Set([...(tables.subscribers.get(at) ?? []), incarnation]));
  }
  if (starting) drop(tables, declaration);
  const node = tables.nodes.get(incarnation);
  if (node) node.declares = !leaving;
  for (const id of withdrawn) {
    const at = joinKey(env, id);
    const by = tables.subscribers.get(at);
    if (by) tables.subscribers.set(at, new Set([...by].filter((one) => one !== incarnation)));
  }
  return retire(tables, env, { asking: incarnation, leaving });
}

/** Removes what the node declared before and no longer declares. */
function drop(tables: Tables, { env, incarnation, subscriptions }: Declaration): void {
  const declared = new Set(subscriptions.map(({ id }) => joinKey(env, id)));
  for (const [at, by] of tables.subscribers) {
    if (tables.subscriptions.get(at)?.env === env && !declared.has(at))
      tables.subscribers.set(at, new Set([...by].filter((one) => one !== incarnation)));
  }
}

/**
 * Removed if no node declares it, although a live node has its program and has sent its declarations. The asking node
 * counts as live, whatever its heartbeat says, unless it is leaving.
 */
function retire(tables: Tables, env: string, { asking, leaving }: { asking: string; leaving: boolean }): number {
  const sinceUs = tables.nowUs() - toUs(FORGOTTEN_AFTER_MS);
  const known = [...tables.nodes.values()].filter(
    (node) =>
      node.env === env &&
      node.stoppedAtUs === null &&
      (node.incarnation === asking ? !leaving : node.seenAtUs >= sinceUs),
  );
  const alive = known.filter((node) => node.incarnation === asking || isAlive(tables, node));
  const incarnations = new Set(known.map((node) => node.incarnation));
  const groups = alive
    .filter(({ declares }) => declares)
    .flatMap((node) => node.serves.flatMap((id) => tables.groups.groupOf(id) ?? []));
  const served = new Set(groups.map(({ stack, program }) => joinKey(stack, program)));
  let removed = 0;
  for (const [at, one] of tables.subscriptions) {
    if (one.env !== env) continue;
    const living = [...(tables.subscribers.get(at) ?? [])].filter((incarnation) => incarnations.has(incarnation));
    tables.subscribers.set(at, new Set(living));
    if (living.length > 0 || !served.has(joinKey(one.stack ?? null, one.program))) continue;
    tables.subscriptions.delete(at);
    tables.subscribers.delete(at);
    removed++;
  }
  return removed;
}

export function matchEvent(tables: Tables, { env, stack, event, plain }: EventToMatch): Matched[] {
  const payload: unknown = JSON.parse(plain);
  const found = subscriptionsOf(
    tables,
    (one) =>
      one.env === env &&
      (one.stack ?? null) === (stack ?? null) &&
      one.event === event &&
      containsOneOf(payload, one.where),
  );
  return found.map((one) => ({ ...one, limits: tables.groups.limitsOf(one) }));
}
