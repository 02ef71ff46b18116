// The conformance suite: every case that a store must pass to be one.

import { breakerCases } from "./breakers.js";
import { cancelCases } from "./cancel.js";
import type { ConformanceCase } from "./case.js";
import { childCases } from "./children.js";
import { claimCases, renewCases } from "./claims.js";
import { cleanupCases } from "./cleanup.js";
import { commitCases } from "./commits.js";
import { crashCases } from "./crashes.js";
import { declarationCases } from "./declarations.js";
import { definitionCases } from "./definitions.js";
import { eventStartCases } from "./event-starts.js";
import { eventCases } from "./events.js";
import { generationCases } from "./generations.js";
import { holderCases } from "./holders.js";
import { insertCases } from "./insert.js";
import { journalCases } from "./journals.js";
import { keyCases } from "./keys.js";
import { leaseCases } from "./leases.js";
import { limitCases } from "./limits.js";
import { listCases } from "./lists.js";
import { loneNodeCases } from "./lone-nodes.js";
import { machineCases } from "./machines.js";
import { messageCases } from "./messages.js";
import { misfitCases } from "./misfits.js";
import { deferredCases, modeCases } from "./modes.js";
import { nodeCases } from "./nodes.js";
import { overflowCases } from "./overflow.js";
import { presenceCases } from "./presence.js";
import { queueCases } from "./queues.js";
import { recoveryCases } from "./recovery.js";
import { retentionCases } from "./retention.js";
import { scheduleCases } from "./schedules.js";
import { sealedTransactionCases } from "./sealed-transactions.js";
import { settlingCases } from "./settling.js";
import { sweepCases, wakeCases } from "./sweeps.js";
import { taskOperationCases } from "./task-operations.js";
import { taskCases } from "./tasks.js";
import { timeoutCases } from "./timeouts.js";
import { transactionCases } from "./transactions.js";

export const storeConformance: readonly ConformanceCase[] = [
  ...insertCases,
  ...keyCases,
  ...transactionCases,
  ...claimCases,
  ...renewCases,
  ...commitCases,
  ...settlingCases,
  ...generationCases,
  ...sealedTransactionCases,
  ...messageCases,
  ...childCases,
  ...taskCases,
  ...taskOperationCases,
  ...sweepCases,
  ...crashCases,
  ...wakeCases,
  ...recoveryCases,
  ...declarationCases,
  ...holderCases,
  ...cancelCases,
  ...journalCases,
  ...limitCases,
  ...overflowCases,
  ...queueCases,
  ...scheduleCases,
  ...eventCases,
  ...eventStartCases,
  ...breakerCases,
  ...definitionCases,
  ...machineCases,
  ...listCases,
  ...retentionCases,
  ...leaseCases,
  ...timeoutCases,
  ...nodeCases,
  ...loneNodeCases,
  ...presenceCases,
  ...modeCases,
  ...deferredCases,
  ...cleanupCases,
  ...misfitCases,
];
