// One node: what it is, what it holds with the lease that is left, what it serves, and its mode for each program.

import { doing } from "../draw/doing.js";
import { ownerStripe } from "../draw/owner-stripe.js";
import { duration } from "../draw/words.js";
import { shortId } from "../live/address.js";
import { now } from "../live/clock.js";
import { isDevNode } from "../live/dev.js";
import type { NodeDetail, NodeRow, RunRow } from "../live/model.js";
import { href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import type { PageProps } from "../pages.js";
import { Slots } from "../part/meter.js";
import { DevVerbs, DrainVerb, ModeVerb, OverrideVerb, RestartVerb } from "../part/node-verbs.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age, Instant, Until } from "../part/time.js";
import { busyOf, Mode, NodeState, Vitals } from "./nodes.js";

export default function NodePage({ params }: PageProps) {
  const node = useRoute("nodes.get", { node: params["node"] as string }, { everyMs: 3_000 });
  return <Show of={node}>{(data) => <WholeNode node={data} then={node.reload} />}</Show>;
}

const HELD: readonly Column<RunRow>[] = [
  {
    title: "Run",
    cell: (run) => (
      <a href={href(`/runs/${run.id}`)}>
        {run.program} <span class="mono">{run.key ?? shortId(run.id)}</span>
      </a>
    ),
  },
  { title: "Claim", class: "num", cell: ({ epoch }) => epoch },
  {
    title: "Lease left",
    cell: ({ leaseUntil }) => (leaseUntil === null ? "–" : <Until at={leaseUntil} late="over" />),
  },
  { title: "Now", cell: (run) => doing(run, now()) },
];

function WholeNode({ node, then }: { readonly node: NodeDetail; readonly then: () => void }) {
  return (
    <>
      <PageHead
        back={{ to: "/nodes", label: "Nodes" }}
        title={
          <span class="owner">
            <span class={`stripe own-${ownerStripe(node.name)}`} />
            {node.name} <NodeState node={node} />
          </span>
        }
      >
        {node.alive && (
          <>
            <ModeVerb node={node} then={then} />
            <OverrideVerb node={node} then={then} />
            <DrainVerb node={node} then={then} />
            {isDevNode(node) && <DevVerbs node={node} then={then} />}
          </>
        )}
        {isDevNode(node) && <RestartVerb node={node} then={then} />}
      </PageHead>
      <div class="columns">
        <Panel title="Facts">
          <Facts node={node} />
        </Panel>
        <Panel title="Serves">
          <ul class="panel-body tags">
            {[...new Set(node.serves.map(({ program }) => program))].map((program) => (
              <li key={program}>
                <a class="badge" href={href(`/programs/${encodeURIComponent(program)}`)}>
                  {program}
                </a>{" "}
                {node.claims.some((group) => group.program === program) ? (
                  ""
                ) : (
                  <span class="muted">does not claim</span>
                )}
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      <Panel title="Holds">
        {node.held.length === 0 ? (
          <Empty title="It holds no run." />
        ) : (
          <Rows
            rows={node.held as readonly RunRow[]}
            columns={HELD}
            id={({ id }) => id}
            to={({ id }) => `/runs/${id}`}
          />
        )}
      </Panel>
    </>
  );
}

const lengthOf = (ms: number | null) => (ms === null ? "–" : duration(ms).replace(".0 s", " s"));

function Facts({ node }: { readonly node: NodeRow }) {
  return (
    <dl class="facts panel-body">
      <dt>Incarnation</dt>
      <dd class="mono">{node.incarnation}</dd>
      <dt>Identity</dt>
      <dd>{node.identity}</dd>
      <dt>Mode</dt>
      <dd>
        <Mode node={node} />
      </dd>
      <dt>Build</dt>
      <dd>{node.build ?? "–"}</dd>
      <dt>Stack</dt>
      <dd>{node.stack ?? "–"}</dd>
      <dt>Started</dt>
      <dd>
        <Instant at={node.startedAt} />
      </dd>
      <dt>Last seen</dt>
      <dd>
        <Age at={node.seenAt} suffix=" ago" />
      </dd>
      <dt>Lease, heartbeat</dt>
      <dd>
        {lengthOf(node.leaseMs)}, every {lengthOf(node.heartbeatMs)}
      </dd>
      <dt>Loop p99, memory</dt>
      <dd class="num">
        <Vitals node={node} />
      </dd>
      <dt>Executors</dt>
      <dd>
        {node.executors.map(({ name, slots, queues }) => (
          <div key={name}>
            <span class="slot-line">
              {name} <Slots busy={busyOf(node, name)} slots={slots} />
            </span>{" "}
            <span class="muted">
              {queues.length === 1 ? "queue" : "queues"} {queues.join(", ")}
            </span>
          </div>
        ))}
      </dd>
    </dl>
  );
}
