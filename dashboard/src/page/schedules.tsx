// Schedules: the next fires on a strip of time, catch-up, pause, fire now.

import { ticksOf, timeAxis, xOf } from "../draw/time-axis.js";
import { call } from "../live/api.js";
import { now } from "../live/clock.js";
import type { ScheduleRow } from "../live/model.js";
import { go, href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age, Instant, Until } from "../part/time.js";
import { saidBy, Verb } from "../part/verb.js";

export default function SchedulesPage() {
  const schedules = useRoute("schedules.list", { next: 20 }, { everyMs: 15_000 });
  return (
    <>
      <PageHead title="Schedules" />
      <Panel label="Schedules">
        <Show of={schedules} empty={{ when: ({ rows }) => rows.length === 0, show: <NoSchedules /> }}>
          {({ rows }) => (
            <Rows
              rows={rows}
              columns={columnsWith(schedules.reload)}
              id={({ id }) => id}
              to={({ program }) => `/programs/${encodeURIComponent(program)}`}
            />
          )}
        </Show>
      </Panel>
    </>
  );
}

function NoSchedules() {
  return (
    <Empty title="No program has a schedule. One line gives it one:">
      <pre>{`const report = workflow("report", { schedule: "0 6 * * *" }, async (ctx) => { … });`}</pre>
    </Empty>
  );
}

function columnsWith(reload: () => void): readonly Column<ScheduleRow>[] {
  return [
    {
      title: "Program",
      cell: ({ program, stack }) => (
        <>
          <a href={href(`/programs/${encodeURIComponent(program)}`)}>{program}</a>
          {stack !== null && <span class="muted"> · {stack}</span>}
        </>
      ),
    },
    {
      title: "When",
      cell: ({ schedule, declared }) => (
        <>
          <span class="mono">{schedule}</span>
          {!declared && <div class="muted">no node declares it any more</div>}
        </>
      ),
    },
    { title: "Next", cell: (row) => <Next row={row} /> },
    { title: "Coming", class: "strip-cell", cell: (row) => <Strip row={row} /> },
    { title: "Last", cell: ({ last }) => <Age at={last} suffix=" ago" /> },
    {
      title: "Catch-up",
      cell: ({ catchUp }) => (
        <span class="mono">{typeof catchUp === "string" ? catchUp : JSON.stringify(catchUp)}</span>
      ),
    },
    { title: "", class: "fit", cell: (row) => <ScheduleVerbs row={row} then={reload} /> },
  ];
}

function Next({ row: { paused, nextFires } }: { readonly row: ScheduleRow }) {
  if (paused !== null) return <span class="badge is-warn">paused by {paused.by}</span>;
  const [first] = nextFires;
  return first === undefined ? (
    <span class="muted">never again</span>
  ) : (
    <>
      <Until at={first} before="in " />{" "}
      <span class="muted">
        <Instant at={first} />
      </span>
    </>
  );
}

/** The next fires from now on, one dot each. */
function Strip({ row: { nextFires, paused } }: { readonly row: ScheduleRow }) {
  const axis = timeAxis([now(), ...nextFires.map((at) => Date.parse(at))], 240);
  return (
    <svg
      class={`strip ${paused === null ? "" : "is-paused"}`}
      viewBox="0 0 250 34"
      role="img"
      aria-label={`Next fires: ${nextFires.join(", ")}`}
    >
      <line x1={0} x2={250} y1={11} y2={11} />
      {ticksOf(axis).map(({ x, anchor, text }) => (
        <text key={x} x={x + 4} y={31} text-anchor={anchor}>
          {text}
        </text>
      ))}
      {nextFires.map((at) => (
        <circle key={at} cx={xOf(axis, Date.parse(at)) + 4} cy={11} r={4} />
      ))}
    </svg>
  );
}

function ScheduleVerbs({ row, then }: { readonly row: ScheduleRow; readonly then: () => void }) {
  const { id, program, paused } = row;
  return (
    <span class="verbs">
      <Verb
        question={{
          title: `Fire ${program} now?`,
          effect: "Starts one run now. The next fires stay as they are.",
          confirm: "Fire",
        }}
        act={async ({ note }) => {
          const started = await call("schedules.fire", { schedule: id, ...(note && { note }) });
          go(`/runs/${started.id}`);
          return "Started.";
        }}
      >
        Fire now
      </Verb>
      {paused === null ? (
        <Verb
          question={{
            title: `Pause this schedule of ${program}?`,
            effect: "Nothing is started until it is resumed. What happens to missed fires depends on its catch-up.",
            confirm: "Pause",
          }}
          act={async ({ note }) => saidBy(await call("schedules.pause", { schedule: id, ...(note && { note }) }))}
          then={then}
        >
          Pause
        </Verb>
      ) : (
        <Verb question={null} act={async () => saidBy(await call("schedules.resume", { schedule: id }))} then={then}>
          Resume
        </Verb>
      )}
    </span>
  );
}
