// Assembles the memory store. Each operation does its work in one turn, which makes it atomic.

import { checkOptions, type Names } from "../../kernel/setting/option-names.js";
import { type Retention, type RetentionOptions, retentionOf } from "../../kernel/setting/retention.js";
import { systemWorld } from "../../kernel/system-world.js";
import type { World } from "../../kernel/world.js";
import { checkedStore } from "../checked-store.js";
import type { Store } from "../contract/store.js";
import { memoryAudit } from "./audit/audit.js";
import { memoryTokens } from "./audit/tokens.js";
import { cleanUp } from "./clean-up.js";
import { memoryDefinitions } from "./definition/definitions.js";
import { memoryEvents } from "./event/events.js";
import { memoryInbox } from "./inbox/inbox.js";
import { memoryJournal } from "./journal/read-journal.js";
import { memoryKept } from "./kept/kept.js";
import { memoryLeases } from "./lease/leases.js";
import { memoryBreakers } from "./limit/breakers.js";
import { memoryQueues } from "./limit/queues.js";
import { memoryMachines } from "./machine/machines.js";
import { memoryHouse } from "./node/housekeep.js";
import { memoryNodes } from "./node/nodes.js";
import { Wakes } from "./node/wakes.js";
import { memoryRuns } from "./run/runs.js";
import { memorySchedules } from "./schedule/schedules.js";
import { memoryStatistics } from "./statistic/statistics.js";
import { rememberStore } from "./table/open-stores.js";
import { newTables, type Tables } from "./table/tables.js";
import { memoryTimeouts } from "./timeout/timeouts.js";
import { memoryViews } from "./view/views.js";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** Its clock; for tests. */
  readonly world?: World;
  /** How long what has ended is kept, as in `postgres`. */
  readonly retention?: RetentionOptions;
}

/** A store that lives and dies with this process: for tests and for the simulator, whose world is its clock. */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions("memoryStore", options, { world: true, retention: true } satisfies Names<MemoryStoreOptions>);
  const world = options.world ?? systemWorld();
  const tables = newTables(world);
  const store = checkedStore(storeOn(tables, world, retentionOf(options.retention)));
  rememberStore(store, tables);
  return store;
}

function storeOn(tables: Tables, world: World, retention: Retention): Store {
  const wakes = new Wakes(tables, world);
  return {
    runs: memoryRuns(tables, wakes),
    journal: memoryJournal(tables),
    inbox: memoryInbox(tables, wakes),
    queues: memoryQueues(tables, wakes),
    schedules: memorySchedules(tables, wakes),
    definitions: memoryDefinitions(tables, wakes),
    events: memoryEvents(tables, wakes),
    nodes: memoryNodes(tables, wakes),
    machines: memoryMachines(tables, wakes),
    leases: memoryLeases(tables),
    kept: memoryKept(tables),
    breakers: memoryBreakers(tables),
    timeouts: memoryTimeouts(tables),
    views: memoryViews(tables),
    audit: memoryAudit(tables),
    tokens: memoryTokens(tables),
    statistics: memoryStatistics(tables),
    cleanUp: async (round) => cleanUp(tables, retention, round),
    ...memoryHouse(tables, wakes),
    attend: async (attendee) => wakes.attend(attendee),
    close: async () => {},
  };
}
