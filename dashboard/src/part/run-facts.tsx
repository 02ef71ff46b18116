// The row of a run as facts, and its claims as a table.

import type { ComponentChildren } from "preact";
import type { Claim, RunDetail } from "../live/model.js";
import { href } from "../live/router.js";
import { Owner } from "./owner.js";
import { Panel } from "./panel.js";
import { Instant } from "./time.js";

export function RunFacts({ run, claims }: { readonly run: RunDetail; readonly claims: readonly Claim[] }) {
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    ["Id", <span class="mono">{run.id}</span>],
    ["Program", <a href={href(`/programs/${encodeURIComponent(run.program)}`)}>{run.program}</a>],
    ["Queue", <a href={href(`/queues/${encodeURIComponent(run.queue)}`)}>{run.queue}</a>],
    ["Key", run.key ?? "–"],
    ["Env, stack", `${run.env}${run.stack === null ? "" : `, ${run.stack}`}`],
    ["Version", run.version ?? "–"],
    ["Priority", run.priority],
    ["Created", <Instant at={run.createdAt} fraction />],
    ["Ended", run.endedAt === null ? "–" : <Instant at={run.endedAt} fraction />],
    ["Generation", `${run.generation}, entries ${run.baseSeq + 1} to ${run.seq}`],
    ["Claims", `${run.epoch}, ${run.recoveries} of them reclaimed`],
    ["Failed attempts", `${run.failures}, crashes ${run.crashes} of ${run.crashLimit}`],
    ["Parent", run.parentId === null ? "–" : <a href={href(`/runs/${run.parentId}`)}>{run.parentId}</a>],
    ...(run.waitsFor === null ? [] : [["Waits for limit", run.waitsFor] as const]),
    ...(run.deferred === null ? [] : [["Deferred by", run.deferred.by] as const]),
    ...(run.misfit === null ? [] : [["Builds that do not fit", run.misfit.builds.join(", ")] as const]),
  ];
  return (
    <>
      <Panel label="Facts">
        <dl class="facts panel-body">
          {facts.map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      </Panel>
      <Panel title="Claims">
        <div class="table-box">
          <table class="cards">
            <thead>
              <tr>
                <th class="right">Claim</th>
                <th>Holder</th>
                <th>First entry</th>
                <th>Last entry</th>
                <th class="right">Entries</th>
                <th>Ended</th>
                <th class="right">Late writes refused</th>
              </tr>
            </thead>
            <tbody>
              {claims.map((claim) => (
                <ClaimRow key={claim.epoch} claim={claim} />
              ))}
            </tbody>
          </table>
        </div>
      </Panel>
    </>
  );
}

function ClaimRow({ claim }: { readonly claim: Claim }) {
  const by = claim.reclaimed?.by ?? null;
  return (
    <tr>
      <td class="right num" data-label="Claim">
        {claim.epoch}
      </td>
      <td data-label="Holder">
        <Owner holder={claim.holder} />
      </td>
      <td data-label="First entry">{claim.from === null ? "–" : <Instant at={claim.from} fraction />}</td>
      <td data-label="Last entry">{claim.to === null ? "–" : <Instant at={claim.to} fraction />}</td>
      <td class="right num" data-label="Entries">
        {claim.entries}
      </td>
      <td data-label="Ended">
        {claim.ended}
        {claim.reclaimed !== null && (
          <>
            {" "}
            <Instant at={claim.reclaimed.at} fraction />{" "}
            {by !== null && (
              <>
                by <Owner holder={by} plain />
              </>
            )}
          </>
        )}
      </td>
      <td class="right num" data-label="Late writes refused">
        {claim.reclaimed?.refused ?? 0}
      </td>
    </tr>
  );
}
