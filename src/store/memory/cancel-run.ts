// Cancels a run: at once, unless somebody holds it; then its holder finds the request in the inbox.

import { nodeName } from "../../kernel/name.js";
import { isEnded } from "../../kernel/run-state.js";
import { checkName, checkText, optional } from "../check/value.js";
import type { CancelAnswer } from "../contract/runs.js";
import { admitRuns } from "./admit-runs.js";
import { appendEntry } from "./append-entry.js";
import { findMessage, ringRun, storeMessage } from "./deliver-message.js";
import { endRun, tellParents } from "./end-run.js";
import { jsonPayload } from "./payload.js";
import type { RunRow } from "./rows.js";
import type { Tables } from "./tables.js";

export function cancelRun(
  tables: Tables,
  runId: string,
  options: { readonly by: string; readonly reason?: string },
  onAdmitted: (runs: readonly RunRow[]) => void,
): CancelAnswer {
  const { by, reason = null } = options;
  const error = checkName(nodeName, "by", by) ?? optional(checkText)("reason", reason);
  if (error) throw error;
  const row = tables.runs.get(runId);
  if (!row) return { outcome: "unknown" };
  // Cancelling again is the same call repeated: it finds its effect.
  if (row.state === "cancelled") return { outcome: "cancelled" };
  if (isEnded(row.state)) return { outcome: "ended", state: row.state };
  const nowUs = tables.nowUs();
  const payload = jsonPayload({ by, reason });
  if (row.state === "running") {
    if (findMessage(tables, runId, "cancel")) return { outcome: "requested" };
    const request = {
      runId,
      key: "cancel",
      messageId: runId,
      kind: "cancel",
      name: "cancel",
      payload,
      sender: by,
    } as const;
    storeMessage(tables, request, nowUs);
    ringRun(tables, row, nowUs);
    return { outcome: "requested" };
  }
  endRun(tables, row, "cancelled", nowUs);
  appendEntry(tables, row, { kind: "cancelled", name: "", key: null, payload }, nowUs);
  tellParents(tables, [row], nowUs);
  if (row.limited) onAdmitted(admitRuns(tables, { runIds: [runId] }));
  return { outcome: "cancelled" };
}
