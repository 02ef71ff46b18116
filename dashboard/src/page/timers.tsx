// Timers: all by deadline; late and dead ones first.

import { plural } from "../draw/words.js";
import { call } from "../live/api.js";
import type { TimerRow } from "../live/model.js";
import { href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Instant, Until } from "../part/time.js";
import { Verb } from "../part/verb.js";

export default function TimersPage() {
  const dead = useRoute("timers.list", { state: "dead", limit: 100 }, { everyMs: 10_000 });
  const pending = useRoute("timers.list", { state: "pending", limit: 100 }, { everyMs: 10_000 });
  return (
    <>
      <PageHead title="Timers" />
      {dead.data !== null && dead.data.rows.length > 0 && (
        <Panel title="Dead" actions={<span class="badge is-bad">{dead.data.rows.length}</span>}>
          <Rows
            rows={dead.data.rows}
            columns={[...COLUMNS, retryColumn(dead.reload)]}
            id={({ id }) => id}
            to={addressOf}
          />
        </Panel>
      )}
      <Panel title="By deadline">
        <Show of={pending} empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No timer is set." /> }}>
          {({ rows }) => <Rows rows={rows} columns={COLUMNS} id={({ id }) => id} to={addressOf} />}
        </Show>
      </Panel>
    </>
  );
}

const addressOf = ({ machine, instance }: TimerRow) =>
  `/machines/${encodeURIComponent(machine)}/${encodeURIComponent(instance)}`;

const COLUMNS: readonly Column<TimerRow>[] = [
  { title: "Due in", cell: ({ dueAt }) => <Until at={dueAt} /> },
  { title: "Deadline (UTC)", cell: ({ dueAt }) => <Instant at={dueAt} /> },
  { title: "Timer", cell: ({ name }) => <strong>{name}</strong> },
  {
    title: "Instance",
    cell: (row) => (
      <a href={href(addressOf(row))}>
        {row.machine} <span class="mono">{row.instance}</span>
      </a>
    ),
  },
  { title: "Attempts", class: "right num", cell: ({ attempts }) => attempts },
  { title: "Problem", cell: ({ problem }) => problem ?? "" },
];

function retryColumn(then: () => void): Column<TimerRow> {
  return {
    title: "",
    class: "fit",
    cell: ({ machine, instance }) => (
      <Verb
        question={{
          title: `Retry the dead timers of ${instance}?`,
          effect: "They are due at once and get all their attempts again.",
          confirm: "Retry",
        }}
        act={async ({ note }) =>
          `${plural((await call("machines.retryTimers", { machine, instance, ...(note && { note }) })).retried, "timer")} pending again.`
        }
        then={then}
      >
        Retry
      </Verb>
    ),
  };
}
