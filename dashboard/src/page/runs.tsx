// Runs: the newest that fit, kept live in place, with verbs for one, some or all that fit.

import { useEffect, useRef, useState } from "preact/hooks";
import { cappedCount } from "../draw/words.js";
import { chipsOf } from "../live/address.js";
import { call } from "../live/api.js";
import { useKeys } from "../live/keys.js";
import { rememberList } from "../live/last-list.js";
import type { InputOf, RunRow } from "../live/model.js";
import { address, go, setQuery } from "../live/router.js";
import { useLive, usePolling } from "../live/stream.js";
import { useRoute } from "../live/use-route.js";
import { BulkButton } from "../part/bulk.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { RunFilters } from "../part/run-filters.js";
import { RunTable } from "../part/run-table.js";
import { SelectionBar } from "../part/selection-bar.js";
import { PageHead } from "../part/tabs.js";

export default function RunsPage() {
  const filter = filterOf(address.value.query);
  const list = useRoute("runs.list", { ...filter, limit: 50 });
  const older = useOlder(filter, list.data?.next ?? null);
  const rows: readonly RunRow[] = [...(list.data?.rows ?? []), ...older.rows];
  const [newer, setNewer] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(-1);
  rememberList(rows.map(({ id }) => id));

  const known = new Set(rows.map(({ id }) => id));
  const shown = rows.slice(0, 200).map(({ id }) => id);
  const replace = (fresh: ReadonlyMap<string, RunRow>) => {
    list.change((data) => ({ ...data, rows: data.rows.map((row) => fresh.get(row.id) ?? row) }));
    older.change((row) => fresh.get(row.id) ?? row);
  };
  const byId = (some: readonly RunRow[]) => new Map(some.map((row) => [row.id, row]));
  useLive(shown.length === 0 ? [] : [`rows:${shown.join("+")}`], (patch) => {
    if (patch.kind === "rows") replace(byId(patch.rows));
  });
  usePolling(async () => {
    if (shown.length > 0) replace(byId((await call("runs.many", { ids: [...shown] })).rows));
  });
  // The stream reports the newest of all runs: of a narrowed list it does not say which of them fit.
  const narrowed = Object.keys(filter).length > 0;
  useLive(narrowed || list.data === null ? [] : ["newest"], (patch) => {
    if (patch.kind === "newest") setNewer(patch.ids.filter((id) => !known.has(id)).length);
  });
  const showNewer = () => {
    setNewer(0);
    older.clear();
    list.reload();
  };
  const toggle = (id: string) => setSelected((old) => toggled(old, id));
  const currentId = rows[current]?.id;
  useKeys({
    j: () => setCurrent((i) => Math.min(i + 1, rows.length - 1)),
    k: () => setCurrent((i) => Math.max(i - 1, 0)),
    x: () => currentId !== undefined && toggle(currentId),
    Enter: () => currentId !== undefined && go(`/runs/${currentId}`),
    Escape: () => setSelected(new Set()),
  });

  return (
    <>
      <PageHead title="Runs">
        {newer > 0 && (
          <button type="button" class="button is-primary" onClick={showNewer}>
            ↑ {newer} newer
          </button>
        )}
        <Count filter={filter} />
        <BulkButton filter={filter} then={showNewer} />
      </PageHead>
      <RunFilters />
      <Panel label="Runs">
        <Show
          of={list}
          empty={{
            when: ({ rows: none }) => none.length === 0,
            show: <NoRuns narrowed={chipsOf(address.value.query).length > 0} />,
          }}
        >
          {() => <RunTable rows={rows} selected={selected} current={current} toggle={toggle} />}
        </Show>
        <SelectionBar
          rows={rows.filter(({ id }) => selected.has(id))}
          shown={rows.length}
          older={older.more}
          then={showNewer}
        />
      </Panel>
    </>
  );
}

type Filter = Omit<InputOf<"runs.list">, "env" | "before" | "limit" | "archived">;

/** Every chip that is shown is sent: what a verb for all that fit changes is what the chips say. `state` may name several. */
function filterOf(query: Readonly<Record<string, string>>): Filter {
  const { state, ...others } = Object.fromEntries(chipsOf(query).map(({ name, value }) => [name, value]));
  return { ...(state && { state: state.split(",") as NonNullable<Filter["state"]> }), ...others };
}

function toggled(old: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(old);
  if (!next.delete(id)) next.add(id);
  return next;
}

/** Pages after the first, appended when asked for. */
function useOlder(filter: Filter, first: string | null) {
  const [rows, setRows] = useState<readonly RunRow[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const id = JSON.stringify(filter);
  const asked = useRef(id);
  asked.current = id;
  const clear = () => {
    setRows([]);
    setNext(null);
  };
  useEffect(clear, [id]);
  const before = next ?? first;
  const more = async () => {
    if (before === null) return;
    const page = await call("runs.list", { ...filter, limit: 100, before });
    if (asked.current !== id) return;
    setRows((old) => [...old, ...page.rows]);
    setNext(page.next ?? "");
  };
  const change = (one: (row: RunRow) => RunRow) => setRows((old) => (old.length === 0 ? old : old.map(one)));
  return { rows, clear, change, more: before === null || next === "" ? null : more };
}

/** Only a narrowed list is counted. */
function Count({ filter }: { readonly filter: Filter }) {
  const narrowed = Object.keys(filter).length > 0;
  const { data } = useRoute("runs.count", narrowed ? filter : null);
  return data === null ? null : <span class="muted num">{cappedCount(data)} fit</span>;
}

function NoRuns({ narrowed }: { readonly narrowed: boolean }) {
  if (narrowed) {
    return (
      <Empty title="No run fits these filters.">
        <button
          type="button"
          class="button"
          onClick={() => setQuery(Object.fromEntries(chipsOf(address.value.query).map(({ name }) => [name, null])))}
        >
          Remove all filters
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="No runs yet. Three lines start one:">
      <pre>{`import { createClient } from "holdfast";\nconst client = createClient({ store });\nawait client.start(order, { id: "o-17" });`}</pre>
    </Empty>
  );
}
