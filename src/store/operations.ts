// All operations of the store in one table. The compiler requires a line for each new operation of the contract.

import { AUDIT_OPERATIONS, TOKEN_OPERATIONS } from "./check/audit/audit-operations.js";
import { CLAIM_OPERATIONS } from "./check/claim/claim-operations.js";
import { DEFINITION_OPERATIONS } from "./check/definition/definition-operations.js";
import { EVENT_OPERATIONS } from "./check/event/event-operations.js";
import { INBOX_OPERATIONS } from "./check/inbox/inbox-operations.js";
import { JOURNAL_OPERATIONS } from "./check/journal/journal-operations.js";
import { KEPT_OPERATIONS } from "./check/kept/kept-operations.js";
import { LEASE_OPERATIONS } from "./check/lease/lease-operations.js";
import { BREAKER_OPERATIONS, LIMIT_OPERATIONS, QUEUE_OPERATIONS } from "./check/limit/limit-operations.js";
import { MACHINE_OPERATIONS } from "./check/machine/machine-operations.js";
import { NODE_OPERATIONS } from "./check/node/node-operations.js";
import { RUN_OPERATIONS } from "./check/run/run-operations.js";
import { SCHEDULE_OPERATIONS } from "./check/schedule/schedule-operations.js";
import { STATISTIC_OPERATIONS } from "./check/statistic/statistic-operations.js";
import { TASK_OPERATIONS } from "./check/task/task-operations.js";
import { TIMEOUT_OPERATIONS } from "./check/timeout/timeout-operations.js";
import { among, checkDelay, checkLimit, checkText, optional, shape } from "./check/value.js";
import { VIEW_OPERATIONS } from "./check/view/view-operations.js";
import { CLEAN_PARTS, type CleanRound, isRetained } from "./contract/cleanup.js";
import type { Store } from "./contract/store.js";
import { type AnyOperation, CHANGES, type Method, type OperationName, type StoreOperations } from "./operation.js";

const checkClean = shape<CleanRound>("round", {
  part: among(CLEAN_PARTS),
  env: checkText,
  everyMs: checkDelay,
  keepMs: optional(checkDelay),
  limit: checkLimit,
});
const checkKept = ({ part, keepMs }: CleanRound) => (isRetained(part) ? null : checkDelay("keepMs", keepMs));

export const OPERATIONS = {
  runs: { ...RUN_OPERATIONS, ...CLAIM_OPERATIONS, ...LIMIT_OPERATIONS, ...TASK_OPERATIONS },
  journal: JOURNAL_OPERATIONS,
  inbox: INBOX_OPERATIONS,
  leases: LEASE_OPERATIONS,
  kept: KEPT_OPERATIONS,
  nodes: NODE_OPERATIONS,
  queues: QUEUE_OPERATIONS,
  schedules: SCHEDULE_OPERATIONS,
  events: EVENT_OPERATIONS,
  breakers: BREAKER_OPERATIONS,
  definitions: DEFINITION_OPERATIONS,
  timeouts: TIMEOUT_OPERATIONS,
  machines: MACHINE_OPERATIONS,
  views: VIEW_OPERATIONS,
  audit: AUDIT_OPERATIONS,
  tokens: TOKEN_OPERATIONS,
  statistics: STATISTIC_OPERATIONS,
  attend: { ...CHANGES, changes: "the presence of a node", callsBack: true },
  housekeep: { ...CHANGES, changes: "a node's last sign of life", repeated: false },
  reclaim: {
    ...CHANGES,
    changes: "runs of nodes that are gone: reclaimed",
    repeated: false,
    check: ({ limit }) => checkLimit("limit", limit),
  },
  cleanUp: {
    ...CHANGES,
    changes: "rows that are no longer needed: removed",
    repeated: false,
    check: (round) => checkClean("", round) ?? checkKept(round),
  },
  close: { changes: null, tx: false, repeated: false, callsBack: true },
} satisfies StoreOperations;

type Table = typeof OPERATIONS;
/** Those that are given functions, or open something. */
export type CallingBackName = {
  [Name in OperationName]: OperationAt<Name> extends { readonly callsBack: true } ? Name : never;
}[OperationName];
type OperationAt<Name extends OperationName> = Name extends keyof Table
  ? Table[Name]
  : Name extends `${infer Part extends keyof Table}.${infer Verb}`
    ? Verb extends keyof Table[Part]
      ? Table[Part][Verb]
      : never
    : never;

/** By name, in the order of the table. */
export const OPERATIONS_BY_NAME: ReadonlyMap<OperationName, AnyOperation> = new Map(
  Object.entries(OPERATIONS).flatMap(([part, one]): [OperationName, AnyOperation][] => {
    if (isOperation(one)) return [[part as OperationName, one]];
    return Object.entries(one as Readonly<Record<string, AnyOperation>>).map(([verb, operation]) => {
      return [`${part}.${verb}` as OperationName, operation];
    });
  }),
);

/** A store made method by method from the table: no operation can be left out. */
export function mapOperations(make: (name: OperationName, operation: AnyOperation) => Method): Store {
  const store: Record<string, unknown> = {};
  for (const [name, operation] of OPERATIONS_BY_NAME) {
    const [part, verb] = name.split(".") as [string, string | undefined];
    if (verb === undefined) store[part] = make(name, operation);
    else {
      store[part] ??= {};
      (store[part] as Record<string, Method>)[verb] = make(name, operation);
    }
  }
  return store as unknown as Store;
}

/** One method of a store, by its name; found when it is called, so that a method replaced in a test is called as well. */
export function methodOf(store: Store, name: OperationName): Method {
  const [part, verb = part] = name.split(".") as [keyof Store, string | undefined];
  const of = (verb === part ? store : store[part]) as unknown as Record<string, Method>;
  return (...args) => of[verb]!(...args);
}

function isOperation(one: object): one is AnyOperation {
  return "changes" in one;
}
