// A verb for all runs that fit: a preview with a digest first, then steps that can be stopped. What was shown is what is done.

import { useEffect, useRef, useState } from "preact/hooks";
import { cappedCount, count, plural } from "../draw/words.js";
import { shortId } from "../live/address.js";
import { ApiRefusal, call, may } from "../live/api.js";
import { now } from "../live/clock.js";
import type { InputOf, OutputOf } from "../live/model.js";
import { env } from "../live/router.js";
import { State } from "./state.js";

type Filter = InputOf<"bulk.preview">["filter"];
type Action = InputOf<"bulk.preview">["action"];
const ACTIONS: readonly Action[] = ["cancel", "pause", "resume", "retry", "retry from start"];
/** Over this many the number has to be typed. */
const TYPED_ABOVE = 100;
const WAIT_MS = 3_000;

export function BulkButton({ filter, then }: { readonly filter: Filter; readonly then: () => void }) {
  const [open, setOpen] = useState(false);
  const lacks = may("operate") ? undefined : "Needs the permission operate";
  return (
    <>
      <button type="button" class="button" disabled={lacks !== undefined} title={lacks} onClick={() => setOpen(true)}>
        All that fit…
      </button>
      {open && (
        <BulkDialog
          filter={filter}
          close={() => {
            setOpen(false);
            then();
          }}
        />
      )}
    </>
  );
}

interface Progress {
  readonly done: number;
  readonly changed: number;
  readonly ended: boolean;
}

export function BulkDialog({
  filter,
  close,
  first = "retry",
}: {
  readonly filter: Filter;
  readonly close: () => void;
  readonly first?: Action;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const stop = useRef(false);
  const [action, setAction] = useState<Action>(first);
  const [preview, setPreview] = useState<OutputOf<"bulk.preview"> | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  // The end of the time range is fixed when the dialog opens: later runs are not meant.
  const [fixed] = useState<Filter>(() => ({
    ...(env.value !== undefined && { env: env.value }),
    ...filter,
    to: filter.to ?? new Date(now()).toISOString(),
  }));
  useEffect(() => {
    dialog.current?.showModal();
    return () => {
      stop.current = true;
    };
  }, []);
  useEffect(() => {
    setPreview(null);
    call("bulk.preview", { action, filter: fixed }).then(setPreview, (error) => setProblem(textOf(error)));
  }, [action]);

  const run = async () => {
    if (preview === null) return;
    try {
      await steps({ action, filter: fixed, digest: preview.digest }, setProgress, () => stop.current);
    } catch (error) {
      setProblem(textOf(error));
    }
  };
  const stopOrClose = () => {
    const goesOn = progress !== null && !progress.ended && !stop.current;
    if (goesOn) stop.current = true;
    else close();
  };
  const mustType = preview !== null && preview.count.n > TYPED_ABOVE ? String(preview.count.n) : null;
  const ready =
    preview !== null && preview.count.n > 0 && (mustType === null || typed.replaceAll(/\D/g, "") === mustType);
  return (
    <dialog ref={dialog} class="ask" aria-labelledby="bulk-title" onCancel={close} onClose={close}>
      <h2 id="bulk-title">All runs that fit</h2>
      <label class="field">
        <span>Verb</span>
        <select
          value={action}
          disabled={progress !== null}
          onChange={(event) => setAction(event.currentTarget.value as Action)}
        >
          {ACTIONS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      {preview === null ? (
        <p class="muted">{problem === null ? "Counting…" : ""}</p>
      ) : (
        <Preview action={action} preview={preview} />
      )}
      {mustType !== null && progress === null && (
        <label class="field">
          <span>
            Type <strong>{count(Number(mustType))}</strong> to confirm
          </span>
          <input value={typed} inputMode="numeric" onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
      )}
      {progress !== null && (
        <p role="status">
          {plural(progress.done, "run")} handled, {count(progress.changed)} changed{progress.ended ? "." : "…"}
        </p>
      )}
      {problem !== null && (
        <p class="notice is-bad" role="alert">
          {problem}
        </p>
      )}
      <div class="dialog-actions">
        <button type="button" class="button" onClick={stopOrClose}>
          {progress !== null && !progress.ended ? "Stop" : "Close"}
        </button>
        {progress === null && (
          <button
            type="button"
            class={`button ${action === "cancel" ? "is-danger" : "is-primary"}`}
            disabled={!ready}
            onClick={run}
          >
            {action} {preview === null ? "" : cappedCount(preview.count)}
          </button>
        )}
      </div>
    </dialog>
  );
}

function Preview({ action, preview }: { readonly action: Action; readonly preview: OutputOf<"bulk.preview"> }) {
  return (
    <div>
      <p>
        <strong>{cappedCount(preview.count)}</strong> would be changed by “{action}”.{" "}
        {preview.examples.length > 0 && "Among them:"}
      </p>
      <ul class="examples">
        {preview.examples.map((run) => (
          <li key={run.id}>
            <State state={run.state} /> {run.program} <span class="mono muted">{shortId(run.id)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

async function steps(
  request: Pick<InputOf<"bulk.step">, "action" | "filter" | "digest">,
  report: (progress: Progress) => void,
  stopped: () => boolean,
): Promise<void> {
  let before: string | null = null;
  let done = 0;
  let changed = 0;
  report({ done, changed, ended: false });
  do {
    const step = await stepWhenAllowed({ ...request, ...(before !== null && { before }) }, stopped);
    if (step === null) return report({ done, changed, ended: true });
    done += step.answers.length;
    changed += step.answers.filter(
      ({ outcome }) => !["ended", "unknown", "already", "unchanged"].includes(outcome),
    ).length;
    before = step.next;
    report({ done, changed, ended: before === null || stopped() });
  } while (before !== null && !stopped());
}

/** A caller's changes per minute are limited: the step is repeated until it is allowed. Null: stopped meanwhile. */
async function stepWhenAllowed(
  step: InputOf<"bulk.step">,
  stopped: () => boolean,
): Promise<OutputOf<"bulk.step"> | null> {
  for (;;) {
    try {
      return await call("bulk.step", step);
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.code !== "TOO_MANY_WRITES") throw error;
    }
    await new Promise((next) => setTimeout(next, WAIT_MS));
    if (stopped()) return null;
  }
}

const textOf = (error: unknown) => (error instanceof ApiRefusal ? error.message : String(error));
