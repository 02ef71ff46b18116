// What a node process of a development cluster reports to the process that started it.

import type { AppProblem } from "../admin/supervisor.js";

interface OfRun {
  readonly runId: string;
}

export type NodeReport =
  | { readonly is: "ready"; readonly incarnation: string }
  /** The code could not be loaded, or the node could not start. */
  | { readonly is: "broken"; readonly problem: AppProblem }
  | (OfRun & { readonly is: "claimed"; readonly program: string; readonly epoch: number; readonly parent: boolean })
  | (OfRun & { readonly is: "step"; readonly step: string; readonly as: "begun" | "done" | "retried" | "failed" })
  | (OfRun & { readonly is: "settled"; readonly as: string; readonly error: string | null })
  /** Its claim is another node's: what it wrote late was refused. */
  | (OfRun & { readonly is: "lost"; readonly epoch: number })
  /** It found the run's holder gone, or its lease expired. */
  | (OfRun & { readonly is: "reclaimed"; readonly from: string; readonly expiredForMs: number });

export const REPORT_KINDS: readonly string[] = ["ready", "broken", "claimed", "step", "settled", "lost", "reclaimed"];

export function isReport(message: unknown): message is NodeReport {
  const is = (message as { readonly is?: unknown } | null)?.is;
  return typeof is === "string" && REPORT_KINDS.includes(is);
}
