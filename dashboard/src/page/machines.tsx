// Machines: instances by machine and state.

import { activeStates } from "../draw/chart.js";
import type { InstanceRow } from "../live/model.js";
import { address, href, setQuery } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { INSTANCE_TONES } from "../part/instance-state.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age } from "../part/time.js";

export default function MachinesPage() {
  const { machine } = address.value.query;
  const list = useRoute("machines.list", { limit: 100, ...(machine && { machine }) }, { everyMs: 5_000 });
  const rows = list.data?.rows ?? [];
  const names = [...new Set([...(machine ? [machine] : []), ...rows.map((row) => row.machine)])];
  return (
    <>
      <PageHead title="Machines">
        <select
          class="input"
          aria-label="Machine"
          value={machine ?? ""}
          onChange={(event) => setQuery({ machine: event.currentTarget.value || null })}
        >
          <option value="">all machines</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </PageHead>
      {rows.length > 0 && <Census rows={rows} />}
      <Panel label="Instances">
        <Show
          of={list}
          empty={{ when: (data) => data.rows.length === 0, show: <Empty title="No instance of a state machine." /> }}
        >
          {(data) => (
            <Rows rows={data.rows} columns={COLUMNS} id={(row) => `${row.machine} ${row.id}`} to={addressOf} />
          )}
        </Show>
      </Panel>
    </>
  );
}

const addressOf = ({ machine, id }: InstanceRow) =>
  `/machines/${encodeURIComponent(machine)}/${encodeURIComponent(id)}`;

const COLUMNS: readonly Column<InstanceRow>[] = [
  { title: "Machine", cell: ({ machine }) => machine },
  {
    title: "Instance",
    cell: (row) => (
      <a class="mono" href={href(addressOf(row))}>
        {row.id}
      </a>
    ),
  },
  { title: "Status", cell: ({ status }) => <span class={`badge ${INSTANCE_TONES[status]}`}>{status}</span> },
  { title: "State", cell: ({ value }) => <strong>{activeStates(value).join(", ")}</strong> },
  { title: "Events", class: "right num", cell: ({ seq }) => seq },
  { title: "Changed", cell: ({ updatedAt }) => <Age at={updatedAt} suffix=" ago" /> },
  { title: "Problem", cell: ({ problem }) => problem ?? "" },
];

/** Of the instances that are listed. */
function Census({ rows }: { readonly rows: readonly InstanceRow[] }) {
  const states = new Map<string, number>();
  for (const { value } of rows)
    for (const state of activeStates(value)) states.set(state, (states.get(state) ?? 0) + 1);
  return (
    <Panel label="By state">
      <ul class="tags panel-body">
        {[...states].map(([state, n]) => (
          <li key={state} class="slot-line">
            {state} <span class="badge is-note">{n}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
