// Queues and limits: depth and age, which nodes serve a queue, paused by whom, and how many runs hold and wait for each limit.

import { withGaps } from "../draw/figures.js";
import { count, duration, plural } from "../draw/words.js";
import { call } from "../live/api.js";
import type { LimitRow, QueueRow } from "../live/model.js";
import { RUN_STATES } from "../live/model.js";
import { href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import type { PageProps } from "../pages.js";
import { lazyPart } from "../part/lazy.js";
import { Slots } from "../part/meter.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { State } from "../part/state.js";
import { PageHead } from "../part/tabs.js";
import { Age } from "../part/time.js";
import { saidBy, Verb } from "../part/verb.js";

const Chart = lazyPart(() => import("../part/chart.js"));

export default function QueuesPage({ params }: PageProps) {
  const queues = useRoute("queues.list", {}, { everyMs: 5_000 });
  const name = params["queue"];
  if (name !== undefined) {
    return (
      <>
        <PageHead title={name} back={{ to: "/queues", label: "Queues" }} />
        <Show of={queues}>
          {({ rows }) => (
            <OneQueue row={rows.find(({ queue }) => queue === name) ?? null} name={name} then={queues.reload} />
          )}
        </Show>
      </>
    );
  }
  return (
    <>
      <PageHead title="Queues & limits" />
      <Panel title="Queues">
        <Show
          of={queues}
          empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No queue has live runs." /> }}
        >
          {({ rows }) => (
            <Rows
              rows={rows}
              columns={columnsWith(queues.reload)}
              id={({ queue }) => queue}
              to={({ queue }) => `/queues/${encodeURIComponent(queue)}`}
            />
          )}
        </Show>
      </Panel>
      <Limits />
    </>
  );
}

function columnsWith(reload: () => void): readonly Column<QueueRow>[] {
  const n = (state: "waiting" | "running" | "parked" | "held") => ({
    title: `${state[0]?.toUpperCase()}${state.slice(1)}`,
    class: "right num",
    cell: ({ counts }: QueueRow) => count(counts[state] ?? 0),
  });
  return [
    {
      title: "Queue",
      cell: ({ queue }) => (
        <strong>
          <a href={href(`/queues/${encodeURIComponent(queue)}`)}>{queue}</a>
        </strong>
      ),
    },
    n("waiting"),
    n("running"),
    n("parked"),
    n("held"),
    {
      title: "Oldest",
      class: "right num",
      cell: ({ oldestWaitingMs }) => (oldestWaitingMs === null ? "–" : duration(oldestWaitingMs)),
    },
    {
      title: "Slots",
      cell: ({ counts, slots }) => <Slots busy={Math.min(counts.running ?? 0, slots)} slots={slots} />,
    },
    { title: "Served by", cell: (queue) => <ServedBy queue={queue} /> },
    { title: "", class: "fit", cell: (queue) => <PauseVerb queue={queue} then={reload} /> },
  ];
}

function ServedBy({ queue: { servedBy, paused } }: { readonly queue: QueueRow }) {
  if (paused !== null)
    return (
      <span class="badge is-warn">
        paused by {paused.by}, <Age at={paused.at} suffix=" ago" />
      </span>
    );
  return servedBy.length === 0 ? <span class="badge is-bad">no node</span> : <span>{servedBy.join(", ")}</span>;
}

function PauseVerb({ queue, then }: { readonly queue: QueueRow; readonly then: () => void }) {
  const { queue: name, paused } = queue;
  if (paused !== null) {
    return (
      <Verb question={null} act={async () => saidBy(await call("queues.resume", { queue: name }))} then={then}>
        Resume
      </Verb>
    );
  }
  return (
    <Verb
      question={{
        title: `Pause the queue ${name}?`,
        effect: "No node claims from it. Runs that are running continue, new ones wait.",
        confirm: "Pause",
      }}
      act={async ({ note }) => saidBy(await call("queues.pause", { queue: name, ...(note && { note }) }))}
      then={then}
    >
      Pause
    </Verb>
  );
}

function OneQueue({
  row,
  name,
  then,
}: {
  readonly row: QueueRow | null;
  readonly name: string;
  readonly then: () => void;
}) {
  const scale = useRoute("scale.get", { queue: name }, { everyMs: 10_000 });
  if (row === null)
    return (
      <Panel label={name}>
        <Empty title="This queue has no live runs and is not paused." />
      </Panel>
    );
  return (
    <>
      <QueueCharts name={name} />
      <div class="columns">
        <Panel title="Now" actions={<PauseVerb queue={row} then={then} />}>
          <ul class="bar-list">
            {RUN_STATES.filter((state) => row.counts[state] !== undefined).map((state) => (
              <li key={state} class="slot-line">
                <a href={href(`/runs?queue=${encodeURIComponent(name)}&state=${state}`)}>
                  <State state={state} />
                </a>
                <strong class="num">{count(row.counts[state] ?? 0)}</strong>
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Service">
          <dl class="facts panel-body">
            <dt>Oldest waiting</dt>
            <dd class="num">{row.oldestWaitingMs === null ? "–" : duration(row.oldestWaitingMs)}</dd>
            <dt>Served by</dt>
            <dd>
              <ServedBy queue={row} />
            </dd>
            <dt>Slots</dt>
            <dd>
              <Slots busy={Math.min(row.counts.running ?? 0, row.slots)} slots={row.slots} />
            </dd>
            {scale.data !== null && (
              <>
                <dt>Nodes that the work would fill</dt>
                <dd>
                  {scale.data.wantedNodes}{" "}
                  <span class="muted">· {plural(scale.data.nodes, "node serves", "nodes serve")} it now</span>
                </dd>
              </>
            )}
          </dl>
        </Panel>
      </div>
    </>
  );
}

/** The last hour, as the statistics keeper sampled it. */
function QueueCharts({ name }: { readonly name: string }) {
  const figures = useRoute("figures.list", { range: "1h", queue: name }, { everyMs: 10_000 });
  const rows = withGaps(figures.data?.figures ?? [], figures.data?.stepSeconds ?? 10);
  if (rows.length === 0) return null;
  const at = rows.map((one) => Date.parse(one.at) / 1_000);
  return (
    <div class="columns">
      <Panel title="Depth">
        <Chart
          title="Depth"
          at={at}
          marks={[]}
          unit={count}
          lines={[
            { label: "waiting", values: rows.map(({ waiting }) => waiting ?? null), colour: "--amber", fill: true },
            { label: "running", values: rows.map(({ running }) => running ?? null), colour: "--blue" },
          ]}
        />
      </Panel>
      <Panel title="Oldest waiting">
        <Chart
          title="Oldest waiting"
          at={at}
          marks={[]}
          unit={(seconds) => duration(seconds * 1_000)}
          lines={[
            {
              label: "oldest",
              values: rows.map(({ oldestMs }) => (oldestMs ? oldestMs / 1_000 : null)),
              colour: "--amber",
              fill: true,
            },
          ]}
        />
      </Panel>
    </div>
  );
}

const LIMITS: readonly Column<LimitRow>[] = [
  { title: "Limit and key", cell: ({ key }) => <span class="mono">{key}</span> },
  { title: "Runs that hold it", class: "right num", cell: ({ granted }) => count(granted) },
  { title: "Runs that wait for it", class: "right num", cell: ({ waiting }) => count(waiting) },
];

function Limits() {
  const limits = useRoute("limits.list", { limit: 100 }, { everyMs: 10_000 });
  return (
    <Panel title="Limits">
      <Show
        of={limits}
        empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No run holds or waits for a limit." /> }}
      >
        {({ rows }) => <Rows rows={rows} columns={LIMITS} id={({ key }) => key} />}
      </Show>
    </Panel>
  );
}
