// The conformance suite: every case that a store must pass.

import { auditCases } from "./audit/audits.js";
import type { ConformanceCase } from "./case.js";
import { claimCases, renewCases } from "./claim/claims.js";
import { commitCases } from "./claim/commits.js";
import { crashCases } from "./claim/crashes.js";
import { holderCases } from "./claim/holders.js";
import { recoveryCases } from "./claim/recovery.js";
import { settlingCases } from "./claim/settling.js";
import { sweepCases, wakeCases } from "./claim/sweeps.js";
import { cleanupCases } from "./cleanup.js";
import { definitionCases } from "./definition/definitions.js";
import { eventStartCases } from "./event/event-starts.js";
import { eventCases } from "./event/events.js";
import { messageCases } from "./inbox/messages.js";
import { journalCases } from "./journal/journals.js";
import { sealedTransactionCases } from "./journal/sealed-transactions.js";
import { transactionCases } from "./journal/transactions.js";
import { keptCases } from "./kept/kept-values.js";
import { keyCases } from "./key/keys.js";
import { leaseCases } from "./lease/leases.js";
import { breakerCases } from "./limit/breakers.js";
import { declarationCases } from "./limit/declarations.js";
import { limitCases } from "./limit/limits.js";
import { overflowCases } from "./limit/overflow.js";
import { queueCases } from "./limit/queues.js";
import { machineCases } from "./machine/machines.js";
import { loneNodeCases } from "./node/lone-nodes.js";
import { deferredCases, modeCases } from "./node/modes.js";
import { nodeCases } from "./node/nodes.js";
import { presenceCases } from "./node/presence.js";
import { attributeCases } from "./run/attributes.js";
import { cancelCases } from "./run/cancel.js";
import { generationCases } from "./run/generations.js";
import { insertCases } from "./run/insert.js";
import { listCases } from "./run/lists.js";
import { misfitCases } from "./run/misfits.js";
import { outputCases } from "./run/outputs.js";
import { retentionCases } from "./run/retention.js";
import { scheduleCases } from "./schedule/schedules.js";
import { statisticCases } from "./statistic/statistics.js";
import { childCases } from "./task/children.js";
import { taskOperationCases } from "./task/task-operations.js";
import { taskCases } from "./task/tasks.js";
import { timeoutCases } from "./timeout/timeouts.js";
import { deadLetterCases } from "./view/dead-letters.js";
import { viewCases } from "./view/views.js";

/** The cases that a store must pass. Run each with a new harness. */
export const storeConformance: readonly ConformanceCase[] = [
  ...insertCases,
  ...keyCases,
  ...keptCases,
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
  ...attributeCases,
  ...outputCases,
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
  ...viewCases,
  ...deadLetterCases,
  ...auditCases,
  ...statisticCases,
];
