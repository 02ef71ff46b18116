// Puts the checks of the contract in front of any store: checks, answers refused items, splits into batches, calls, joins the answers.
//
// A store is written without checks of its own and wrapped once. Its arguments are valid, as far as that can be known without the store.

import { type BatchLimits, inBatches } from "../kernel/chunk.js";
import { lane } from "../kernel/lane.js";
import type { World } from "../kernel/world.js";
import { auditedCall } from "./audited-call.js";
import type { Problem } from "./check/value.js";
import type { Store } from "./contract/store.js";
import type { Transaction } from "./contract/transaction.js";
import { isDataRefused } from "./contract/trouble.js";
import type { AnyOperation, Batch, Each, Method } from "./operation.js";
import { mapOperations, methodOf } from "./operations.js";

/** Options of `checkedStore`. */
export interface CheckedStoreOptions {
  /** Splits calls into batches, and sends calls that arrive together as one, in turns of this world. Omitted: calls stay as they are. */
  readonly batchesIn?: World;
}

type Call = (...args: unknown[]) => Promise<unknown>;
type Send = (items: readonly unknown[]) => Promise<readonly unknown[]>;

/** Wraps a store of your own so that it refuses what the stores of Holdfast refuse, before it is called. */
export function checkedStore(store: Store, { batchesIn }: CheckedStoreOptions = {}): Store {
  return mapOperations((name, operation) => {
    const method = methodOf(store, name);
    const call = operation.around?.(method) ?? method;
    return checked(operation, withItems(operation, call as Call, batchesIn)) as Method;
  });
}

/** The check of a whole call throws where the caller waits, never in the caller's own turn. */
function checked({ check, absent }: AnyOperation, call: Call): Call {
  if (!check && !absent) return call;
  return (...args) => {
    try {
      const problem = check?.(...args);
      if (problem) return Promise.reject(problem);
      if (absent?.when(...args)) return Promise.resolve(absent.answer);
    } catch (error) {
      return Promise.reject(error);
    }
    return call(...args);
  };
}

function withItems({ each, batch, tx }: AnyOperation, call: Call, world: World | undefined): Call {
  if (!each && !(batch && world)) return call;
  const send = (rest: readonly unknown[], isolated: boolean): Send => {
    const whole: Send = (items) => call(items, ...rest) as Promise<readonly unknown[]>;
    const cut: Send = each && isolated ? (items) => isolate(items, whole, each) : whole;
    const cutUp: Send = batch && world ? (items) => inBatches(items, batch, cut) : cut;
    return each ? (items) => answered(items, cutUp, each) : cutUp;
  };
  const plain = send([], true);
  const gathered = batch?.gathers && world ? callLane(plain, { ...(batch as Batch<unknown>), world }) : plain;
  return (items, ...rest) => {
    const own = tx ? (rest[0] as { tx?: Transaction } | undefined)?.tx : undefined;
    // Only the list: options without a transaction say nothing.
    // An audited change is sent alone: its statement writes its audit row.
    const sent = auditedCall() ? plain : gathered;
    if (tx && own === undefined) return sent(items as readonly unknown[]);
    if (rest.length === 0) return sent(items as readonly unknown[]);
    // Nothing of a caller's transaction can be sent again once a statement of it has failed.
    return send(rest, own === undefined)(items as readonly unknown[]);
  };
}

/** Refused items are answered here; the others are passed on, in the same array when none is refused. */
async function answered(items: readonly unknown[], send: Send, { checker, refused }: Each<unknown, unknown>) {
  const check = checker();
  let found: Map<number, NonNullable<Problem>> | null = null;
  for (let i = 0; i < items.length; i++) {
    const problem = check(items[i]);
    if (problem) found = (found ?? new Map<number, NonNullable<Problem>>()).set(i, problem);
  }
  if (found === null) return send(items);
  const problems = found;
  const good = items.filter((_, i) => !problems.has(i));
  const answers = good.length > 0 ? await send(good) : [];
  let next = 0;
  return items.map((item, i) => (problems.has(i) ? refused(item, problems.get(i)!) : answers[next++]!));
}

/** One bad row never fails its batch: a refused statement stored nothing, so its halves are sent until the bad rows are alone. */
async function isolate(
  items: readonly unknown[],
  send: Send,
  each: Each<unknown, unknown>,
): Promise<readonly unknown[]> {
  if (items.length === 0) return [];
  try {
    return await send(items);
  } catch (error) {
    if (!isDataRefused(error)) throw error;
    if (items.length === 1) return [each.refused(items[0], error)];
    const middle = items.length >> 1;
    const left = await isolate(items.slice(0, middle), send, each);
    return [...left, ...(await isolate(items.slice(middle), send, each))];
  }
}

/** A lane for calls with several items each: calls that arrive together are sent as one batch, and no call is split. */
function callLane<Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { world, sizeOf, ...caps }: BatchLimits<Item> & { readonly world: World },
): (items: readonly Item[]) => Promise<readonly Answer[]> {
  return lane<readonly Item[], readonly Answer[]>(
    async (calls) => {
      const answers = await flush(calls.flat());
      let used = 0;
      return calls.map((items) => {
        used += items.length;
        return answers.slice(used - items.length, used);
      });
    },
    {
      ...caps,
      world,
      sizeOf: (items) => ({ rows: items.length, bytes: items.reduce((sum, item) => sum + sizeOf(item).bytes, 0) }),
    },
  );
}
