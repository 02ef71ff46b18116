// Removes what the store's retention no longer keeps: ended runs and instances, keys that outlived their runs, old audit and claims.

import { isEnded } from "../../kernel/run/run-state.js";
import { type Retention, runAges } from "../../kernel/setting/retention.js";
import { type Cleaned, type CleanRound, type RetainedPart, SHORTEST_AUDIT_MS } from "../contract/cleanup.js";
import { PROBE_GRACE_MS } from "../contract/limit/breakers.js";
import { pruneInstances } from "./machine/machines.js";
import { byEnd, forgetProbes, removeRuns } from "./run/retain-runs.js";
import { toUs } from "./table/micros.js";
import { compareText } from "./table/names.js";
import type { RunRow } from "./table/rows.js";
import type { Tables } from "./table/tables.js";

/** Without `keepMs`, the store's own settings decide. */
export function cleanRetained(
  tables: Tables,
  round: CleanRound & { readonly part: RetainedPart },
  retention: Retention,
): Cleaned {
  const { limit } = round;
  const removed = PARTS[round.part](tables, round, retention);
  return { removed, more: removed >= limit };
}

type Part = (tables: Tables, round: CleanRound, retention: Retention) => number;

const PARTS: Readonly<Record<RetainedPart, Part>> = {
  runs: cleanRuns,
  keys: cleanKeys,
  claims: cleanClaims,
  audit: cleanAudit,
  instances: (tables, { env, limit, keepMs }, { instances }) => {
    const endedBeforeMs = keepMs ?? instances;
    return endedBeforeMs === null ? 0 : pruneInstances(tables, { env, endedBeforeMs, limit });
  },
};

/** A child goes after its parent, because a parent that is kept may be retried and ask for it again. */
function cleanRuns(tables: Tables, { env, keepMs, limit }: CleanRound, retention: Retention): number {
  const nowUs = tables.nowUs();
  const ages = runAges(retention);
  if (keepMs === undefined && Object.values(ages).every((age) => age === null)) return 0;
  const isOld = ({ state, endedAtUs }: RunRow) => {
    const ageMs = isEnded(state) ? (keepMs ?? ages[state]) : null;
    return ageMs !== null && endedAtUs !== null && endedAtUs <= nowUs - toUs(ageMs);
  };
  const old = [...tables.runs.values()]
    .filter((row): row is RunRow & { endedAtUs: number } => row.group.env === env && isOld(row))
    .filter(({ parentId }) => parentId === null || !tables.runs.has(parentId))
    .sort(byEnd)
    .slice(0, limit);
  removeRuns(tables, old);
  forgetProbes(tables, { env, limit, olderMs: PROBE_GRACE_MS });
  return old.length;
}

function cleanKeys(tables: Tables, { env, keepMs = 0, limit }: CleanRound): number {
  const untilUs = tables.nowUs() - toUs(keepMs);
  const isOver = (row: { env: string; lifetime: string; untilUs: number | null }) =>
    row.env === env && row.lifetime === "timed" && row.untilUs! <= untilUs;
  const old = [...tables.keys].filter(([, row]) => isOver(row)).slice(0, limit);
  for (const [at] of old) tables.keys.delete(at);
  return old.length;
}

/** The last one of a run is kept: the next one counts from it. */
function cleanClaims(tables: Tables, { env, keepMs, limit }: CleanRound, retention: Retention): number {
  const ageMs = keepMs ?? retention.claims;
  if (ageMs === null) return 0;
  const untilUs = tables.nowUs() - toUs(ageMs);
  let removed = 0;
  for (const [runId, taken] of tables.takenClaims) {
    if (tables.runs.get(runId)?.group.env !== env) continue;
    const last = Math.max(...taken.map(({ epoch }) => epoch));
    const old = taken.filter(({ atUs, epoch }) => atUs <= untilUs && epoch < last).slice(0, limit - removed);
    const kept = taken.filter((one) => !old.includes(one));
    if (old.length > 0) tables.takenClaims.set(runId, kept);
    removed += old.length;
  }
  return removed;
}

function cleanAudit(tables: Tables, { env, keepMs, limit }: CleanRound, retention: Retention): number {
  const ageMs = keepMs === undefined ? retention.audit : Math.max(keepMs, SHORTEST_AUDIT_MS);
  if (ageMs === null) return 0;
  const untilUs = tables.nowUs() - toUs(ageMs);
  const old = [...tables.audit.values()]
    .filter((row) => row.env === env && row.atUs <= untilUs)
    .sort((a, b) => compareText(a.id, b.id))
    .slice(0, limit);
  for (const { id } of old) tables.audit.delete(id);
  return old.length;
}
