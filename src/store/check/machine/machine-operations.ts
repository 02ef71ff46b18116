// The operations on instances of state machines as values.

import type { Change } from "../../contract/machine/changes.js";
import { INSTANCE_STATUSES, type InstanceFilter, type MachineStore } from "../../contract/machine/machines.js";
import { CHANGES, MOST_AT_ONCE, type OperationsOf, READS } from "../../operation.js";
import { checkAge, checkPage } from "../filter.js";
import { among, checkInteger, checkSeq, checkText, checkUuid, listOf, optional, shape, whole } from "../value.js";
import { appendChecker, checkCreate, checkSettlements, checkTimerClaim, checkTold } from "./machine.js";

const checkKey = (key: unknown) => checkUuid("key", key);
const checkKeys = listOf("keys", checkUuid);

const checkFilter = shape<InstanceFilter>("filter", {
  env: checkText,
  stack: optional(checkText),
  machine: optional(checkText),
  id: optional(checkText),
  statuses: optional(listOf("statuses", among(INSTANCE_STATUSES))),
});

export const MACHINE_OPERATIONS = {
  create: {
    ...CHANGES,
    changes: "instances, their first event, timers and effects",
    tx: true,
    each: { checker: () => checkCreate, refused: (_, error) => ({ outcome: "refused", error }) },
    batch: { ...MOST_AT_ONCE, sizeOf: changeSize, gathers: true },
  },
  append: {
    ...CHANGES,
    changes: "events, timers, effects and snapshot of instances",
    skipsLocked: true,
    each: { checker: appendChecker, refused: (_, error) => ({ outcome: "refused", error }) },
    batch: { ...MOST_AT_ONCE, sizeOf: changeSize, gathers: true },
  },
  tell: {
    ...CHANGES,
    changes: "timers that deliver an event",
    tx: true,
    each: { checker: () => (told) => checkTold("told", told), refused: (_, error) => ({ outcome: "refused", error }) },
    batch: { ...MOST_AT_ONCE, sizeOf: () => ({ rows: 1, bytes: 1000 }) },
  },
  load: { ...READS, tx: true, check: (keys) => checkKeys("keys", keys) },
  events: {
    ...READS,
    check: (key, { after, limit }) => checkKey(key) ?? checkSeq("after", after) ?? checkInteger("limit", limit, 1),
  },
  timers: { ...READS, check: checkKey },
  claimTimers: { ...CHANGES, changes: "due timers: claimed, an attempt counted", check: checkTimerClaim },
  settleTimers: {
    ...CHANGES,
    changes: "timers that could not be fired: later, given up or dropped",
    check: (settlements) => checkSettlements("settlements", settlements),
  },
  note: {
    ...CHANGES,
    changes: "why no node can continue an instance",
    check: (key, seq, problem) =>
      checkKey(key) ?? checkInteger("seq", seq, 1, Number.MAX_SAFE_INTEGER) ?? checkText("problem", problem),
  },
  retryTimers: { ...CHANGES, changes: "dead timers: pending again", check: checkKey },
  list: { ...READS, check: (filter, page) => checkFilter("filter", filter) ?? checkPage("page", page) },
  prune: { ...CHANGES, changes: "ended instances: deleted", check: whole(checkAge) },
} satisfies OperationsOf<MachineStore>;

/** Measured before it is checked, so it accepts any value. */
function changeSize(change: Change) {
  const events = (change?.events ?? []).reduce((sum, { payload }) => sum + (payload?.data?.length ?? 0), 0);
  const effects = (change?.effects ?? []).reduce((sum, { input }) => sum + (input?.data?.length ?? 0), 0);
  return {
    rows: (change?.events?.length ?? 1) + (change?.effects?.length ?? 0) + (change?.timers?.length ?? 0),
    bytes: events + effects + (change?.snapshot?.data?.length ?? 0),
  };
}
