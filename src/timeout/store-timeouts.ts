// A timeout store over a Holdfast store: the timeouts of one scope in one env.

import { toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { envName, keyScope } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import { storeClaims } from "../lease/store-claims.js";
import type { Store } from "../store/contract/store.js";
import type { NewTimeout, TimeoutRecord } from "../store/contract/timeout/timeouts.js";
import type { ScheduledTimeout, TimeoutStore, TimeoutToSchedule } from "./timeout-store.js";

/** Options of `timeoutStore`. */
export interface TimeoutStoreOptions {
  /** The kind of instance. Scopes do not see each other's timeouts, even if instances have the same ids. */
  readonly scope: string;
  /** The env of the timeouts. @default `default` */
  readonly env?: string;
  /** Clock, timers and chance; for tests. */
  readonly world?: World;
}

/**
 * Creates a store of durable timeouts for one kind of your own instances, in a store of Holdfast.
 *
 * @example
 * ```ts
 * type OrderState = "pending" | "paid" | "expired";
 * const timeouts = timeoutStore<string, OrderState>(store, { scope: "order" });
 * ```
 */
export function timeoutStore<Id extends string = string, State extends string = string>(
  { timeouts, leases }: Pick<Store, "timeouts" | "leases">,
  options: TimeoutStoreOptions,
): TimeoutStore<Id, State> {
  const env = envName(options.env ?? "default", "env");
  const scope = keyScope(options.scope, "scope");
  const world = options.world ?? systemWorld();
  const keyOf = (instance: Id) => ({ env, scope, instance });
  const seen = (record: TimeoutRecord) => scheduledOf<Id, State>(record);
  return {
    scope,
    async schedule(instance, timeout, { tx } = {}) {
      const { state, sequence, keep = false } = timeout;
      const generation = world.token();
      const wanted = { ...keyOf(instance), generation, state, sequence, keep, deadline: deadlineOf(timeout) };
      return seen(await timeouts.schedule(wanted, tx ? { tx } : {}));
    },
    cancel: (instance, { tx } = {}) => timeouts.cancel(keyOf(instance), tx ? { tx } : {}),
    async get(instance) {
      const record = await timeouts.get(keyOf(instance));
      return record && seen(record);
    },
    async queryExpired(limit) {
      const { timeouts: found, nextMs } = await timeouts.expired({ env, scope }, limit);
      return { timeouts: found.map(seen), nextInMs: nextMs };
    },
    async claim({ instance, generation }, node, { claimMs }) {
      // Drawn here, so that a store that repeats a call after a lost reply finds the claim it already has.
      const token = world.token();
      const [answer] = await timeouts.claim([{ ...keyOf(instance), generation, node, token, claimMs }]);
      if (answer!.outcome !== "claimed") return answer!;
      return { outcome: "claimed", claim: { ...seen(answer!.timeout), token } };
    },
    complete: async ({ generation, token }, { tx } = {}) =>
      (await timeouts.complete([{ generation, token }], tx ? { tx } : {}))[0]!,
    release: async ({ generation, token }, { retryInMs = null, problem = null } = {}) =>
      (await timeouts.release([{ generation, token, retryInMs, problem }]))[0]!,
    giveUp: async ({ generation, token }, problem) =>
      (await timeouts.release([{ generation, token, retryInMs: "never", problem }]))[0]!,
    dead: async (limit, after) =>
      (await timeouts.dead({ env, scope }, after === undefined ? { limit } : { limit, after })).map(seen),
    retry: (instance) => timeouts.retry(keyOf(instance)),
    onScheduled: (listener) => timeouts.onScheduled({ env, scope }, listener),
    claims: storeClaims(leases, { env, world }),
  };
}

function deadlineOf(timeout: TimeoutToSchedule): NewTimeout["deadline"] {
  if (timeout.in !== undefined) {
    if (timeout.at !== undefined) throw new InvalidInput("at", "a timeout has `in` or `at`, not both");
    return { inMs: toMs(timeout.in, "in") };
  }
  if (timeout.at === undefined) throw new InvalidInput("in", 'a timeout needs `in` ("30m") or `at` (a Date)');
  return { at: typeof timeout.at === "number" ? timeout.at : timeout.at.getTime() };
}

/** The types of instance and state are those that this scope's own code scheduled. */
function scheduledOf<Id extends string, State extends string>(record: TimeoutRecord): ScheduledTimeout<Id, State> {
  const { env: _env, scope: _scope, ...timeout } = record;
  return timeout as ScheduledTimeout<Id, State>;
}
