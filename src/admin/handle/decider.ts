// Who may decide an approval: a member of the group that is asked, and, where it is required, not the one who started the run.

import { askedIn } from "../../client/approvals.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { RouteName } from "../api.js";
import type { Call } from "../call.js";
import { ApiProblem } from "../problem.js";

/** Deeper than children of children are started by people. */
const MOST_PARENTS = 50;
const STARTS: readonly RouteName[] = ["runs.start", "runs.fork"];

export async function expectDecider(call: Call, run: RunRecord, approval: string, nth: string): Promise<void> {
  await expectAddressed(call, run, approval, nth);
  if (call.admin.requireDifferentApprover) await expectAnother(call, run);
}

async function expectAddressed(call: Call, run: RunRecord, approval: string, nth: string): Promise<void> {
  const { groups } = call.principal;
  if (groups === undefined) return;
  const entries = (await call.store.journal.read(run.id))?.entries ?? [];
  const asked = entries.findLast(({ kind, name, key }) => {
    return kind === "approval.begun" && name === approval && key === nth;
  });
  const to = asked ? askedIn(call.admin.codecs, asked.payload).to : null;
  if (to !== null && !groups.includes(to)) {
    throw new ApiProblem(403, "FORBIDDEN", `The approval is addressed to ${JSON.stringify(to)}; you are not a member.`);
  }
}

/** Also of a child: the start of the run at the top counts. By the audit, which has every start by a person. */
async function expectAnother(call: Call, run: RunRecord): Promise<void> {
  let top: RunRecord = run;
  for (let i = 0; i < MOST_PARENTS && top.parentId !== null; i++) {
    const parent = await call.store.runs.get(top.parentId);
    if (!parent) break;
    top = parent;
  }
  const { audit } = call.store;
  const started = STARTS.map((action) =>
    audit.list({ env: top.group.env, object: top.id, action, by: call.by }, { limit: 1 }),
  );
  if ((await Promise.all(started)).every(({ rows }) => rows.length === 0)) return;
  throw new ApiProblem(403, "SAME_PERSON", "You started this run. Another person has to decide its approvals.");
}
