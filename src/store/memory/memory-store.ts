// Assembles the memory store. Each operation does its work in one turn, which makes it atomic.

import type { NewRun } from "../../kernel/run/new-run.js";
import { systemWorld } from "../../kernel/system-world.js";
import type { World } from "../../kernel/world.js";
import { checkedStore } from "../checked-store.js";
import type { Commit } from "../contract/run/runs.js";
import type { Store } from "../contract/store.js";
import { claimRuns } from "./claim/claim-runs.js";
import { commit } from "./claim/commit.js";
import { readClaims } from "./claim/read-claims.js";
import { renewClaims } from "./claim/renew-claims.js";
import { sweepExpired } from "./claim/sweep-expired.js";
import { cleanUp } from "./clean-up.js";
import { memoryDefinitions } from "./definition/definitions.js";
import { memoryEvents } from "./event/events.js";
import { readInbox } from "./inbox/read-inbox.js";
import { sendMessages } from "./inbox/send-messages.js";
import { glance, memoryJournal } from "./journal/read-journal.js";
import { memoryLeases } from "./lease/leases.js";
import { admitting } from "./limit/admitting.js";
import { memoryBreakers } from "./limit/breakers.js";
import { declarePrograms } from "./limit/declare-programs.js";
import { memoryQueues } from "./limit/queues.js";
import { memoryMachines } from "./machine/machines.js";
import { attend, type Hearers, hint, hintGroups, tellCalled, tellNews } from "./node/attend.js";
import { memoryHouse } from "./node/housekeep.js";
import { memoryNodes } from "./node/nodes.js";
import { cancelRun } from "./run/cancel-run.js";
import { groupIds, limitsOf } from "./run/group-ids.js";
import { insertRuns } from "./run/insert-runs.js";
import { countRuns, getRun, listRuns } from "./run/list-runs.js";
import { nextDue } from "./run/next-due.js";
import { othersRuns } from "./run/others-runs.js";
import { archiveRuns, pruneRuns } from "./run/retain-runs.js";
import { busyRuns, leaveTasks, retryRuns } from "./run/retry-runs.js";
import { unansweredIn } from "./run/stop-requests.js";
import { transact } from "./run/transact.js";
import { memorySchedules } from "./schedule/schedules.js";
import { rememberStore } from "./table/open-stores.js";
import { newTables, type Tables } from "./table/tables.js";
import { tablesSeenBy } from "./table/transaction.js";
import { taskOperations } from "./task/task-operations.js";
import { memoryTimeouts } from "./timeout/timeouts.js";

/** A store that lives and dies with this process: for tests and for the simulator, whose world is its clock. */
export function memoryStore(options: { readonly world?: World } = {}): Store {
  const world = options.world ?? systemWorld();
  const tables = newTables(world);
  const store = checkedStore(storeOn(tables, world));
  rememberStore(store, tables);
  return store;
}

function storeOn(tables: Tables, world: World): Store {
  const hearers: Hearers = new Set();
  const { admit, ringing, tellReady } = admitting(tables, hearers, world);
  const started = (runs: readonly NewRun[]) => {
    admit({ runIds: runs.filter(({ limits = [] }) => limits.length > 0).map(({ id }) => id) });
    hint(hearers, tables, runs);
  };
  const { wakeParked, ...house } = memoryHouse(tables, { ringing, tellReady });
  return {
    runs: {
      groupIds: async (groups) => groupIds(tables, groups),
      declare: async (incarnation, programs) => declarePrograms(tables, incarnation, programs),
      limitsOf: async (group) => limitsOf(tables, group),
      insert: async (runs, { tx } = {}) => {
        const answers = insertRuns(tablesSeenBy(tables, tx), runs);
        if (tx) return answers;
        const held = runs.filter((run, i) => answers[i]!.outcome === "inserted" && (run.limits?.length ?? 0) > 0);
        admit({ runIds: held.map(({ id }) => id) });
        hint(hearers, tables, runs);
        return answers;
      },
      admit: async (whom) => admit(whom),
      claim: async (request) => claimRuns(tables, request),
      renew: async (claims, leaseMs) => renewClaims(tables, claims, leaseMs),
      commit: async (commits) => {
        const answers = ringing(commit(tables, commits));
        const written = commits.filter((_, i) => answers[i]!.outcome === "accepted");
        const rows = written.flatMap(touchedBy).flatMap((id) => tables.runs.get(id) ?? []);
        tellReady(rows.filter(({ state }) => state === "waiting"));
        return answers;
      },
      sweepExpired: async (options) => ringing(sweepExpired(tables, options)),
      ...othersRuns(tables, { ringing, tellReady, admit }),
      wakeParked,
      cancel: async (runId, options) => {
        const before = tables.runs.get(runId)?.state;
        const answer = ringing(cancelRun(tables, runId, options));
        // Its slots are free for other runs.
        if (answer.outcome === "cancelled" && before !== "cancelled") admit({ runIds: [runId] });
        tellCalled(hearers, unansweredIn(tables, runId));
        return answer;
      },
      ...taskOperations(tables, hearers, ringing, admit),
      get: async (runId) => getRun(tables, runId),
      glance: async (runIds) => runIds.map((runId) => glance(tables, runId)),
      claims: async (runId, { limit }) => readClaims(tables, runId, limit),
      list: async (filter, page) => listRuns(tables, filter, page),
      count: async (filter) => countRuns(tables, filter),
      archive: async (options) => archiveRuns(tables, options),
      prune: async (options) => pruneRuns(tables, options),
      nextDue: async (groupIds) => nextDue(tables, groupIds),
      retry: async (runIds, options) => {
        // Runs that waited for a slot of these tasks get it before the run itself waits in line again.
        for (const row of busyRuns(tables, runIds, options)) ringing(leaveTasks(tables, row, options.by));
        return ringing(retryRuns(tables, runIds, options));
      },
      transact: (work) => transact(tables, work),
    },
    journal: memoryJournal(tables),
    inbox: {
      send: async (messages, { tx } = {}) =>
        ringing(sendMessages(tablesSeenBy(tables, tx), messages, { ring: tx === undefined })),
      unread: async (runId) => readInbox(tables, runId),
    },
    queues: memoryQueues(tables, tellReady),
    schedules: memorySchedules(tables, started),
    definitions: memoryDefinitions(tables, () => tellNews(hearers)),
    events: memoryEvents(tables, (runs) => hint(hearers, tables, runs), started),
    nodes: memoryNodes(tables, ringing, () => tellNews(hearers)),
    machines: memoryMachines(tables, (groups) => hintGroups(hearers, tables, groups)),
    ...quietParts(tables),
    ...house,
    attend: async (attendee) => attend(hearers, tables, attendee),
    close: async () => {},
  };
}

/** Operations that make no run claimable, so that no node has to be notified. */
function quietParts(tables: Tables): Pick<Store, "leases" | "breakers" | "timeouts" | "cleanUp"> {
  return {
    leases: memoryLeases(tables),
    breakers: memoryBreakers(tables),
    timeouts: memoryTimeouts(tables),
    cleanUp: async (round) => cleanUp(tables, round),
  };
}

function touchedBy({ claim, effects }: Commit): string[] {
  return [claim.runId, ...effects.flatMap((effect) => (effect.kind === "enqueue" ? effect.run.id : []))];
}
