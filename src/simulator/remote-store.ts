// The store as one process sees it: every operation of the table goes over that process's link, is applied whole when it arrives,
// and is recorded there. Derived from the table, so that none can bypass the link.

import type { ReclaimRound } from "../store/contract/node/house.js";
import type { NodeRegistration } from "../store/contract/node/nodes.js";
import type { Store } from "../store/contract/store.js";
import type { AnyOperation, Method, MethodOf, OperationName } from "../store/operation.js";
import { type CallingBackName, mapOperations } from "../store/operations.js";
import type { Applied } from "./applied.js";
import type { Link } from "./link.js";
import { RemotePresence } from "./remote-presence.js";
import { RemoteTransaction } from "./remote-transaction.js";

type Items = readonly unknown[];

export function remoteStore(link: Link): Store {
  const own: Readonly<Partial<Record<OperationName, Method>>> = callingBack(link);
  return mapOperations((name, operation) => own[name] ?? overLink(link, name, operation));
}

/** Those that are not one question with one answer; the compiler asks for each. */
function callingBack(link: Link): { readonly [Name in CallingBackName]: MethodOf<Name> } {
  const { store } = link.database;
  return {
    attend: (attendee) => new RemotePresence(link, attendee).open(),
    "audit.record": (row, change) => link.call("audit.record", () => store.audit.record(row, change)),
    close: async () => {},
    "runs.transact": async (work) => {
      const tx = new RemoteTransaction(link);
      return tx.seal(await work(tx));
    },
    "timeouts.onScheduled": (of, hear) => store.timeouts.onScheduled(of, (inMs) => link.push(() => hear(inMs))),
  };
}

function overLink(link: Link, name: OperationName, operation: AnyOperation): Method {
  const { database } = link;
  const apply = database.methodOf(name);
  const applied = async (args: unknown[]): Promise<unknown> => {
    const hears = hearing(link, name, args);
    const answer = operation.skipsLocked ? await unlocked(link, args, apply) : await apply(...args);
    database.onApplied({ op: name, args, answer } as unknown as Applied, link.name);
    hears?.(answer);
    return answer;
  };
  return (...args) => {
    const tx: unknown = operation.tx ? args[1]?.tx : undefined;
    if (tx instanceof RemoteTransaction) return tx.call(name, args);
    return link.call(name, () => applied(args), operation);
  };
}

/** What counts as a sign of life of a node. */
function hearing(link: Link, name: OperationName, [first]: unknown[]): ((answer: unknown) => void) | null {
  const { database } = link;
  const heard = (incarnation: string) => database.onHeard(incarnation);
  if (name === "nodes.heartbeat") return (registered) => (registered ? heard(first as string) : undefined);
  if (name === "housekeep") {
    const { incarnation } = first as ReclaimRound;
    return (report) => ((report as { registered: boolean }).registered ? heard(incarnation) : undefined);
  }
  if (name !== "nodes.register") return null;
  // Only the first registration: a repeated one leaves the time as it is.
  const { incarnation } = first as NodeRegistration;
  if (database.tables.nodes.has(incarnation)) return null;
  return (answer) => ((answer as { outcome: string }).outcome === "registered" ? heard(incarnation) : undefined);
}

/** Rows that another statement has locked are skipped and answered `busy`, as PostgreSQL's SKIP LOCKED does. */
async function unlocked(link: Link, [first, ...rest]: unknown[], apply: Method): Promise<Items> {
  const items = first as Items;
  const locked = link.locked(items.length);
  const free = items.filter((_, i) => !locked[i]);
  const answers = (await apply(free, ...rest)) as Items;
  let next = 0;
  return items.map((_, i) => (locked[i] ? { outcome: "busy" } : answers[next++]!));
}
