// Runs: inserted once, claimed by one holder at a time, advanced only by that holder's fenced commits. One file per noun; joined here.
// Every operation is atomic and may be repeated after an unanswered COMMIT.

import type { RunClaims } from "../claim/claiming.js";
import type { RunCommits } from "../claim/commits.js";
import type { RunRecovery } from "../claim/recovery.js";
import type { RunLimits } from "../limit/limits.js";
import type { RunTasks } from "../task/tasks.js";
import type { RunAttributes } from "./attributes.js";
import type { RunDeferrals } from "./deferrals.js";
import type { RunMisfits } from "./misfits.js";
import type { RunOutputs } from "./outputs.js";
import type { RunRecords } from "./records.js";
import type { RunRetention } from "./retention.js";
import type { RunRetries } from "./retry.js";
import type { RunStarts } from "./starts.js";
import type { RunStops } from "./stops.js";

export type { ClaimedRun, ClaimRequest, RenewAnswer } from "../claim/claiming.js";
export type { Commit, CommitAnswer } from "../claim/commits.js";
export type { Reclaimed } from "../claim/recovery.js";
export type { Admission, DeclarationConflict, DeclaredProgram } from "../limit/limits.js";
export type { Reconciled } from "../task/tasks.js";
export type { AttributeAnswer, AttributeChange } from "./attributes.js";
export type { Deferral, ExpiredRun, StackQuery } from "./deferrals.js";
export { DEFERRED_EXPIRED } from "./deferrals.js";
export type { RunFilter, RunGlance, RunPage, RunRecord } from "./records.js";
export type { EndedRuns } from "./retention.js";
export type { InsertAnswer } from "./starts.js";
export type { CancelAnswer, PauseAnswer, ResumeAnswer, StopProgress } from "./stops.js";

export interface RunStore
  extends RunStarts,
    RunClaims,
    RunCommits,
    RunStops,
    RunTasks,
    RunDeferrals,
    RunAttributes,
    RunOutputs,
    RunRecords,
    RunRetention,
    RunLimits,
    RunRecovery,
    RunRetries,
    RunMisfits {}
