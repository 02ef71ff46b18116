// The audit row of the change that is under way: every operation that is called inside the change finds it here.

import { AsyncLocalStorage } from "node:async_hooks";
import type { NewAuditRow } from "./contract/audit/audit.js";

export interface AuditedCall {
  readonly row: NewAuditRow;
  /** A statement that also writes the row has succeeded. */
  written: boolean;
}

const calls = new AsyncLocalStorage<AuditedCall>();
let underWay = 0;

/** Switched off while no change is under way: Node 20 and 22 pay for such a context with every promise of the process. */
export async function inAuditedCall<Answer>(call: AuditedCall, change: () => Promise<Answer>): Promise<Answer> {
  underWay++;
  try {
    return await calls.run(call, change);
  } finally {
    if (--underWay === 0) calls.disable();
  }
}

/** Null: no change is under way that has an audit row, or the row is written. */
export function auditedCall(): AuditedCall | null {
  const call = calls.getStore();
  return call && !call.written ? call : null;
}
