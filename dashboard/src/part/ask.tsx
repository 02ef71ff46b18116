// One dialog for all verbs: it names the effect, asks once, and gives the focus back.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Field } from "../draw/field.js";

export interface Question {
  readonly title: string;
  /** What will happen, in a sentence. */
  readonly effect: string;
  /** What changes, line by line. */
  readonly lines?: readonly string[];
  readonly confirm: string;
  readonly danger?: boolean;
  readonly fields?: readonly Field[];
  /** This text has to be typed before it can be confirmed. */
  readonly type?: string;
  readonly note?: boolean;
}

export type Values = Readonly<Record<string, string>>;

const asked = signal<{ readonly question: Question; readonly answer: (values: Values | null) => void } | null>(null);

/** Null when the person does not confirm. */
export function ask(question: Question): Promise<Values | null> {
  asked.value?.answer(null);
  return new Promise((answer) => {
    asked.value = { question, answer };
  });
}

export function AskDialog() {
  const open = asked.value;
  return open === null ? null : <Dialog key={open.question.title} question={open.question} answer={open.answer} />;
}

function Dialog({
  question,
  answer,
}: {
  readonly question: Question;
  readonly answer: (values: Values | null) => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const done = (values: Values | null) => {
    dialog.current?.close();
    asked.value = null;
    answer(values);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const values = Object.fromEntries([...form].map(([name, value]) => [name, String(value)]));
    const wrong = wrongJson(question, values);
    if (wrong === null) done(values);
    else setProblem(wrong);
  };
  const fields = [...(question.fields ?? []), ...(question.note === false ? [] : [NOTE])];
  return (
    <dialog ref={dialog} class="ask" aria-labelledby="ask-title" onCancel={() => done(null)}>
      <form onSubmit={submit}>
        <h2 id="ask-title">{question.title}</h2>
        <p>{question.effect}</p>
        {question.lines !== undefined && <pre class="changes">{question.lines.join("\n")}</pre>}
        {fields.map((field) => (
          <FieldInput key={field.name} field={field} />
        ))}
        {question.type !== undefined && (
          <label class="field">
            <span>
              Type <strong>{question.type}</strong> to confirm
            </span>
            <input name="typed" required pattern={question.type} autocomplete="off" />
          </label>
        )}
        {problem !== null && (
          <p class="notice is-bad" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" class="button" onClick={() => done(null)}>
            Leave it
          </button>
          <button type="submit" class={`button ${question.danger ? "is-danger" : "is-primary"}`}>
            {question.confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}

const NOTE: Field = { name: "note", label: "Note for the audit", kind: "text" };

function wrongJson({ fields = [] }: Question, values: Values): string | null {
  for (const { name, label, kind } of fields) {
    if (kind !== "json" || (values[name] ?? "").trim() === "") continue;
    try {
      JSON.parse(values[name] as string);
    } catch (error) {
      return `${label} is not JSON: ${error instanceof Error ? error.message : ""}`;
    }
  }
  return null;
}

function FieldInput({ field }: { readonly field: Field }) {
  const { name, label, kind, value = "", choices = [], required = false, help } = field;
  if (kind === "check") {
    return (
      <label class="check">
        <input type="checkbox" name={name} defaultChecked={value === "on"} />
        <span>{label}</span>
      </label>
    );
  }
  return (
    <label class="field" htmlFor={`ask-${name}`}>
      <span>{label}</span>
      {kind === "json" ? (
        <textarea
          id={`ask-${name}`}
          name={name}
          rows={6}
          spellcheck={false}
          class="code"
          required={required}
          defaultValue={value}
        />
      ) : kind === "choice" ? (
        <select id={`ask-${name}`} name={name}>
          {choices.map((choice) => (
            <option key={choice} value={choice} selected={choice === value}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={`ask-${name}`}
          {...(kind === "number" && { type: "number" as const, step: "any" })}
          name={name}
          defaultValue={value}
          required={required}
          autocomplete="off"
        />
      )}
      {help !== undefined && <small class="muted">{help}</small>}
    </label>
  );
}
