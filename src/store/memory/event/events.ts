// Assembles the operations on events.

import { type EventRun, eventRun } from "../../../kernel/run/event-run.js";
import type { NewRun } from "../../../kernel/run/new-run.js";
import {
  type EventStore,
  type EventToStart,
  isPlain,
  type Matched,
  type StartAnswer,
} from "../../contract/event/events.js";
import type { InsertAnswer } from "../../contract/run/runs.js";
import { takeKey } from "../key/take-key.js";
import type { Wakes } from "../node/wakes.js";
import { addRun } from "../run/add-run.js";
import { insertRuns } from "../run/insert-runs.js";
import { joinKey } from "../table/names.js";
import type { Tables } from "../table/tables.js";
import { tablesSeenBy } from "../table/transaction.js";
import { acceptEvents, debounce, settle } from "./debounce-events.js";
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

type Started = Extract<StartAnswer, { outcome: "started" }>["runs"][number];

interface Accepted {
  readonly matched: readonly Matched[];
  readonly runs: readonly EventRun[];
}

/** Events whose runs have a new key are inserted at once, the others like any keyed run. */
function startEvents(
  tables: Tables,
  events: readonly EventToStart[],
): { readonly answers: readonly StartAnswer[]; readonly made: readonly NewRun[] } {
  const nowUs = tables.nowUs();
  const made = new Set<EventRun>();
  const accepted = events.map((event, position): Accepted | StartAnswer => {
    const matched = matchEvent(tables, event);
    if (!matched.every(isPlain)) return { outcome: "left", matched };
    const runs = matched.map((one) => eventRun(event, one));
    for (const run of runs) if (isFirst(tables, run)) made.add(add(tables, run, nowUs, position));
    return { matched, runs };
  });
  const others = accepted
    .flatMap((one) => ("runs" in one && !("outcome" in one) ? one.runs : []))
    .filter((run) => !made.has(run));
  const found = new Map(insertRuns(tables, others).map((answer, i) => [others[i]!, startedBy(answer)]));
  const answers = accepted.map((one): StartAnswer => {
    if ("outcome" in one) return one;
    const { matched, runs } = one;
    return {
      outcome: "started",
      matched,
      runs: runs.map((run) => found.get(run) ?? { outcome: "inserted", runId: run.id }),
    };
  });
  return { answers, made: [...made, ...others.filter((run) => found.get(run)?.outcome === "inserted")] };
}

/** Neither its key nor its id was ever used. */
function isFirst(tables: Tables, { id, group, key }: EventRun): boolean {
  return !tables.runs.has(id) && !tables.keys.has(joinKey(group.env, key.scope, key.key));
}

function add(tables: Tables, run: EventRun, nowUs: number, position: number): EventRun {
  takeKey(tables, { env: run.group.env, runId: run.id }, run.key, nowUs);
  addRun(tables, run, { nowUs, position });
  return run;
}

function startedBy({ outcome, runId }: InsertAnswer): Started {
  return { outcome: outcome === "inserted" ? "inserted" : "existing", runId };
}
