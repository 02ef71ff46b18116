// Assembles the memory store. Each operation does its work in one turn, which makes it atomic.

import type { NewRun } from "../../kernel/run/new-run.js";
import { systemWorld } from "../../kernel/system-world.js";
import type { World } from "../../kernel/world.js";
import { checkedStore } from "../checked-store.js";
import type { Store } from "../contract/store.js";
import { memoryAudit } from "./audit/audit.js";
import { memoryTokens } from "./audit/tokens.js";
import { cleanUp } from "./clean-up.js";
import { memoryDefinitions } from "./definition/definitions.js";
import { memoryEvents } from "./event/events.js";
import { readInbox } from "./inbox/read-inbox.js";
import { sendMessages } from "./inbox/send-messages.js";
import { memoryJournal } from "./journal/read-journal.js";
import { memoryLeases } from "./lease/leases.js";
import { admitting } from "./limit/admitting.js";
import { memoryBreakers } from "./limit/breakers.js";
import { memoryQueues } from "./limit/queues.js";
import { memoryMachines } from "./machine/machines.js";
import { attend, hint, hintGroups, type NodeListeners, sendNews } from "./node/attend.js";
import { memoryHouse } from "./node/housekeep.js";
import { memoryNodes } from "./node/nodes.js";
import { memoryRuns } from "./run/runs.js";
import { memorySchedules } from "./schedule/schedules.js";
import { rememberStore } from "./table/open-stores.js";
import { newTables, type Tables } from "./table/tables.js";
import { tablesSeenBy } from "./table/transaction.js";
import { memoryTimeouts } from "./timeout/timeouts.js";
import { memoryViews } from "./view/views.js";

/** A store that lives and dies with this process: for tests and for the simulator, whose world is its clock. */
export function memoryStore(options: { readonly world?: World } = {}): Store {
  const world = options.world ?? systemWorld();
  const tables = newTables(world);
  const store = checkedStore(storeOn(tables, world));
  rememberStore(store, tables);
  return store;
}

function storeOn(tables: Tables, world: World): Store {
  const listeners: NodeListeners = new Set();
  const { admit, withWakes, announceReady } = admitting(tables, listeners, world);
  const started = (runs: readonly NewRun[]) => {
    admit({ runIds: runs.filter(({ limits = [] }) => limits.length > 0).map(({ id }) => id) });
    hint(listeners, tables, runs);
  };
  const { wakeParked, ...house } = memoryHouse(tables, { withWakes, announceReady });
  return {
    runs: memoryRuns(tables, { listeners, admit, withWakes, announceReady, wakeParked }),
    journal: memoryJournal(tables),
    inbox: {
      send: async (messages, { tx } = {}) =>
        withWakes(sendMessages(tablesSeenBy(tables, tx), messages, { ring: tx === undefined })),
      unread: async (runId) => readInbox(tables, runId),
    },
    queues: memoryQueues(tables, announceReady),
    schedules: memorySchedules(tables, started),
    definitions: memoryDefinitions(tables, () => sendNews(listeners)),
    events: memoryEvents(tables, (runs) => hint(listeners, tables, runs), started),
    nodes: memoryNodes(tables, withWakes, () => sendNews(listeners)),
    machines: memoryMachines(tables, (groups) => hintGroups(listeners, tables, groups)),
    ...quietParts(tables),
    ...house,
    attend: async (attendee) => attend(listeners, tables, attendee),
    close: async () => {},
  };
}

/** Operations that make no run claimable, so that no node has to be notified. */
function quietParts(
  tables: Tables,
): Pick<Store, "leases" | "breakers" | "timeouts" | "views" | "audit" | "tokens" | "cleanUp"> {
  return {
    leases: memoryLeases(tables),
    breakers: memoryBreakers(tables),
    timeouts: memoryTimeouts(tables),
    views: memoryViews(tables),
    audit: memoryAudit(tables),
    tokens: memoryTokens(tables),
    cleanUp: async (round) => cleanUp(tables, round),
  };
}
