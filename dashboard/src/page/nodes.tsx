// Nodes: every live and silent one with mode, build, slots and what it holds; takeovers below.

import { Fragment } from "preact";
import { holderName } from "../draw/owner-lane.js";
import { bytes, plural } from "../draw/words.js";
import { shortId } from "../live/address.js";
import { devNode, isDevNode } from "../live/dev.js";
import type { NodeRow, Takeover } from "../live/model.js";
import { href } from "../live/router.js";
import { useLive } from "../live/stream.js";
import { useRoute } from "../live/use-route.js";
import { Slots } from "../part/meter.js";
import { DevVerbs, DrainVerb, ModeVerb, RestartVerb } from "../part/node-verbs.js";
import { Owner } from "../part/owner.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age, Instant } from "../part/time.js";

export default function NodesPage() {
  const nodes = useRoute("nodes.list", {}, { everyMs: 5_000 });
  useLive(["nodes"], (patch) => patch.kind === "nodes" && nodes.change(() => ({ rows: patch.rows })));
  const rows = nodes.data?.rows ?? [];
  const alive = rows.filter((node) => node.alive).length;
  return (
    <>
      <PageHead title="Nodes">
        {nodes.data !== null && (
          <span class="muted">
            {alive} alive · {rows.length - alive} silent
          </span>
        )}
      </PageHead>
      <Panel label="Nodes">
        <Show of={nodes} empty={{ when: (data) => data.rows.length === 0, show: <NoNodes /> }}>
          {(data) => (
            <Rows
              rows={[...data.rows].sort(byName)}
              columns={columnsWith(data.rows, nodes.reload)}
              id={(node) => node.incarnation}
              to={(node) => `/nodes/${node.incarnation}`}
            />
          )}
        </Show>
      </Panel>
      <Takeovers />
    </>
  );
}

/** Live ones first. */
function byName(a: NodeRow, b: NodeRow): number {
  return Number(b.alive) - Number(a.alive) || a.name.localeCompare(b.name) || b.startedAt.localeCompare(a.startedAt);
}

function NoNodes() {
  return (
    <Empty title="No node is registered. Start one:">
      <pre>{`import { createNode } from "holdfast";\nawait createNode({ store, programs: [order] }).start();`}</pre>
    </Empty>
  );
}

function columnsWith(rows: readonly NodeRow[], reload: () => void): readonly Column<NodeRow>[] {
  const vitals: Column<NodeRow> = {
    title: "Loop p99, memory",
    class: "right num wrap",
    cell: (node) => <Vitals node={node} />,
  };
  return [
    {
      title: "Node",
      cell: (node) => (
        <strong>
          <Owner holder={node} />
        </strong>
      ),
    },
    { title: "State", cell: (node) => <NodeState node={node} /> },
    { title: "Mode", cell: (node) => <Mode node={node} /> },
    {
      title: "Build",
      cell: ({ build }) => (
        <span class="build cut" title={build ?? undefined}>
          {build ?? "–"}
        </span>
      ),
    },
    {
      title: "Slots",
      cell: (node) => (
        <div class="slot-lines">
          {node.executors.map(({ name, slots }) => (
            <Fragment key={name}>
              <span class="muted">{name}</span>
              <Slots busy={busyOf(node, name)} slots={slots} />
            </Fragment>
          ))}
        </div>
      ),
    },
    { title: "Holds", class: "right num", cell: (node) => node.holds },
    ...(rows.some((node) => node.vitals) ? [vitals] : []),
    { title: "Seen", class: "right", cell: (node) => <Age at={node.seenAt} suffix=" ago" /> },
    { title: "", class: "fit", cell: (node) => <NodeVerbs node={node} reload={reload} /> },
  ];
}

function NodeVerbs({ node, reload }: { readonly node: NodeRow; readonly reload: () => void }) {
  if (!node.alive) return isDevNode(node) ? <RestartVerb node={node} then={reload} /> : null;
  return (
    <span class="verbs">
      <ModeVerb node={node} then={reload} />
      <DrainVerb node={node} then={reload} />
      {isDevNode(node) && <DevVerbs node={node} then={reload} />}
    </span>
  );
}

export function Vitals({ node: { vitals, alive } }: { readonly node: NodeRow }) {
  if (vitals === null || !alive) return <>–</>;
  return (
    <>
      <span class="whole">{Math.round(vitals.loopP99Ms)} ms,</span> <span class="whole">{bytes(vitals.rssBytes)}</span>
    </>
  );
}

/** What a node holds is known at once, and how it is divided among several executors a few seconds later. */
export function busyOf({ executors, holds, vitals }: NodeRow, executor: string): number {
  const [first] = executors;
  if (executors.length === 1 || vitals === null) return first?.name === executor ? Math.min(holds, first.slots) : 0;
  return vitals.busy[executor] ?? 0;
}

export function NodeState({ node }: { readonly node: NodeRow }) {
  const [word, tone] =
    devNode(node)?.state === "frozen"
      ? ["frozen", "is-note"]
      : node.stoppedAt !== null
        ? ["stopped", ""]
        : !node.alive
          ? ["silent", "is-warn"]
          : node.drain !== null
            ? ["draining", "is-note"]
            : ["alive", "is-good"];
  return <span class={`badge ${tone}`}>{word}</span>;
}

export function Mode({ node }: { readonly node: NodeRow }) {
  const overrides = Object.entries(node.overrides);
  return (
    <>
      {node.mode}
      {overrides.length > 0 && (
        <div class="muted">{overrides.map(([program, mode]) => `${program}: ${mode}`).join(", ")}</div>
      )}
    </>
  );
}

const TAKEOVER_COLUMNS: readonly Column<Takeover>[] = [
  { title: "When (UTC)", cell: ({ at }) => <Instant at={at} fraction /> },
  {
    title: "Run",
    cell: ({ runId, program }) => (
      <a href={href(`/runs/${runId}`)}>
        {program} <span class="mono">{shortId(runId)}</span>
      </a>
    ),
  },
  { title: "Lost by", cell: ({ from }) => <Owner holder={from} /> },
  { title: "Reclaimed by", cell: ({ by }) => (by === null ? "a caller" : <Owner holder={by} />) },
  { title: "Claim", class: "num", cell: ({ epoch }) => `${epoch} → ${epoch + 1}` },
  { title: "Then", cell: ({ outcome }) => (outcome === "waiting" ? "continued" : outcome) },
];

function Takeovers() {
  const takeovers = useRoute("takeovers.list", { limit: 50 }, { everyMs: 5_000 });
  const n = takeovers.data?.rows.length ?? 0;
  const lost = new Set(takeovers.data?.rows.map(({ from }) => holderName(from)));
  return (
    <Panel
      title="Takeovers"
      actions={
        n > 0 && (
          <span class="muted">
            {plural(n, "claim")} of {plural(lost.size, "node")}
          </span>
        )
      }
    >
      <Show
        of={takeovers}
        empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No claim was ever reclaimed." /> }}
      >
        {({ rows }) => (
          <Rows
            rows={rows}
            columns={TAKEOVER_COLUMNS}
            id={({ runId, epoch }) => `${runId} ${epoch}`}
            to={({ runId }) => `/runs/${runId}`}
          />
        )}
      </Show>
    </Panel>
  );
}
