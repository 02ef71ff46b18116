// The route table of the admin API: every route by its name.

import { APPROVAL_ROUTES } from "./approvals.js";
import { AUDIT_ROUTES } from "./audit.js";
import { BULK_ROUTES } from "./bulk.js";
import { LEASE_ROUTES } from "./leases.js";
import { LIVE_ROUTES } from "./live.js";
import { MACHINE_ROUTES } from "./machines.js";
import { NODE_ROUTES } from "./nodes.js";
import { OVERVIEW_ROUTES } from "./overview.js";
import { PROGRAM_ROUTES } from "./programs.js";
import { QUEUE_ROUTES } from "./queues.js";
import { RUN_VERB_ROUTES } from "./run-verbs.js";
import { RUN_ROUTES } from "./runs.js";
import { SESSION_ROUTES } from "./session.js";
import { TRIGGER_ROUTES } from "./triggers.js";

export const ROUTES = {
  ...SESSION_ROUTES,
  ...OVERVIEW_ROUTES,
  ...NODE_ROUTES,
  ...RUN_ROUTES,
  ...RUN_VERB_ROUTES,
  ...APPROVAL_ROUTES,
  ...BULK_ROUTES,
  ...QUEUE_ROUTES,
  ...TRIGGER_ROUTES,
  ...MACHINE_ROUTES,
  ...LEASE_ROUTES,
  ...PROGRAM_ROUTES,
  ...AUDIT_ROUTES,
  ...LIVE_ROUTES,
};
