// Checks the arguments of instance operations before anything is written.

import { InvalidInput } from "../../../kernel/error.js";
import { dedupeKey } from "../../../kernel/name.js";
import {
  type Append,
  type Change,
  INSTANCE_STATUSES,
  type NewInstance,
  type NewTold,
  type TimerClaim,
  type TimerSettlement,
} from "../../contract/machine/machines.js";
import { checkGroup, checkRun } from "../run/run.js";
import * as v from "../value.js";

const EVENT_KINDS = ["start", "event", "timer", "stop"];
const TIMER_KINDS = ["after", "raise", "sent"];
const SETTLED = ["retry", "keep", "untried", "dead", "drop"];

const checkEvent = v.shape<Change["events"][number]>("event", {
  kind: v.among(EVENT_KINDS),
  name: v.checkText,
  key: v.optional(v.named(dedupeKey)),
  payload: v.checkPayload,
  by: v.optional(v.checkText),
});

const FIRED = { id: v.checkUuid, generation: v.checkSeq };

const checkTimer = v.shape<Change["timers"][number]>("timer", {
  ...FIRED,
  kind: v.among(TIMER_KINDS),
  name: v.checkText,
  payload: v.checkPayload,
  delayMs: v.checkDelay,
});

export const checkTold = v.shape<NewTold>("told", {
  ...FIRED,
  instanceKey: v.checkUuid,
  group: checkGroup,
  name: v.checkText,
  payload: v.checkPayload,
  delayMs: v.checkDelay,
});

const CHANGE = {
  token: v.checkUuid,
  status: v.among(INSTANCE_STATUSES),
  value: v.checkText,
  version: v.optional(v.checkText),
  events: someEvents,
  timers: v.listOf("timers", checkTimer),
  told: v.listOf("told events", checkTold),
  effects: v.listOf("effects", checkEffect),
};

const checkFields = v.whole(
  v.shape<NewInstance>("instance", {
    key: v.checkUuid,
    id: v.named(dedupeKey),
    inputHash: v.checkText,
    snapshot: v.checkPayload,
    redact: v.listOf("paths", v.checkText),
    group: checkGroup,
    ...CHANGE,
  }),
);

export function checkCreate(one: NewInstance): v.Problem {
  return checkFields(one) ?? checkNames(one);
}

const checkAppend = v.whole(
  v.shape<Append>("append", {
    key: v.checkUuid,
    expectedSeq: v.integer(1, Number.MAX_SAFE_INTEGER),
    group: checkGroup,
    snapshot: v.optional(v.checkPayload),
    ...CHANGE,
    cancelled: v.listOf("ids", v.checkUuid),
    fired: v.listOf("timers", v.shape<Append["fired"][number]>("timer", FIRED)),
  }),
);

/** Checks the appends of one call, one after the other; the second for an instance is refused. */
export function appendChecker(): (append: Append) => v.Problem {
  const seen = new Set<string>();
  return (one) => checkAppend(one) ?? checkNames(one) ?? checkApart(one) ?? v.checkOnce("key", one.key, seen);
}

export const checkTimerClaim = v.whole(
  v.shape<TimerClaim>("claim", {
    groups: v.listOf("groups", checkGroup),
    limit: v.integer(1, 10_000),
    leaseMs: v.checkDelay,
    mostAttempts: v.integer(1),
    owner: v.optional(v.checkUuid),
    gone: v.optional(v.listOf("incarnations", v.checkUuid)),
  }),
);

export const checkSettlements = v.listOf(
  "settlements",
  v.shape<TimerSettlement>("settlement", {
    ...FIRED,
    attempts: v.integer(0),
    as: v.among(SETTLED),
    delayMs: v.checkDelay,
    problem: v.optional(v.checkText),
  }),
);

function someEvents(path: string, events: unknown): v.Problem {
  if (Array.isArray(events) && events.length === 0) return new InvalidInput(path, "must be one or more");
  return v.listOf("events", checkEvent)(path, events);
}

function checkEffect(path: string, run: unknown): v.Problem {
  const problem = checkRun(path, run);
  if (problem) return problem;
  const { key, limits } = run as Change["effects"][number];
  return key || (limits?.length ?? 0) > 0 ? new InvalidInput(path, "an effect has no key and no limits") : null;
}

/** Each event key, timer and told event once. */
function checkNames({ events, timers, told }: Change): v.Problem {
  const names = { events: events.flatMap(({ key }) => key ?? []), timers: idsOf(timers), told: idsOf(told) };
  const twice = Object.entries(names).find(([, list]) => new Set(list).size < list.length);
  return twice ? new InvalidInput(twice[0], "has one twice") : null;
}

/** What is cancelled and set in one statement would depend on chance. */
function checkApart({ timers, told, cancelled }: Append): v.Problem {
  const set = new Set([...idsOf(timers), ...idsOf(told)]);
  return cancelled.some((id) => set.has(id)) ? new InvalidInput("cancelled", "names a timer that is set here") : null;
}

function idsOf(items: readonly { readonly id: string }[]): string[] {
  return items.map(({ id }) => id);
}
