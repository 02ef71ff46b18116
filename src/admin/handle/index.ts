// All handlers by the names of their routes; the compiler requires one for each.

import type { RouteName } from "../api.js";
import type { Handlers } from "../call.js";
import type { LIVE_ROUTES } from "../routes/live.js";
import { approvalHandlers } from "./approvals.js";
import { auditHandlers } from "./audit.js";
import { bulkHandlers } from "./bulk.js";
import { machineHandlers } from "./machines.js";
import { nodeHandlers } from "./nodes.js";
import { overviewHandlers } from "./overview.js";
import { programHandlers } from "./programs.js";
import { queueHandlers } from "./queues.js";
import { runVerbHandlers } from "./run-verbs.js";
import { runHandlers } from "./runs.js";
import { triggerHandlers } from "./triggers.js";

/** Live routes are answered by the watcher. */
export const HANDLERS: Handlers<Exclude<RouteName, keyof typeof LIVE_ROUTES>> = {
  ...overviewHandlers,
  ...nodeHandlers,
  ...runHandlers,
  ...runVerbHandlers,
  ...approvalHandlers,
  ...bulkHandlers,
  ...queueHandlers,
  ...triggerHandlers,
  ...machineHandlers,
  ...programHandlers,
  ...auditHandlers,
};
