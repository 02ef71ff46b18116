// Dead letters: failed, dead and quarantined runs by program and error code, with retry for a group or for all that fit.

import { useState } from "preact/hooks";
import { count } from "../draw/words.js";
import { shortId } from "../live/address.js";
import { may } from "../live/api.js";
import type { DeadGroup, DeadLetter } from "../live/model.js";
import { address, here, href, setQuery } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { BulkDialog } from "../part/bulk.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { State } from "../part/state.js";
import { PageHead } from "../part/tabs.js";
import { Age } from "../part/time.js";

export default function DeadPage() {
  const { program, state, code } = address.value.query;
  const groups = useRoute("dead.groups", program ? { program } : {}, { everyMs: 10_000 });
  const [retried, setRetried] = useState<DeadGroup | "all" | null>(null);
  const columns: readonly Column<DeadGroup>[] = [
    { title: "State", cell: ({ state }) => <State state={state} /> },
    { title: "Program", cell: (group) => <strong>{group.program}</strong> },
    { title: "Error", cell: ({ code }) => <span class="mono">{code ?? "unknown"}</span> },
    { title: "Runs", class: "right num", cell: ({ n }) => count(n) },
    { title: "First", cell: ({ oldest }) => <Age at={oldest} suffix=" ago" /> },
    { title: "Last", cell: ({ newest }) => <Age at={newest} suffix=" ago" /> },
    {
      title: "Examples",
      cell: ({ examples }) => (
        <span class="tags">
          {examples.slice(0, 3).map((id) => (
            <a key={id} class="mono" href={href(`/runs/${id}`)}>
              {shortId(id)}
            </a>
          ))}
        </span>
      ),
    },
    {
      title: "",
      class: "fit",
      cell: (group) => (
        <span class="verbs">
          <a class="button" href={href(pathOf(group))}>
            List
          </a>
          <button
            type="button"
            class="button"
            disabled={!may("operate")}
            title={may("operate") ? undefined : "Needs the permission operate"}
            onClick={() => setRetried(group)}
          >
            Retry…
          </button>
        </span>
      ),
    },
  ];
  const close = () => {
    setRetried(null);
    groups.reload();
  };
  return (
    <>
      <PageHead title="Dead letters">
        {Object.entries({ program, state, code }).map(
          ([name, value]) =>
            value !== undefined && (
              <span key={name} class="chip">
                <span class="muted">{name}:</span> {value}
                <button
                  type="button"
                  aria-label={`Remove the filter ${name}`}
                  onClick={() => setQuery({ [name]: null })}
                >
                  ×
                </button>
              </span>
            ),
        )}
        <button type="button" class="button" disabled={!may("operate")} onClick={() => setRetried("all")}>
          Retry all that fit…
        </button>
      </PageHead>
      <Panel label="Groups">
        <Show
          of={groups}
          empty={{
            when: (data) => data.groups.length === 0,
            show: <Empty title="No dead letters. Every run ended well or is on its way." />,
          }}
        >
          {(data) => (
            <>
              <Rows
                rows={data.groups}
                columns={columns}
                id={(group) => `${group.program} ${group.code} ${group.state}`}
                to={pathOf}
              />
              {data.looked.atLeast && (
                <p class="notice">The newest {count(data.looked.n)} are grouped; there are more.</p>
              )}
            </>
          )}
        </Show>
      </Panel>
      {program !== undefined && <Letters program={program} state={state} code={code} />}
      {retried !== null && (
        <BulkDialog
          close={close}
          filter={
            retried === "all"
              ? { state: ["failed", "dead", "quarantined"], ...(program && { program }) }
              : { state: [retried.state], program: retried.program, code: retried.code ?? "" }
          }
        />
      )}
    </>
  );
}

const pathOf = ({ program, state, code }: DeadGroup) =>
  `/dead?${new URLSearchParams({ program, state, ...(code !== null && { code }) })}`;

const LETTERS: readonly Column<DeadLetter>[] = [
  {
    title: "Run",
    cell: ({ runId }) => (
      <a class="mono" href={href(`/runs/${runId}`)}>
        {shortId(runId)}
      </a>
    ),
  },
  { title: "State", cell: ({ state }) => <State state={state} /> },
  { title: "Ended", cell: ({ endedAt }) => <Age at={endedAt} suffix=" ago" /> },
  { title: "Error", cell: ({ code }) => <span class="mono">{code ?? "unknown"}</span> },
  { title: "Message", cell: ({ message }) => message ?? <span class="muted">needs the permission read</span> },
];

/** The letters of a group, page by page. */
function Letters({
  program,
  state,
  code,
}: {
  readonly program: string;
  readonly state: string | undefined;
  readonly code: string | undefined;
}) {
  const { before } = address.value.query;
  const list = useRoute("dead.list", {
    program,
    limit: 50,
    ...(state && { state: state.split(",") as ("failed" | "dead" | "quarantined")[] }),
    ...(code && { code }),
    ...(before && { before }),
  });
  return (
    <Panel title={`Letters of ${program}`}>
      <Show of={list} empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No letter fits." /> }}>
        {({ rows, next }) => (
          <>
            <Rows rows={rows} columns={LETTERS} id={({ runId }) => runId} to={({ runId }) => `/runs/${runId}`} />
            {next !== null && (
              <p class="notice">
                <a href={here({ before: next })}>Older</a>
              </p>
            )}
          </>
        )}
      </Show>
    </Panel>
  );
}
