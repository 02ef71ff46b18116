// Events and circuit breakers as one process sees them: every operation goes over that process's link and is recorded.

import type { EventStore } from "../store/contract/event/events.js";
import type { BreakerStore } from "../store/contract/limit/breakers.js";
import type { Recorder } from "./applied.js";
import type { Link } from "./link.js";

export function remoteEvents(link: Link, recorded: Recorder): EventStore {
  const { events } = link.database.store;
  let triggered = false;
  return {
    // A node without triggers says only that: not sent, because each trip is a draw, and the old seeds would tell other stories.
    subscribe: (declaration) => {
      const { subscriptions } = declaration;
      triggered ||= subscriptions.length > 0;
      if (!triggered) return events.subscribe(declaration);
      return link.call("subscribe", () =>
        recorded(events.subscribe(declaration), (removed) => ({ op: "subscribe", subscriptions, removed })),
      );
    },
    subscriptions: (env) => link.call("list subscriptions", () => events.subscriptions(env)),
    match: (asked) =>
      link.call("match", () => recorded(events.match(asked), (answers) => ({ op: "match", events: asked, answers }))),
    start: (asked) =>
      link.call("start", () => recorded(events.start(asked), (answers) => ({ op: "start", events: asked, answers }))),
    debounce: (gathered) =>
      link.call("debounce", () =>
        recorded(events.debounce(gathered), (answers) => ({ op: "debounce", events: gathered, answers })),
      ),
    settleDebounced: (claim, expectedSeq, ticket) =>
      link.call("settle", () =>
        recorded(events.settleDebounced(claim, expectedSeq, ticket), (answer) => {
          return { op: "settle", claim, expectedSeq, ticket, answer };
        }),
      ),
  };
}

export function remoteBreakers(link: Link, recorded: Recorder): BreakerStore {
  const { breakers } = link.database.store;
  return {
    read: (questions) =>
      link.call("read breakers", () =>
        recorded(breakers.read(questions), (answers) => ({ op: "breakers", questions, answers })),
      ),
    takeProbe: (request) =>
      link.call("take probe", () =>
        recorded(breakers.takeProbe(request), (taken) => ({ op: "probe", request, taken })),
      ),
    isProbe: (runId) => link.call("is probe", () => breakers.isProbe(runId)),
  };
}
