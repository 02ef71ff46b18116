// Which approvals a journal has asked for and nobody has decided.

import type { JournalEntry } from "../store/contract/journal.js";
import { approvalKey } from "../workflow/approval-call.js";
import { decode } from "./payload-text.js";

export interface OpenApproval {
  readonly name: string;
  /** Which time this name is asked for. */
  readonly nth: number;
  readonly ask: string;
  readonly choices: readonly string[];
  readonly to: string | null;
  readonly deadline: number | null;
}

export function openApprovals(entries: readonly JournalEntry[]): OpenApproval[] {
  const taken = new Set(entries.filter(({ kind }) => kind === "take").map(({ key }) => key));
  return entries
    .filter(({ kind, name, key }) => kind === "approval.begun" && !taken.has(approvalKey(name, key ?? "")))
    .map(({ name, key, at, payload }) => {
      const decoded = payload && decode(payload);
      const asked = decoded && "value" in decoded ? (decoded.value as Partial<Asked> | null) : null;
      const { ask = "", choices = [], to = null, timeoutMs = null } = asked ?? {};
      return { name, nth: Number(key), ask, choices, to, deadline: timeoutMs === null ? null : at + timeoutMs };
    });
}

interface Asked {
  readonly ask: string;
  readonly choices: readonly string[];
  readonly to: string | null;
  readonly timeoutMs: number | null;
}
