// Approvals that runs ask for: listed for the people who decide them, and decided.

import type { Codecs } from "../kernel/codec/codecs.js";
import { omit } from "../kernel/omit.js";
import type { Question, ViewPage } from "../store/contract/view/views.js";
import type { DecisionOptions } from "./run-handle.js";
import type { Runs, RunsOptions } from "./runs.js";

/** An approval that is asked for and not decided. */
export interface OpenApproval {
  /** The run that asks. */
  readonly runId: string;
  /** The name of its program. */
  readonly program: string;
  /** The name of the approval. */
  readonly approval: string;
  /** Which occurrence of this approval; in a graph, the visit of its node. */
  readonly nth: string;
  /** Null: it is stored under a codec that this process does not have. */
  readonly ask: string | null;
  /** The answers that are allowed. */
  readonly choices: readonly string[];
  /** What will be done if approved; omitted when the question says it all. */
  readonly plan?: unknown;
  /** Who should decide; null: it was not said. */
  readonly to: string | null;
  /** Identifies question and plan as they are shown; `decide` passes it on, so that a changed question is refused. */
  readonly hash: string | null;
  /** Milliseconds since 1970: when it was asked, and when it times out. */
  readonly since: number;
  /** When it times out; ms since 1970. Null: never. */
  readonly until: number | null;
}

/** Lists and decides what runs ask people. */
export interface Approvals {
  /** Newest run first. `to`: only those asked of this person or group; a page may then be shorter than its limit. */
  list(options?: {
    readonly to?: string;
    readonly limit?: number;
    readonly after?: string;
  }): Promise<ViewPage<OpenApproval>>;
  /** The first decision counts; a later one fails with DecisionConflict, one on a changed question with DecisionStale. */
  decide(
    approval: Pick<OpenApproval, "runId" | "approval" | "nth" | "hash">,
    decision: Pick<DecisionOptions, "choice" | "by" | "note" | "data">,
  ): Promise<void>;
}

const PAGE = 50;

export function approvalsIn({ store, env, codecs }: RunsOptions, runs: Runs): Approvals {
  return {
    list: async ({ to, limit = PAGE, after } = {}) => {
      const page = { env, limit, ...(after !== undefined && { after }) };
      const { rows, next } = await store.views.questions(page);
      const open = rows.map((question) => approvalOf(codecs, question));
      return { rows: open.filter((one) => to === undefined || one.to === to), next };
    },
    decide: ({ runId, approval, nth, hash }, decision) =>
      runs.run(runId).decide(approval, { ...decision, nth, ...(hash !== null && { shown: hash }) }),
  };
}

interface Asked extends Pick<OpenApproval, "ask" | "choices" | "plan" | "to" | "hash"> {
  readonly timeoutMs: number | null;
}

const UNREADABLE: Asked = { ask: null, choices: [], to: null, timeoutMs: null, hash: null };

export function approvalOf(codecs: Codecs, { runId, program, entry }: Question): OpenApproval {
  const asked = askedIn(codecs, entry.payload);
  return {
    runId,
    program,
    approval: entry.name,
    nth: entry.key ?? "1",
    ...omit(asked, "timeoutMs"),
    since: entry.at,
    until: asked.timeoutMs === null ? null : entry.at + asked.timeoutMs,
  };
}

/** What a run asks; all null under a codec that this process does not have. */
export function askedIn(codecs: Codecs, payload: Question["entry"]["payload"]): Asked {
  try {
    const { ask, choices, plan, to, hash, timeoutMs } = {
      ...UNREADABLE,
      ...(payload && (codecs.decode(payload) as Asked)),
    };
    return { ask, choices, to, hash, timeoutMs, ...(plan !== undefined && { plan }) };
  } catch {
    return UNREADABLE;
  }
}
