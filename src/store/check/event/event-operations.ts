// The operations on events and subscriptions as values.

import type { EventRuns, EventStore } from "../../contract/event/events.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkClaim } from "../claim/commit.js";
import { runSize } from "../run/run-operations.js";
import { checkText } from "../value.js";
import { checkDebounced, checkDeclaration, checkEvent, checkEventRuns } from "./subscription.js";

export const EVENT_OPERATIONS = {
  subscribe: { ...CHANGES, changes: "subscriptions of a node's programs", check: checkDeclaration },
  subscriptions: { ...READS, check: (env) => checkText("env", env) },
  match: {
    ...READS,
    tx: true,
    batch: { ...MOST_AT_ONCE, sizeOf: ({ plain }) => ({ rows: 1, bytes: plain.length }) },
  },
  start: {
    ...CHANGES,
    changes: "the runs of events",
    each: { checker: () => checkEvent, refused: (_, error) => ({ outcome: "refused", error }) },
    batch: {
      ...MOST_AT_ONCE,
      // Each may create many runs.
      maxRows: 100,
      sizeOf: (event) => ({ rows: 1, bytes: (event?.plain?.length ?? 0) + (event?.input?.data?.length ?? 0) }),
    },
  },
  debounce: {
    ...CHANGES,
    changes: "the last event of each subject, and the run that will take it",
    tx: true,
    each: { checker: () => checkDebounced, refused: (_, error) => ({ outcome: "refused", error }) },
    // One call after the other: of two, the later one's event is the last.
    batch: { ...MOST_AT_ONCE, sizeOf: (event) => runSize(event?.run), gathers: true },
  },
  accept: {
    ...CHANGES,
    changes: "the runs of events, and the last event of each subject",
    each: { checker: () => checkEventRuns, refused: (_, error) => ({ outcome: "refused", error }) },
    batch: { ...MOST_AT_ONCE, sizeOf: eventRunsSize, gathers: true },
  },
  settleDebounced: {
    ...CHANGES,
    changes: "a run that gathers: begins, waits longer, or is merged",
    check: (claim) => checkClaim("claim", claim),
  },
} satisfies OperationsOf<EventStore>;

/** Measured before it is checked, so it accepts any value. */
function eventRunsSize(event: EventRuns) {
  const sizes = [...(event?.runs ?? []), ...(event?.debounced ?? []).map((one) => one?.run)].map(runSize);
  return {
    rows: sizes.reduce((sum, { rows }) => sum + rows, 0),
    bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
