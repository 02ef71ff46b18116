// `holdfast approvals`: the approvals that runs ask for and that no person has decided.

import { approvalsIn, type OpenApproval } from "../../client/approvals.js";
import { Runs } from "../../client/runs.js";
import { clientPlace } from "../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../command.js";
import { LIMIT_OPTION, limitOf, moreText, WATCH_OPTION } from "../options.js";
import { shortIds } from "../text/short-id.js";
import { listText } from "../text/table.js";
import { isoTime, timeAgo } from "../text/time-ago.js";

const OPTIONS = {
  to: { type: "string", value: "WHO", description: "only those asked of this person or group" },
  limit: LIMIT_OPTION,
  watch: WATCH_OPTION,
} as const satisfies Options;

export const approvals = defineCommand({
  name: "approvals",
  takes: [],
  summary: "what runs ask people, and until when",
  details: "`holdfast approve RUN` decides one. --json also shows the plan and the hash of what is shown.",
  options: OPTIONS,
  run: listApprovals,
});

async function listApprovals(call: Call<typeof OPTIONS>): Promise<Report> {
  const limit = limitOf(call.values);
  const place = await clientPlace(call);
  const to = call.values.to;
  const { rows, next } = await approvalsIn(place, new Runs(place)).list({ limit, ...(to !== undefined && { to }) });
  const json = {
    approvals: rows.map((one) => ({ ...one, since: isoTime(one.since), until: isoTime(one.until) })),
    more: next !== null,
  };
  if (rows.length === 0) return { text: `No run in env ${call.env} asks for an approval.\n`, json };
  const now = call.world.wallNow();
  const short = shortIds(rows.map(({ runId }) => runId));
  const list = listText(
    rows.map((one) => ({ RUN: short(one.runId), ...recordOf(one, now) })),
    ["PROGRAM", "QUESTION"],
    call,
  );
  return { text: list + moreText(next, limit, call.paint), json };
}

function recordOf({ program, approval, ask, choices, to, since, until }: OpenApproval, now: number) {
  return {
    PROGRAM: program,
    APPROVAL: approval,
    QUESTION: `${ask ?? "(another codec)"} (${choices.join(", ")})`,
    TO: to ?? "",
    SINCE: timeAgo(since, now),
    UNTIL: until === null ? "" : timeAgo(until, now),
  };
}
