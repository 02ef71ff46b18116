// Overview: is work getting done, is anything stuck, who has it.

import { attentionLink, severityOf } from "../draw/attention.js";
import { marksOf, seriesOf, summaryOf } from "../draw/figures.js";
import { cappedCount, clockTime, count, duration, rate, share } from "../draw/words.js";
import type { Attention, OutputOf, Overview, QueueRow } from "../live/model.js";
import { address, href, setQuery } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { lazyPart } from "../part/lazy.js";
import { Slots } from "../part/meter.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age } from "../part/time.js";

const Chart = lazyPart(() => import("../part/chart.js"));
const RANGES = ["1h", "24h", "7d"] as const;
type Range = (typeof RANGES)[number];

export default function OverviewPage() {
  const { range: asked, program } = address.value.query;
  const range: Range = RANGES.find((one) => one === asked) ?? "1h";
  const overview = useRoute("overview.get", {}, { everyMs: 5_000 });
  const figures = useRoute("figures.list", { range, ...(program && { program }) }, { everyMs: 10_000 });
  const at = figures.data?.at ?? null;
  return (
    <>
      <PageHead title="Overview">
        {at !== null && <span class="muted num">figures of {clockTime(Date.parse(at))} UTC</span>}
        <ProgramChoice program={program ?? ""} />
        <span class="segments" role="group" aria-label="Range">
          {RANGES.map((one) => (
            <button
              key={one}
              type="button"
              class="button"
              aria-pressed={one === range}
              onClick={() => setQuery({ range: one === "1h" ? null : one })}
            >
              {one}
            </button>
          ))}
        </span>
      </PageHead>
      <Show of={figures}>{(data) => <Charts data={data} />}</Show>
      <Show of={overview}>{(data) => <NeedsAttention attention={data.attention} />}</Show>
      {figures.data !== null && <ByProgram rows={figures.data.programs} range={range} />}
      {overview.data !== null && <Now overview={overview.data} />}
    </>
  );
}

function ProgramChoice({ program }: { readonly program: string }) {
  const programs = useRoute("programs.list", {});
  return (
    <select
      class="input"
      aria-label="Program"
      value={program}
      onChange={(event) => setQuery({ program: event.currentTarget.value || null })}
    >
      <option value="">all programs</option>
      {programs.data?.rows.map(({ name }) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

function Charts({ data }: { readonly data: OutputOf<"figures.list"> }) {
  const nodes = useRoute("nodes.list", { stopped: true });
  const takeovers = useRoute("takeovers.list", { limit: 100 });
  const { figures, stepSeconds } = data;
  if (figures.length === 0) {
    return (
      <Panel label="Figures">
        <Empty title="No figures yet. A node keeps them and writes the first within ten seconds of its start." />
      </Panel>
    );
  }
  const series = seriesOf(figures, stepSeconds);
  const sum = summaryOf(figures, stepSeconds);
  const marks = marksOf(nodes.data?.rows ?? [], takeovers.data?.rows ?? []);
  const common = { at: series.at, marks };
  const seconds = (value: number) => duration(value * 1_000);
  return (
    <div class="figures">
      <Panel
        title="Ended per second"
        actions={
          <Big text={rate(sum.endedPerSecond)} note={`${share(sum.failedShare)} failed`} bad={sum.failedShare > 0.05} />
        }
      >
        <Chart
          {...common}
          title="Ended per second"
          unit={rate}
          lines={[
            { label: "ended", values: series.endedPerSecond, colour: "--accent", fill: true },
            { label: "failed", values: series.failedPerSecond, colour: "--red" },
          ]}
        />
      </Panel>
      <Panel title="Start to end, p95" actions={<Big text={sum.p95Ms === null ? "–" : duration(sum.p95Ms)} />}>
        <Chart
          {...common}
          title="Start to end, p95"
          unit={seconds}
          lines={[{ label: "p95", values: series.p95Seconds, colour: "--violet", fill: true }]}
        />
      </Panel>
      <Panel title="Oldest waiting" actions={<Big text={sum.oldestMs === null ? "–" : duration(sum.oldestMs)} />}>
        <Chart
          {...common}
          title="Oldest waiting"
          unit={seconds}
          lines={[{ label: "oldest", values: series.oldestSeconds, colour: "--amber", fill: true }]}
        />
      </Panel>
    </div>
  );
}

function Big({ text, note, bad = false }: { readonly text: string; readonly note?: string; readonly bad?: boolean }) {
  return (
    <span class="big">
      {note !== undefined && <span class={bad ? "is-failed" : "muted"}>{note}</span>}{" "}
      <strong class="num">{text}</strong>
    </span>
  );
}

function NeedsAttention({ attention }: { readonly attention: readonly Attention[] }) {
  return (
    <Panel title="Needs attention" actions={attention.length > 0 && <span class="badge">{attention.length}</span>}>
      {attention.length === 0 ? (
        <Empty title="Nothing. All is well." />
      ) : (
        <ul class="attention">
          {attention.map((one) => (
            <AttentionLine key={`${one.kind} ${one.object}`} one={one} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function AttentionLine({ one }: { readonly one: Attention }) {
  const { to, label } = attentionLink(one);
  return (
    <li>
      <span class={`badge is-${severityOf(one)}`}>{one.kind}</span>
      <span class="attention-text">{one.text}</span>
      <span class="muted">{one.since !== null && <Age at={one.since} />}</span>
      <a href={href(to)}>{label} →</a>
    </li>
  );
}

type ProgramFigures = OutputOf<"figures.list">["programs"][number];
const milliseconds = (ms: number | null) => (ms === null ? "–" : duration(ms));
const programPage = ({ program }: ProgramFigures) => `/programs/${encodeURIComponent(program)}`;

const PROGRAMS: readonly Column<ProgramFigures>[] = [
  { title: "Program", cell: (row) => <a href={href(programPage(row))}>{row.program}</a> },
  { title: "Started", class: "right num", cell: ({ started }) => count(started) },
  { title: "Completed", class: "right num", cell: ({ completed }) => count(completed) },
  {
    title: "Failed",
    class: "right num",
    cell: ({ completed, failed }) => (failed === 0 ? "0" : `${count(failed)}, ${share(failed / (completed + failed))}`),
  },
  { title: "p50", class: "right num", cell: ({ p50Ms }) => milliseconds(p50Ms) },
  { title: "p95", class: "right num", cell: ({ p95Ms }) => milliseconds(p95Ms) },
];

function ByProgram({ rows, range }: { readonly rows: readonly ProgramFigures[]; readonly range: Range }) {
  if (rows.length === 0) return null;
  return (
    <Panel title={`By program, last ${range}`}>
      <Rows rows={rows} columns={PROGRAMS} id={({ program }) => program} to={programPage} />
    </Panel>
  );
}

const QUEUES: readonly Column<QueueRow>[] = [
  { title: "Queue", cell: ({ queue }) => <a href={href(`/queues/${encodeURIComponent(queue)}`)}>{queue}</a> },
  { title: "Waiting", class: "right num", cell: ({ counts }) => count(counts.waiting ?? 0) },
  { title: "Running", class: "right num", cell: ({ counts }) => count(counts.running ?? 0) },
  { title: "Parked", class: "right num", cell: ({ counts }) => count(counts.parked ?? 0) },
  {
    title: "Oldest",
    class: "right num",
    cell: ({ oldestWaitingMs }) => (oldestWaitingMs === null ? "–" : duration(oldestWaitingMs)),
  },
  {
    title: "Served by",
    cell: ({ servedBy, paused }) =>
      paused ? (
        <span class="badge is-warn">paused by {paused.by}</span>
      ) : servedBy.length === 0 ? (
        <span class="badge is-bad">no node</span>
      ) : (
        servedBy.join(", ")
      ),
  },
];

function Now({ overview }: { readonly overview: Overview }) {
  const { nodes, slots, held, dead, approvals, queues } = overview;
  return (
    <Panel
      title="Right now"
      actions={
        <span class="now-line-text">
          <a href={href("/nodes")}>
            {nodes.alive} nodes alive{nodes.silent > 0 ? `, ${nodes.silent} silent` : ""}
          </a>
          <Slots busy={held} slots={slots} />
          <a href={href("/approvals")}>{cappedCount(approvals)} approvals</a>
          <a href={href("/dead")}>{cappedCount(dead)} dead letters</a>
        </span>
      }
    >
      {queues.length === 0 ? (
        <Empty title="No queue has live runs." />
      ) : (
        <Rows
          rows={queues}
          columns={QUEUES}
          id={({ queue }) => queue}
          to={({ queue }) => `/queues/${encodeURIComponent(queue)}`}
        />
      )}
    </Panel>
  );
}
