// The store as one life of a process sees it: every operation of the table, answered only while that process runs.

import type { CommitAnswer } from "../../store/contract/claim/commits.js";
import type { Attendance, Attendee } from "../../store/contract/node/attend.js";
import type { Store } from "../../store/contract/store.js";
import type { Transaction } from "../../store/contract/transaction.js";
import type { Method, MethodOf, OperationName } from "../../store/operation.js";
import { type CallingBackName, mapOperations, methodOf } from "../../store/operations.js";
import type { Life } from "./life.js";

/** One request to the store. `apply` carries it out and resolves with the answer. */
export type Passage = (
  request: { readonly life: Life; readonly name: OperationName; readonly args: readonly unknown[] },
  apply: () => Promise<unknown>,
) => Promise<unknown>;

/** Runs a transaction step with the SQL of its transaction. What that SQL wrote is kept when the step is recorded. */
export type SqlOf = (
  life: Life,
  transact: (query: Transaction["query"], beforeSeal?: () => Promise<unknown>) => Promise<CommitAnswer>,
) => Promise<CommitAnswer>;

export interface LifeStoreOptions {
  readonly store: Store;
  readonly life: Life;
  readonly sql: SqlOf;
  /** What happens to requests on their way. @default nothing */
  readonly passage?: Passage;
}

export function lifeStore(options: LifeStoreOptions): Store {
  const { store, life, passage = (_request, apply) => apply() } = options;
  const own: Readonly<Partial<Record<OperationName, Method>>> = callingBack(options, passage);
  return mapOperations((name) => {
    const method = methodOf(store, name);
    const given = own[name];
    if (given) return given;
    return async (...args) => {
      await life.thawed();
      return delivered(life, () => passage({ life, name, args }, async () => method(...args)));
    };
  });
}

/** The answer, or the error, once the process runs. */
async function delivered<T>(life: Life, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } finally {
    await life.thawed();
  }
}

/** Those that are not one question with one answer; the compiler asks for each. */
function callingBack(
  { store, life, sql }: LifeStoreOptions,
  passage: Passage,
): { readonly [Name in CallingBackName]: MethodOf<Name> } {
  return {
    attend: (attendee) => attend(store, life, attendee),
    close: async () => {},
    "audit.record": async (row, change) => {
      await life.thawed();
      return delivered(life, () => store.audit.record(row, change));
    },
    "runs.transact": async (work) => {
      await life.thawed();
      const transact: Parameters<SqlOf>[1] = (query, beforeSeal) =>
        store.runs.transact(async (tx) => {
          // The memory store recognises its own transactions, so this one keeps its identity.
          const commit = await work(Object.assign(tx, { query }));
          await beforeSeal?.();
          await life.thawed(); // a killed process seals nothing
          return commit;
        });
      const sealed = () => sql(life, transact);
      return delivered(
        life,
        () => passage({ life, name: "runs.transact", args: [] }, sealed) as ReturnType<typeof sealed>,
      );
    },
    "timeouts.onScheduled": (of, hear) => store.timeouts.onScheduled(of, (inMs) => life.deliver(() => hear(inMs))),
  };
}

/** A connection ends with its process. */
async function attend(store: Store, life: Life, attendee: Attendee): Promise<Attendance> {
  await life.thawed();
  const { incarnation, onWake, onCalled, onNews, onSkipped } = attendee;
  const attendance = await store.attend({
    incarnation,
    onWake: (groupIds) => life.deliver(() => onWake(groupIds)),
    onCalled: (runIds) => life.deliver(() => onCalled?.(runIds)),
    onNews: () => life.deliver(() => onNews?.()),
    onSkipped: (runs) => life.deliver(() => onSkipped?.(runs)),
  });
  const forget = life.onKilled(() => void attendance.leave());
  return {
    ...attendance,
    leave: async () => {
      forget();
      await attendance.leave();
    },
  };
}
