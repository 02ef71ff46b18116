// Approvals: what is asked, the plan that will be done, by which run, since when, until when; decided with a note.

import { useState } from "preact/hooks";
import { shortId } from "../live/address.js";
import { ApiRefusal, call, may } from "../live/api.js";
import type { Approval } from "../live/model.js";
import { address, href, setQuery } from "../live/router.js";
import { useLive } from "../live/stream.js";
import { useRoute } from "../live/use-route.js";
import { JsonTree } from "../part/json-tree.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { PageHead } from "../part/tabs.js";
import { Age, Until } from "../part/time.js";
import { toast } from "../part/toast.js";

export default function ApprovalsPage() {
  const { to } = address.value.query;
  const list = useRoute("approvals.list", { limit: 100, ...(to && { to }) }, { everyMs: 10_000 });
  useLive(["inbox"], () => list.reload());
  const groups = [...new Set([...(to ? [to] : []), ...(list.data?.rows.flatMap((one) => one.to ?? []) ?? [])])];
  return (
    <>
      <PageHead title="Approvals">
        {groups.length > 0 && (
          <select
            class="input"
            aria-label="Asked of"
            value={to ?? ""}
            onChange={(event) => setQuery({ to: event.currentTarget.value || null })}
          >
            <option value="">asked of anyone</option>
            {groups.map((group) => (
              <option key={group}>{group}</option>
            ))}
          </select>
        )}
      </PageHead>
      <Panel label="Open approvals">
        <Show of={list} empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No open question." /> }}>
          {({ rows }) =>
            rows.map((one) => <Question key={`${one.runId} ${one.nth} ${one.approval}`} one={one} then={list.reload} />)
          }
        </Show>
      </Panel>
    </>
  );
}

function Question({ one, then }: { readonly one: Approval; readonly then: () => void }) {
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [conflict, setConflict] = useState<string | null>(null);
  const allowed = may("approve");
  const decide = async (choice: string) => {
    setBusy(true);
    const { runId: id, approval, nth, hash } = one;
    try {
      await call("runs.decide", { id, approval, nth, choice, ...(note && { note }), ...(hash && { shown: hash }) });
      toast(`Decided: ${choice}.`);
      then();
    } catch (error) {
      // A conflict stays next to the question until it was read.
      setConflict(error instanceof ApiRefusal ? error.message : String(error));
    }
    setBusy(false);
  };
  return (
    <article class="approval" aria-label={one.ask ?? one.approval}>
      <header>
        <h2>{one.ask ?? <span class="muted">{one.approval}: encrypted, or not yours to read</span>}</h2>
        <a href={href(`/runs/${one.runId}`)}>
          {one.program} <span class="mono">{shortId(one.runId)}</span>
        </a>
        <span class="muted">
          asked <Age at={one.askedAt} suffix=" ago" />
          {one.to !== null && <> of {one.to}</>}
          {one.deadline !== null && (
            <>
              {" "}
              · expires in <Until at={one.deadline} />
            </>
          )}
        </span>
      </header>
      {one.plan !== undefined && one.plan !== null && (
        <div class="plan">
          <h3>
            Plan
            {one.hash !== null && (
              <span class="muted"> · your decision is bound to what you see ({one.hash.slice(0, 4)}…)</span>
            )}
          </h3>
          <JsonTree value={one.plan} />
        </div>
      )}
      {conflict !== null && (
        <p class="notice is-warn conflict" role="alert">
          {conflict}{" "}
          <button
            type="button"
            class="link"
            onClick={() => {
              setConflict(null);
              then();
            }}
          >
            Dismiss
          </button>
        </p>
      )}
      <label class="field">
        <span>Note</span>
        <input value={note} onInput={(event) => setNote(event.currentTarget.value)} autocomplete="off" />
      </label>
      <div class="actions verbs">
        {one.choices.map((choice, i) => (
          <button
            key={choice}
            type="button"
            class={`button ${i === 0 ? "is-primary" : ""}`}
            disabled={busy || !allowed}
            title={allowed ? undefined : "Needs the permission approve"}
            onClick={() => decide(choice)}
          >
            {choice}
          </button>
        ))}
      </div>
    </article>
  );
}
