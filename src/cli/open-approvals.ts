// Finds the approvals in a journal that are asked for and not decided.

import { waitKey } from "../replay/recorded.js";
import type { JournalEntry } from "../store/contract/journal/journal.js";
import { decode } from "./text/payload-text.js";

export interface OpenApproval {
  readonly name: string;
  /** Which occurrence of this name. */
  readonly nth: string;
  readonly ask: string;
  /** What will be done if approved; undefined when the question says it all. */
  readonly plan: unknown;
  readonly choices: readonly string[];
  readonly to: string | null;
  readonly deadline: number | null;
  /** Hash of what is shown; a decision carries it to prove what the person saw. */
  readonly hash: string;
}

export function openApprovals(entries: readonly JournalEntry[]): OpenApproval[] {
  const baseSeq = (entries[0]?.seq ?? 1) - 1;
  const taken = new Set(entries.filter(({ kind }) => kind === "take").map(({ key }) => key));
  // A rewind leaves the approvals the run was waiting for.
  const rewound = entries.findLastIndex(({ kind, payload }) => kind === "retried" && payload !== null);
  return entries
    .slice(rewound + 1)
    .filter(({ kind, name, key }) => kind === "approval.begun" && !taken.has(waitKey(name, key ?? "", baseSeq)))
    .map(({ name, key, at, payload }) => {
      const decoded = payload && decode(payload);
      const asked = decoded && "value" in decoded ? (decoded.value as Partial<Asked> | null) : null;
      const { ask = "", plan, choices = [], to = null, timeoutMs = null, hash = "" } = asked ?? {};
      const deadline = timeoutMs === null ? null : at + timeoutMs;
      return { name, nth: key ?? "", ask, plan, choices, to, deadline, hash };
    });
}

type Asked = Omit<OpenApproval, "name" | "nth" | "deadline"> & { readonly timeoutMs: number | null };
