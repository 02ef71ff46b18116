// One run: owner lane and timeline, its shape, journal, inbox, relatives and verbs.

import { doing } from "../draw/doing.js";
import { count } from "../draw/words.js";
import { shortId } from "../live/address.js";
import { ticking } from "../live/clock.js";
import { useKeys } from "../live/keys.js";
import { neighbourOf } from "../live/last-list.js";
import { type Claim, type Entry, RETRYABLE_STATES, type RunDetail, type TaskRow } from "../live/model.js";
import { address, go, here, setQuery } from "../live/router.js";
import { useLive, usePolling } from "../live/stream.js";
import { useJournal } from "../live/use-journal.js";
import { useRoute } from "../live/use-route.js";
import type { PageProps } from "../pages.js";
import { Icon } from "../part/icon.js";
import { Inbox } from "../part/inbox.js";
import { Journal, Payload } from "../part/journal.js";
import { lazyPart } from "../part/lazy.js";
import { Empty, Loading, Panel, Problem, Show } from "../part/panel.js";
import { Related } from "../part/related.js";
import { RunFacts } from "../part/run-facts.js";
import { RunVerbs } from "../part/run-verbs.js";
import { State } from "../part/state.js";
import { PageHead, Tabs } from "../part/tabs.js";
import { LaneStory, Timeline } from "../part/timeline.js";
import { toast } from "../part/toast.js";

const RunShape = lazyPart(() => import("../shape/run-shape.js"));

export default function RunPage({ params }: PageProps) {
  const given = params["id"] as string;
  const found = useRoute("runs.find", given.length < 36 ? { id: given } : null);
  const id = given.length === 36 ? given : (found.data?.rows[0]?.id ?? null);
  if (id !== null) return <WholeRun id={id} />;
  if (found.error) return <Problem error={found.error} retry={found.reload} />;
  if (found.data === null) return <Loading />;
  return <Empty title={`No run begins with ${given}. It may have been pruned.`} />;
}

function WholeRun({ id }: { readonly id: string }) {
  const run = useRoute("runs.get", { id });
  const claims = useRoute("runs.claims", { id, limit: 50 });
  const journal = useJournal(id);
  // Entries after those that were read first; the topic stays the same while more arrive.
  useLive(journal.readTo === null ? [] : [`run:${id}@${journal.readTo}`], (patch) => {
    if (patch.kind !== "run") return;
    const moved = run.data !== null && (run.data.epoch !== patch.run.epoch || run.data.state !== patch.run.state);
    run.change((data) => ({ ...data, ...patch.run }));
    journal.append(patch.entries);
    if (moved) claims.reload();
    if (moved && RETRYABLE_STATES.includes(patch.run.state)) run.reload();
  });
  usePolling(() => {
    run.reload();
    claims.reload();
    void journal.readOn();
  });
  const move = (step: 1 | -1) => {
    const to = neighbourOf(id, step);
    if (to !== null) go(`/runs/${to}`);
  };
  useKeys({
    "[": () => move(-1),
    "]": () => move(1),
    ".": () => document.querySelector<HTMLElement>("#verbs button")?.focus(),
  });
  return (
    <Show of={run}>
      {(data) => {
        // The row's last entry of a parked run is the parking itself; what it waits for is the entry before.
        const before = journal.entries.findLast(({ kind }) => kind !== "parked") ?? data.last;
        const shown = { ...data, last: before };
        return (
          <>
            <Head run={shown} then={run.reload} />
            <Parts run={shown} claims={claims.data?.claims ?? []} journal={journal} />
          </>
        );
      }}
    </Show>
  );
}

function Head({ run, then }: { readonly run: RunDetail; readonly then: () => void }) {
  const copy = () =>
    navigator.clipboard?.writeText(run.id).then(
      () => toast("The id is copied."),
      () => {},
    );
  return (
    <>
      <PageHead
        back={{ to: "/runs", label: "Runs" }}
        title={
          <>
            {run.program}
            {run.key !== null && <span class="muted"> · {run.key}</span>}
          </>
        }
      >
        <RunVerbs run={run} then={then} />
      </PageHead>
      <p class="run-line">
        <State state={run.state} warn={run.noCapableNode} />
        <Doing run={run} />
        <span class="mono muted">
          {shortId(run.id)}
          <button type="button" class="icon-button" onClick={copy} aria-label="Copy the id" title={run.id}>
            <Icon name="copy" size={13} />
          </button>
        </span>
        {run.version !== null && <span class="muted">version {run.version}</span>}
      </p>
      {run.error !== null && (
        <p class="notice is-bad run-error">
          <strong class="mono">{run.error.code ?? "no code"}</strong> {run.error.message}
        </p>
      )}
    </>
  );
}

function Doing({ run }: { readonly run: RunDetail }) {
  return <span>{doing(run, ticking())}</span>;
}

interface PartsProps {
  readonly run: RunDetail;
  readonly claims: readonly Claim[];
  readonly journal: ReturnType<typeof useJournal>;
}

function Parts({ run, claims, journal }: PartsProps) {
  const tab = address.value.query["tab"] ?? "timeline";
  const startsRuns = journal.entries.some(({ kind }) => kind === "enqueue" || kind === "task");
  const tasks = useRoute("runs.tasks", startsRuns ? { id: run.id, limit: 200 } : null, { everyMs: 5_000 });
  const tabs = [
    { id: "timeline", label: "Timeline" },
    ...(hasShape(tasks.data?.tasks ?? [], journal.entries) ? [{ id: "shape", label: "Shape" }] : []),
    { id: "journal", label: "Journal", badge: count(run.seq - run.baseSeq) },
    { id: "inbox", label: "Inbox", badge: run.unread },
    { id: "related", label: "Related" },
    { id: "facts", label: "Facts" },
  ];
  useKeys({ t: () => setQuery({ tab: tabs[(tabs.findIndex(({ id }) => id === tab) + 1) % tabs.length]?.id ?? null }) });
  return (
    <>
      <Tabs tabs={tabs} current={tab} />
      {tab === "timeline" && (
        <TimelinePart run={run} claims={claims} journal={journal} tasks={tasks.data?.tasks ?? []} />
      )}
      {tab === "shape" && <RunShape run={run} />}
      {tab === "journal" && (
        <Panel label="Journal">
          {journal.error ? (
            <Problem error={journal.error} />
          ) : journal.loaded ? (
            <Journal id={run.id} journal={journal} claims={claims} />
          ) : (
            <Loading />
          )}
        </Panel>
      )}
      {tab === "inbox" && <Inbox id={run.id} />}
      {tab === "related" && <Related run={run} />}
      {tab === "facts" && <RunFacts run={run} claims={claims} />}
    </>
  );
}

/** Tasks of a DAG, or entries that only graphs write. */
function hasShape(tasks: readonly TaskRow[], entries: readonly Entry[]): boolean {
  return tasks.length > 0 || entries.some(({ kind }) => kind === "node" || kind === "begun");
}

function childEndsOf(tasks: readonly TaskRow[]): ReadonlyMap<string, number> {
  return new Map(tasks.flatMap(({ run }) => (run?.endedAt ? [[run.id, Date.parse(run.endedAt)] as const] : [])));
}

function TimelinePart({
  run,
  claims,
  journal,
  tasks,
}: {
  readonly tasks: readonly TaskRow[];
  readonly run: RunDetail;
  readonly claims: readonly Claim[];
  readonly journal: ReturnType<typeof useJournal>;
}) {
  const { range, hide, at } = address.value.query;
  const chosen = journal.entries.find(({ seq }) => String(seq) === at) ?? null;
  if (journal.error) return <Problem error={journal.error} />;
  if (!journal.loaded) return <Loading />;
  return (
    <div class={`timeline-page ${chosen === null ? "" : "has-chosen"}`}>
      <Panel
        title="Who had it, and what was done"
        actions={
          <>
            <select
              class="input"
              aria-label="Range"
              value={range ?? "all"}
              onChange={(event) => setQuery({ range: event.currentTarget.value === "all" ? null : "claim" })}
            >
              <option value="all">whole run</option>
              <option value="claim">last claim</option>
            </select>
            <label class="check">
              <input
                type="checkbox"
                checked={hide === "done"}
                onChange={(event) => setQuery({ hide: event.currentTarget.checked ? "done" : null })}
              />
              hide done
            </label>
          </>
        }
      >
        <Timeline
          run={run}
          claims={claims}
          entries={journal.entries}
          childEnds={childEndsOf(tasks)}
          range={range === "claim" ? "claim" : "all"}
          hideDone={hide === "done"}
          chosen={chosen?.seq ?? null}
        />
        <LaneStory run={run} claims={claims} />
        {journal.missing > 0 && (
          <p class="notice">
            {count(journal.missing)} entries in the middle are not drawn.{" "}
            <button type="button" class="link" onClick={journal.readMiddle}>
              Read more
            </button>
          </p>
        )}
      </Panel>
      {chosen !== null && <Chosen run={run} entry={chosen} claims={claims} />}
    </div>
  );
}

function Chosen({
  run,
  entry,
  claims,
}: {
  readonly run: RunDetail;
  readonly entry: Entry;
  readonly claims: readonly Claim[];
}) {
  const holder = claims.find(({ epoch }) => epoch === entry.epoch)?.holder ?? null;
  return (
    <Panel title={`${entry.kind} ${entry.name}`} actions={<a href={here({ at: null })}>close</a>}>
      <dl class="facts panel-body">
        <dt>Entry</dt>
        <dd class="num">{entry.seq}</dd>
        <dt>Written</dt>
        <dd class="num">{entry.at}</dd>
        <dt>Claim</dt>
        <dd>
          {entry.epoch} {holder?.name}
        </dd>
        <dt>Key</dt>
        <dd class="mono">{entry.key ?? "–"}</dd>
        <dt>Payload</dt>
        <dd>{entry.bytes === null ? "–" : <Payload key={entry.seq} id={run.id} entry={entry} />}</dd>
      </dl>
    </Panel>
  );
}
