// Triggers: which events start which programs, with filters, debounce and breakers; emit a test event.

import { duration, plural } from "../draw/words.js";
import { call } from "../live/api.js";
import type { TriggerRow } from "../live/model.js";
import { href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Verb } from "../part/verb.js";

export default function TriggersPage() {
  const triggers = useRoute("triggers.list", {}, { everyMs: 15_000 });
  return (
    <>
      <PageHead title="Triggers">
        <EmitVerb events={[...new Set(triggers.data?.rows.map(({ event }) => event))]} />
      </PageHead>
      <Panel label="Subscriptions">
        <Show
          of={triggers}
          empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No program is started by an event." /> }}
        >
          {({ rows }) => (
            <Rows
              rows={rows}
              columns={COLUMNS}
              id={({ id }) => id}
              to={({ program }) => `/programs/${encodeURIComponent(program)}`}
            />
          )}
        </Show>
      </Panel>
    </>
  );
}

const TONES: Readonly<Record<string, string>> = { open: "is-bad", "half-open": "is-warn", closed: "is-good" };

const COLUMNS: readonly Column<TriggerRow>[] = [
  { title: "Event", cell: ({ event }) => <strong>{event}</strong> },
  {
    title: "Starts",
    cell: ({ program, stack }) => (
      <>
        <a href={href(`/programs/${encodeURIComponent(program)}`)}>{program}</a>
        {stack !== null && <span class="muted"> · {stack}</span>}
      </>
    ),
  },
  {
    title: "Only if",
    cell: ({ where }) =>
      Array.isArray(where) && where.length === 0 ? (
        <span class="muted">always</span>
      ) : (
        <span class="mono">{JSON.stringify(where)}</span>
      ),
  },
  {
    title: "Debounce",
    cell: ({ debounceMs, subject }) =>
      debounceMs === null ? "–" : `${duration(debounceMs)}${subject === null ? "" : ` per ${subject.join(".")}`}`,
  },
  { title: "Queue", cell: ({ queue }) => queue },
  {
    title: "Breaker",
    cell: ({ breaker }) =>
      breaker === null ? (
        "–"
      ) : (
        <span class={`badge ${TONES[breaker.state]}`}>
          {breaker.state}, {breaker.failures} of {breaker.threshold} failures
        </span>
      ),
  },
];

function EmitVerb({ events }: { readonly events: readonly string[] }) {
  return (
    <Verb
      question={{
        title: "Emit a test event",
        effect: "Every program whose subscription fits is started, as if your application had emitted it.",
        confirm: "Emit",
        fields: [
          { name: "event", label: "Event", kind: "text", required: true, value: events[0] ?? "" },
          { name: "payload", label: "Payload (JSON)", kind: "json", value: "{}" },
        ],
      }}
      act={async ({ event = "", payload = "", note }) => {
        const { runs } = await call("events.emit", {
          event,
          payload: JSON.parse(payload.trim() || "{}"),
          ...(note && { note }),
        });
        return runs.length === 0
          ? "Emitted. No subscription fits."
          : `Emitted: ${plural(runs.length, "answer")}: ${runs.map(({ program, outcome }) => `${program} ${outcome}`).join(", ")}.`;
      }}
    >
      Emit an event…
    </Verb>
  );
}
