// Programs: each with its kind, versions and the nodes that serve it; definitions saved as data below.

import { plural } from "../draw/words.js";
import type { DefinitionRow, ProgramRow } from "../live/model.js";
import { address, href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { DefinitionVerbs, NewDefinitionVerb } from "../part/definition-verbs.js";
import { JsonTree } from "../part/json-tree.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age } from "../part/time.js";

export default function ProgramsPage() {
  const programs = useRoute("programs.list", {}, { everyMs: 15_000 });
  const name = address.value.query["name"] ?? "";
  return (
    <>
      <PageHead title="Programs" />
      <Panel label="Programs">
        <Show
          of={programs}
          empty={{
            when: ({ rows }) => rows.length === 0,
            show: <Empty title="No node has registered a program yet." />,
          }}
        >
          {({ rows }) => (
            <Rows
              rows={(rows as readonly ProgramRow[]).filter((row) => row.name.includes(name))}
              columns={COLUMNS}
              id={(row) => row.name}
              to={(row) => `/programs/${encodeURIComponent(row.name)}`}
            />
          )}
        </Show>
      </Panel>
      <Definitions />
    </>
  );
}

const COLUMNS: readonly Column<ProgramRow>[] = [
  {
    title: "Program",
    cell: ({ name }) => (
      <strong>
        <a href={href(`/programs/${encodeURIComponent(name)}`)}>{name}</a>
      </strong>
    ),
  },
  { title: "Kind", cell: ({ kind }) => kind ?? "–" },
  { title: "Versions", cell: ({ versions }) => versions.map((version) => version ?? "unversioned").join(", ") },
  { title: "Builds", cell: ({ builds }) => builds.join(", ") || "–" },
  { title: "Queues", cell: ({ queues }) => queues.join(", ") },
  {
    title: "Nodes",
    cell: ({ servedBy, claimedBy }) =>
      servedBy.length === 0 ? (
        <span class="badge is-bad">no node</span>
      ) : (
        `${claimedBy.length} of ${servedBy.length} claim it`
      ),
  },
  {
    title: "Started by",
    cell: ({ triggers, schedules }) =>
      [triggers > 0 ? plural(triggers, "trigger") : "", schedules > 0 ? plural(schedules, "schedule") : ""]
        .filter(Boolean)
        .join(", ") || "calls",
  },
];

function Definitions() {
  const definitions = useRoute("definitions.list", {});
  const columns: readonly Column<DefinitionRow>[] = [
    {
      title: "Definition",
      cell: ({ kind, name }) => (
        <>
          <strong>{name}</strong> <span class="muted">{kind}</span>
        </>
      ),
    },
    { title: "Version", class: "right num", cell: ({ version }) => version },
    {
      title: "Saved",
      cell: ({ at, by }) => (
        <>
          <Age at={at} suffix=" ago" /> by {by}
        </>
      ),
    },
    {
      title: "State",
      cell: ({ enabled }) => (
        <span class={`badge ${enabled ? "is-good" : "is-warn"}`}>{enabled ? "enabled" : "disabled"}</span>
      ),
    },
    { title: "Body", cell: ({ body }) => <JsonTree value={body} depth={2} /> },
    { title: "", class: "fit", cell: (row) => <DefinitionVerbs row={row} then={definitions.reload} /> },
  ];
  return (
    <Panel title="Definitions saved as data" actions={<NewDefinitionVerb then={definitions.reload} />}>
      <Show
        of={definitions}
        empty={{
          when: ({ rows }) => rows.length === 0,
          show: <Empty title="None: every program comes from the code of the nodes." />,
        }}
      >
        {({ rows }) => <Rows rows={rows} columns={columns} id={({ kind, name }) => `${kind} ${name}`} />}
      </Show>
    </Panel>
  );
}
