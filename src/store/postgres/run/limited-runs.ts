// The limits, deferrals and attributes of new runs, which few have: part of the statement that inserts them.

import type { NewRun } from "../../../kernel/run/new-run.js";
import type { Dialect } from "../connection/dialect.js";
import { interval } from "../connection/instant.js";
import { bool, type Columns, type HasColumns, oneOf } from "../connection/rowset.js";
import { isLimited, LIMITS, limitColumns } from "../limit/limit-columns.js";
import { DEFERRALS, deferralColumns, intoDeferred, isDeferred } from "./deferred-runs.js";
import { ATTRIBUTES, attributeColumns, hasAttributes, intoAttributes } from "./run-attributes.js";

export const LIMITED = { limited: bool(({ run }) => isLimited(run)) } satisfies Columns<{ readonly run: NewRun }>;

/** Only for runs that this statement inserted (`r`): a place in line without a held run would belong to no run. */
const intoLimits = ({ schema: s }: Dialect, runs: LimitedParameters) => `
  insert into ${s}.run_limits (run_id, stage, key, kind, max, per_ms, overflow, state, priority, available_at)
  select ${runs.at("id", "l.run")}, l.stage, l.key, l.kind, l.max, l.per_ms, l.overflow,
    case l.stage when 1 then 'waits' else 'later' end, case l.kind when 'serial' then 0 else ${runs.at("priority", "l.run")} end,
    t.now + ${interval(`${runs.at("delay_ms", "l.run")} + ${runs.at("position", "l.run")} * 0.001`)}
  from ${LIMITS.from(runs.next).as("l")}, t
  where ${oneOf(runs.at("id", "l.run"), "select id from r")}`;

type LimitedParameters = HasColumns<"id" | "claim_group" | "priority" | "delay_ms" | "position">;

/** Limits, deferrals and attributes, which few runs have, each in a table of its own. Their parameters follow those of the runs. */
export const limitParts = (d: Dialect, runs: LimitedParameters) => {
  const deferrals = LIMITS.from(runs.next).next;
  return `, l as (${intoLimits(d, runs)}
), f as (${intoDeferred(d, runs, deferrals)}
), a as (${intoAttributes(d, runs, DEFERRALS.from(deferrals).next)}
)`;
};

/** The first parameter after those of `limitParts`. */
export const afterLimitParts = (runs: { readonly next: number }) =>
  ATTRIBUTES.from(DEFERRALS.from(LIMITS.from(runs.next).next).next).next;

export const hasMore = (run: NewRun) => isLimited(run) || isDeferred(run) || hasAttributes(run);

/** The parameters of `limitParts`. */
export function limitColumnsOf(runs: readonly NewRun[]): unknown[] {
  return [...limitColumns(runs), ...deferralColumns(runs), ...attributeColumns(runs)];
}
