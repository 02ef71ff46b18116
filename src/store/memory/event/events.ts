// Joins the operations on events.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { EventStore } from "../../contract/event/events.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";
import { acceptEvents, debounce, settle } from "./debounce-events.js";
import { startEvents } from "./start-events.js";
import { matchEvent, subscribe, subscriptionsOf } from "./subscriptions.js";

/** `started`: runs that may have limits are there. `hint`: there may be something to claim. */
export function memoryEvents(
  tables: Tables,
  hint: (runs: readonly NewRun[]) => void,
  started: (runs: readonly NewRun[]) => void,
): EventStore {
  return {
    subscribe: async (declaration) => subscribe(tables, declaration),
    subscriptions: async (env) => {
      return subscriptionsOf(tables, (one) => one.env === env);
    },
    match: async (events) => events.map((event) => matchEvent(tables, event)),
    start: async (events) => {
      const { answers, made } = startEvents(tables, events);
      hint(made);
      return answers;
    },
    debounce: async (events, { tx } = {}) => {
      const answers = debounce(tablesSeenBy(tables, tx), events, { inserting: tx !== undefined });
      if (!tx) hint(events.map(({ run }) => run));
      return answers;
    },
    accept: async (events) => {
      const answers = acceptEvents(tables, events);
      started(events.flatMap(({ runs }) => runs));
      hint(events.flatMap(({ debounced }) => debounced.map(({ run }) => run)));
      return answers;
    },
    settleDebounced: async (claim, expectedSeq, ticket) => settle(tables, claim, expectedSeq, ticket),
  };
}
