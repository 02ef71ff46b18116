// Assembles the operations on events.

import type { EventStore } from "../../contract/event/events.js";
import type { Wakes } from "../node/wakes.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";
import { acceptEvents, debounce, settle } from "./debounce-events.js";
import { startEvents } from "./start-events.js";
import { matchEvent, subscribe, subscriptionsOf } from "./subscriptions.js";

export function memoryEvents(tables: Tables, wakes: Wakes): EventStore {
  return {
    subscribe: async (declaration) => subscribe(tables, declaration),
    subscriptions: async (env) => subscriptionsOf(tables, (one) => one.env === env),
    match: async (events) => events.map((event) => matchEvent(tables, event)),
    start: async (events) => {
      const { answers, made } = startEvents(tables, events);
      wakes.inserted(made);
      return answers;
    },
    debounce: async (events, { tx } = {}) => {
      const answers = debounce(tablesSeenBy(tables, tx), events, { inserting: tx !== undefined });
      if (!tx) wakes.inserted(events.map(({ run }) => run));
      return answers;
    },
    accept: async (events) => {
      const answers = acceptEvents(tables, events);
      wakes.started(events.flatMap(({ runs }) => runs));
      wakes.inserted(events.flatMap(({ debounced }) => debounced.map(({ run }) => run)));
      return answers;
    },
    settleDebounced: async (claim, expectedSeq, ticket) => settle(tables, claim, expectedSeq, ticket),
  };
}
