// An instance of a state machine: the chart with its active states, the log of events, timers, and a form that sends an event.

import { activeStates } from "../draw/chart.js";
import { bytes } from "../draw/words.js";
import { call } from "../live/api.js";
import type { InstanceDetail, OutputOf, ProgramRow, TimerRow } from "../live/model.js";
import { useRoute } from "../live/use-route.js";
import type { PageProps } from "../pages.js";
import { INSTANCE_TONES } from "../part/instance-state.js";
import { lazyPart } from "../part/lazy.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Instant, Until } from "../part/time.js";
import { saidBy, Verb } from "../part/verb.js";

const MachineChart = lazyPart(() => import("../shape/machine-shape.js"));
type Event = OutputOf<"machines.get">["events"][number];

export default function InstancePage({ params }: PageProps) {
  const machine = params["machine"] as string;
  const instance = useRoute("machines.get", { machine, instance: params["instance"] as string }, { everyMs: 2_000 });
  return <Show of={instance}>{(data) => <Whole instance={data} then={instance.reload} />}</Show>;
}

const EVENTS: readonly Column<Event>[] = [
  { title: "Seq", class: "right num", cell: ({ seq }) => seq },
  { title: "Event", cell: ({ type }) => <strong>{type}</strong> },
  { title: "By", cell: ({ by }) => by ?? "–" },
  { title: "When (UTC)", cell: ({ at }) => <Instant at={at} fraction /> },
  { title: "Payload", class: "right num", cell: (event) => bytes(event.bytes) },
];

const TIMERS: readonly Column<TimerRow>[] = [
  { title: "Timer", cell: ({ name }) => name },
  { title: "Due in", cell: ({ dueAt }) => <Until at={dueAt} /> },
  { title: "Attempts", class: "right num", cell: ({ attempts }) => attempts },
  { title: "State", cell: ({ state, problem }) => (problem === null ? state : `${state}: ${problem}`) },
];

function Whole({ instance, then }: { readonly instance: InstanceDetail; readonly then: () => void }) {
  const program = useRoute("programs.get", { program: instance.machine });
  const shape = (program.data as ProgramRow | null)?.shape ?? null;
  const active = activeStates(instance.value);
  return (
    <>
      <PageHead
        back={{ to: `/machines?machine=${encodeURIComponent(instance.machine)}`, label: "Machines" }}
        title={
          <>
            {instance.machine} <span class="muted">· {instance.id}</span>{" "}
            <span class={`badge ${INSTANCE_TONES[instance.status]}`}>{instance.status}</span>
          </>
        }
      >
        <SendVerb instance={instance} then={then} />
      </PageHead>
      <Panel title="State" actions={<strong>{active.join(", ")}</strong>}>
        {instance.problem !== null && <p class="notice is-bad">{instance.problem}</p>}
        {shape?.kind === "machine" ? (
          <MachineChart shape={shape} active={active} timers={instance.timers} />
        ) : (
          <Empty title="The chart is not stored: no node with this machine has written it." />
        )}
      </Panel>
      <div class="columns">
        <Panel title="Events">
          <Rows rows={[...instance.events].reverse()} columns={EVENTS} id={({ seq }) => String(seq)} />
        </Panel>
        <Panel title="Timers">
          {instance.timers.length === 0 ? (
            <Empty title="No timer is set." />
          ) : (
            <Rows rows={instance.timers} columns={TIMERS} id={({ id }) => id} />
          )}
        </Panel>
      </div>
    </>
  );
}

function SendVerb({ instance, then }: { readonly instance: InstanceDetail; readonly then: () => void }) {
  const { machine, id } = instance;
  return (
    <Verb
      disabled={instance.status !== "active" && "It has ended"}
      question={{
        title: `Send an event to ${id}`,
        effect: "A node applies it. An event that the state does not take changes nothing.",
        confirm: "Send",
        fields: [
          { name: "type", label: "Event", kind: "text", required: true },
          { name: "fields", label: "Fields (JSON)", kind: "json", value: "{}" },
        ],
      }}
      act={async ({ type = "", fields = "", note }) =>
        saidBy(
          await call("machines.send", {
            machine,
            instance: id,
            type,
            fields: JSON.parse(fields.trim() || "{}"),
            ...(note && { note }),
          }),
        )
      }
      then={then}
    >
      Send an event…
    </Verb>
  );
}
