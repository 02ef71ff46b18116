// Verbs for the selected runs, below the list.

import { plural } from "../draw/words.js";
import { ApiRefusal, call } from "../live/api.js";
import { ENDED_STATES, RETRYABLE_STATES, type RunRow } from "../live/model.js";
import { go } from "../live/router.js";
import { Verb } from "./verb.js";

interface SelectionBarProps {
  readonly rows: readonly RunRow[];
  readonly shown: number;
  readonly older: (() => void) | null;
  readonly then: () => void;
}

export function SelectionBar({ rows, shown, older, then }: SelectionBarProps) {
  const retryable = rows.filter(({ state }) => RETRYABLE_STATES.includes(state));
  const live = rows.filter(({ state }) => !ENDED_STATES.includes(state));
  const paused = rows.filter(({ state }) => state === "paused");
  return (
    <div class={`select-bar ${rows.length > 0 ? "has-some" : ""}`}>
      {rows.length > 0 && (
        <>
          <strong class="num">{rows.length} selected</strong>
          <Verb
            disabled={retryable.length === 0 && "Only failed, dead and quarantined runs can be retried"}
            question={{
              title: `Retry ${plural(retryable.length, "run")}?`,
              effect: "Each resumes where it failed; finished steps are not repeated.",
              confirm: "Retry",
            }}
            act={({ note }) => each(retryable, (id) => call("runs.retry", { id, from: "last", ...(note && { note }) }))}
            then={then}
          >
            Retry
          </Verb>
          <Verb
            disabled={live.length === 0 && "These runs have ended"}
            question={{
              title: `Pause ${plural(live.length, "run")}?`,
              effect: "Each stops after its current step until a person resumes it.",
              confirm: "Pause",
            }}
            act={({ note }) => each(live, (id) => call("runs.pause", { id, ...(note && { note }) }))}
            then={then}
          >
            Pause
          </Verb>
          {paused.length > 0 && (
            <Verb question={null} act={() => each(paused, (id) => call("runs.resume", { id }))} then={then}>
              Resume
            </Verb>
          )}
          <Verb
            danger
            disabled={live.length === 0 && "These runs have ended"}
            question={{
              title: `Cancel ${plural(live.length, "run")}?`,
              effect: "Each ends with its tasks. A cancelled run does not continue.",
              confirm: "Cancel them",
              danger: true,
            }}
            act={({ note }) => each(live, (id) => call("runs.cancel", { id, ...(note && { note }) }))}
            then={then}
          >
            Cancel
          </Verb>
          {rows.length === 1 && (
            <button type="button" class="button" onClick={() => go(`/runs/${(rows[0] as RunRow).id}`)}>
              Open
            </button>
          )}
        </>
      )}
      <span class="end">
        <span class="muted num">newest {shown}</span>
        {older !== null && (
          <button type="button" class="button" onClick={older}>
            Older
          </button>
        )}
      </span>
    </div>
  );
}

/** One after the other; says how many changed and what hindered the others. */
async function each(rows: readonly RunRow[], act: (id: string) => Promise<{ outcome: string }>): Promise<string> {
  const said = new Map<string, number>();
  for (const { id } of rows) {
    const answer = await act(id).then(
      ({ outcome }) => outcome,
      (error) => (error instanceof ApiRefusal ? error.message : String(error)),
    );
    said.set(answer, (said.get(answer) ?? 0) + 1);
  }
  return [...said].map(([answer, n]) => `${n} ${answer}`).join(", ");
}
