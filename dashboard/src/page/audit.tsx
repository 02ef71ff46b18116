// Audit: who did what to what, when, from where, with before and after. It cannot be changed.

import { useState } from "preact/hooks";
import { shortId } from "../live/address.js";
import { call } from "../live/api.js";
import type { AuditRow } from "../live/model.js";
import { address, href, setQuery } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { JsonTree } from "../part/json-tree.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Instant } from "../part/time.js";

const FILTERS = ["by", "action", "object"] as const;

export default function AuditPage() {
  const { by, action, object, from, to } = address.value.query;
  const filter = {
    ...(by && { by }),
    ...(action && { action }),
    ...(object && { object }),
    ...(from && { from }),
    ...(to && { to }),
  };
  const list = useRoute("audit.list", { ...filter, limit: 100 }, { everyMs: 15_000 });
  const [older, setOlder] = useState<readonly AuditRow[]>([]);
  const [next, setNext] = useState<string | null | undefined>(undefined);
  const before = next === undefined ? (list.data?.next ?? null) : next;
  const more = async () => {
    if (before === null) return;
    const page = await call("audit.list", { ...filter, limit: 100, before });
    setOlder([...older, ...page.rows]);
    setNext(page.next);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setOlder([]);
    setNext(undefined);
    setQuery(Object.fromEntries(FILTERS.map((name) => [name, String(form.get(name) ?? "").trim() || null])), {
      push: true,
    });
  };
  return (
    <>
      <PageHead title="Audit" />
      <form class="chips filters" onSubmit={submit} aria-label="Filters">
        {FILTERS.map((name) => (
          <input
            key={name}
            class="input"
            name={name}
            aria-label={name}
            placeholder={name}
            defaultValue={address.value.query[name] ?? ""}
          />
        ))}
        <button type="submit" class="button">
          Filter
        </button>
      </form>
      <Panel label="Audit">
        <Show
          of={list}
          empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="Nothing was done that fits." /> }}
        >
          {({ rows }) => <Rows rows={[...rows, ...older]} columns={COLUMNS} id={({ id }) => id} />}
        </Show>
        {before !== null && (
          <div class="select-bar">
            <span class="end">
              <button type="button" class="button" onClick={more}>
                Older
              </button>
            </span>
          </div>
        )}
      </Panel>
    </>
  );
}

const COLUMNS: readonly Column<AuditRow>[] = [
  { title: "When (UTC)", class: "fit", cell: ({ at }) => <Instant at={at} /> },
  {
    title: "By",
    cell: ({ by, via }) => (
      <span>
        {by} <span class="muted">{via}</span>
      </span>
    ),
  },
  { title: "Action", cell: ({ action }) => <strong>{action}</strong> },
  {
    title: "Object",
    cell: ({ object, action }) =>
      action.startsWith("runs.") ? (
        <a class="mono" href={href(`/runs/${object}`)}>
          {shortId(object)}
        </a>
      ) : (
        <span class="mono">{object}</span>
      ),
  },
  { title: "Before → after", cell: ({ before, after }) => <Change before={before} after={after} /> },
  { title: "Note", cell: ({ note }) => note ?? "" },
  {
    title: "Request",
    class: "mono muted",
    cell: ({ request }) => request && <span title={request}>{request.slice(0, 8)}</span>,
  },
];

function Change({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const nothing = (value: unknown) => value === null || value === undefined;
  if (nothing(before) && nothing(after)) return <span class="muted">–</span>;
  return (
    <div class={nothing(before) || nothing(after) ? "" : "diff"}>
      {!nothing(before) && <JsonTree value={before} />}
      {!nothing(after) && <JsonTree value={after} />}
    </div>
  );
}
