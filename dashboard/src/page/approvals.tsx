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
  const [conflicts, setConflicts] = useState<readonly Conflict[]>([]);
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
        <Show
          of={list}
          empty={{
            when: ({ rows }) => withConflicts(rows, conflicts).length === 0,
            show: <Empty title="No open question." />,
          }}
        >
          {({ rows }) =>
            withConflicts(rows, conflicts).map((one) => (
              <Question
                key={idOf(one)}
                one={one}
                conflict={conflicts.find(({ question }) => idOf(question) === idOf(one))?.text ?? null}
                onConflict={(text) => {
                  const others = conflicts.filter(({ question }) => idOf(question) !== idOf(one));
                  setConflicts(text === null ? others : [...others, { question: one, text }]);
                }}
                then={list.reload}
              />
            ))
          }
        </Show>
      </Panel>
    </>
  );
}

/** The answer of the store to a decision that came too late. */
interface Conflict {
  readonly question: Approval;
  readonly text: string;
}

const idOf = ({ runId, nth, approval }: Approval) => `${runId} ${nth} ${approval}`;

/** A question with a conflict stays until the conflict was read, although it is no longer open. */
function withConflicts(rows: readonly Approval[], conflicts: readonly Conflict[]): readonly Approval[] {
  const open = new Set(rows.map(idOf));
  return [...conflicts.map(({ question }) => question).filter((one) => !open.has(idOf(one))), ...rows];
}

/** The two choices of a question that names none, and the one of a question whose answer is data. */
const LABELS: Readonly<Record<string, string>> = { approved: "Approve", denied: "Deny", answered: "Answer" };

interface QuestionProps {
  readonly one: Approval;
  readonly conflict: string | null;
  readonly onConflict: (text: string | null) => void;
  readonly then: () => void;
}

/** The only choice of a question whose answer is data. */
const ANSWERED = "answered";

function Question({ one, conflict, onConflict, then }: QuestionProps) {
  const [note, setNote] = useState("");
  const [data, setData] = useState("");
  const [busy, setBusy] = useState(false);
  const allowed = may("approve");
  const decide = async (choice: string) => {
    const given = dataOf(data, choice);
    if (typeof given === "string") return onConflict(given);
    setBusy(true);
    const { runId: id, approval, nth, hash } = one;
    const more = { ...(note && { note }), ...(hash && { shown: hash }) };
    try {
      await call("runs.decide", { id, approval, nth, choice, ...given, ...more });
      toast(`Decided: ${choice}.`);
      then();
    } catch (error) {
      // A conflict stays next to the question until it was read.
      onConflict(error instanceof ApiRefusal ? error.message : String(error));
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
          asked{one.to !== null && <> of {one.to}</>} <Age at={one.askedAt} suffix=" ago" />
          {one.deadline !== null && (
            <>
              {" "}
              · <Until at={one.deadline} before="expires in " late="over its deadline" />
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
              onConflict(null);
              then();
            }}
          >
            Dismiss
          </button>
        </p>
      )}
      <Data isAnswer={one.choices.includes(ANSWERED)} value={data} onInput={setData} />
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
            {LABELS[choice] ?? choice}
          </button>
        ))}
      </div>
    </article>
  );
}

interface DataProps {
  /** The data is the answer, and not only sent along with a choice. */
  readonly isAnswer: boolean;
  readonly value: string;
  readonly onInput: (text: string) => void;
}

function Data({ isAnswer, value, onInput }: DataProps) {
  const field = (
    <label class="field">
      <span>{isAnswer ? "Answer (JSON)" : "Data (JSON)"}</span>
      <textarea
        class="code"
        rows={3}
        spellcheck={false}
        placeholder={'{"words": 500}'}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
  if (isAnswer) return field;
  return (
    <details>
      <summary>Send data with the choice</summary>
      {field}
    </details>
  );
}

/** A text instead: what is wrong with it, before anything is sent. */
function dataOf(text: string, choice: string): { readonly data?: unknown } | string {
  if (text.trim() === "" && choice !== ANSWERED) return {};
  try {
    return { data: JSON.parse(text) };
  } catch {
    return 'The data is not JSON: a text is in quotes, as "tea", and an object in braces, as {"words": 500}.';
  }
}
