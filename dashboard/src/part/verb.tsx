// A verb as a button: greyed with the reason when the person lacks the permission, confirmed once, answered with what the store said.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiRefusal, may } from "../live/api.js";
import type { Permission } from "../live/model.js";
import { ask, type Question, type Values } from "./ask.js";
import { toast } from "./toast.js";

interface VerbProps {
  readonly children: ComponentChildren;
  readonly needs?: Permission;
  /** Null: done at once, without a question. */
  readonly question: Question | null;
  /** Returns the sentence to show. */
  readonly act: (values: Values) => Promise<string>;
  readonly then?: () => void;
  readonly danger?: boolean;
  readonly primary?: boolean;
  readonly disabled?: string | false;
}

export function Verb({
  children,
  needs = "operate",
  question,
  act,
  then,
  danger,
  primary,
  disabled = false,
}: VerbProps) {
  const [busy, setBusy] = useState(false);
  const lacks = !may(needs) ? `Needs the permission ${needs}` : disabled;
  const press = async () => {
    const values = question === null ? {} : await ask(question);
    if (values === null) return;
    setBusy(true);
    await perform(() => act(values));
    setBusy(false);
    then?.();
  };
  const tone = danger ? "is-danger-quiet" : primary ? "is-primary" : "";
  return (
    <button
      type="button"
      class={`button ${tone}`}
      disabled={busy || lacks !== false}
      title={lacks || undefined}
      onClick={press}
    >
      {children}
    </button>
  );
}

/** A conflict is a sentence, not an error. */
export async function perform(act: () => Promise<string>): Promise<boolean> {
  try {
    toast(await act());
    return true;
  } catch (error) {
    const refusal = error instanceof ApiRefusal ? error : null;
    const lacks = refusal?.permission ? ` It needs the permission ${refusal.permission}.` : "";
    toast((refusal?.message ?? String(error)) + lacks, refusal?.status === 409 ? "warn" : "bad");
    return false;
  }
}

const SAID: Readonly<Record<string, string>> = {
  accepted: "Accepted.",
  cancelled: "Cancelled.",
  paused: "Paused.",
  resumed: "Resumed.",
  retried: "Retried: it waits for a node.",
  requested: "Asked its holder; it ends at the next step.",
  asked: "Asked its holder; it ends at the next step.",
  ended: "Nothing was changed: it had already ended.",
  already: "Nothing was changed: this was done before.",
  unknown: "There is no such run any more.",
};

/** The store's answer as a sentence. */
export function saidBy({
  outcome,
  acknowledged,
  state,
}: {
  outcome: string;
  acknowledged?: boolean | undefined;
  state?: string | undefined;
}): string {
  const said = SAID[outcome] ?? `Answer: ${outcome}.`;
  const ended = state === undefined ? "" : ` State: ${state}.`;
  return acknowledged === false ? `${said} Its holder has not answered yet.` : said + ended;
}
