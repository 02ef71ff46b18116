// The operations on events, joined.

import type { EventStore } from "../../contract/event/events.js";
import type { Database } from "../connection/database.js";
import type { WakeSender } from "../connection/wake-sender.js";
import type { Groups } from "../run/groups.js";
import { accept, debounce } from "./debounce-events.js";
import { settle } from "./settle-debounced.js";
import { start } from "./start-events.js";
import * as subscriptions from "./subscriptions.js";

export function eventStore(db: Database, groups: Groups, wakes: WakeSender): EventStore {
  return {
    subscribe: (declaration) => subscriptions.subscribe(db, declaration),
    subscriptions: (env) => subscriptions.list(db, env),
    match: (events, { tx } = {}) => subscriptions.match(db, events, tx),
    start: (events) => start(db, groups, wakes, events),
    debounce: (events, { tx } = {}) => debounce({ db, groups, wakes }, events, tx),
    accept: (events) => accept(db, groups, events),
    settleDebounced: (claim, seq, ticket) => settle(db, claim, seq, ticket),
  };
}
