// The top bar: env switcher, search, state of the stream, theme, and who is looking.

import { useState } from "preact/hooks";
import { shortId } from "../live/address.js";
import { call, session } from "../live/api.js";
import { helpShown } from "../live/keys.js";
import type { RunRow } from "../live/model.js";
import { env, go, href } from "../live/router.js";
import { streamState } from "../live/stream.js";
import { nextTheme, theme } from "../live/theme.js";
import { Icon } from "./icon.js";
import { State } from "./state.js";

export function TopBar() {
  const who = session.value;
  return (
    <header class="top-bar">
      <a class="brand" href={href("/")} aria-label="Holdfast, overview">
        <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
          <rect width="32" height="32" rx="7" class="brand-box" />
          <path class="brand-line" d="M9 7v18M23 7v18M9 16h6" />
          <path class="brand-spark" d="M19 16h4" />
        </svg>
        <span>Holdfast</span>
      </a>
      <EnvSwitcher />
      <Search />
      <StreamState />
      <button
        type="button"
        class="icon-button"
        onClick={nextTheme}
        title={`Theme: ${theme.value}`}
        aria-label={`Theme: ${theme.value}. Change`}
      >
        <Icon name="theme" />
      </button>
      <button
        type="button"
        class="icon-button help-button"
        onClick={() => (helpShown.value = true)}
        title="Keys (?)"
        aria-label="Keys"
      >
        ?
      </button>
      {who !== null && (
        <span class="who" title={`May: ${who.may.join(", ")}`}>
          {who.name} <span class="muted">({who.may.at(-1)})</span>
        </span>
      )}
    </header>
  );
}

function EnvSwitcher() {
  const envs = session.value?.envs ?? [];
  const current = env.value ?? envs[0] ?? "";
  if (envs.length < 2 && env.value === undefined) return <span class="env-name">{current}</span>;
  const all = envs.includes(current) || current === "" ? envs : [current, ...envs];
  return (
    <select
      class="env"
      aria-label="Environment"
      value={current}
      onChange={(event) => {
        // Loaded again: what was shown, the stream and the lists belong to the other one.
        const to = new URL(location.href);
        to.search = new URLSearchParams({ env: event.currentTarget.value }).toString();
        location.assign(to);
      }}
    >
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

const STREAM: Readonly<Record<string, string>> = {
  connecting: "connecting",
  live: "live",
  polling: "polling",
  offline: "offline",
};

function StreamState() {
  const state = streamState.value;
  return (
    <span
      class={`stream is-${state}`}
      role="status"
      title={state === "polling" ? "The stream does not get through; the page asks every few seconds" : undefined}
    >
      <span class="dot" aria-hidden="true" />
      <span class="stream-word">{STREAM[state]}</span>
    </span>
  );
}

/** Finds a run by the beginning of its id, or a program by its name. */
function Search() {
  const [found, setFound] = useState<readonly RunRow[] | null>(null);
  const [said, setSaid] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget as HTMLFormElement).get("q") ?? "").trim();
    setFound(null);
    setSaid("");
    if (text === "") return;
    try {
      const rows = await search(text);
      if (rows === null) return;
      if (rows.length === 1) go(`/runs/${(rows[0] as RunRow).id}`);
      else if (rows.length === 0) setSaid(`No run or program fits “${text}”.`);
      else setFound(rows);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  const close = () => {
    setFound(null);
    setSaid("");
  };
  return (
    <form class="search" role="search" onSubmit={submit}>
      <Icon name="search" />
      <input
        id="search"
        name="q"
        type="search"
        placeholder="Run id or program"
        aria-label="Search runs and programs"
        autocomplete="off"
        onInput={close}
      />
      <kbd>/</kbd>
      {(found !== null || said !== "") && (
        <div class="search-found" role="status">
          {said}
          {found?.map((run) => (
            <a key={run.id} href={href(`/runs/${run.id}`)} onClick={close}>
              <State state={run.state} /> {run.program} <span class="muted mono">{shortId(run.id)}</span>
            </a>
          ))}
        </div>
      )}
    </form>
  );
}

async function search(text: string): Promise<readonly RunRow[] | null> {
  if (/^[0-9a-f-]{8,36}$/i.test(text)) return (await call("runs.find", { id: text.toLowerCase() })).rows;
  const { rows } = await call("programs.list", {});
  const fits = rows.filter(({ name }) => name.includes(text));
  if (fits.length === 0) return [];
  go(
    fits.length === 1
      ? `/programs/${encodeURIComponent((fits[0] as { name: string }).name)}`
      : `/programs?name=${encodeURIComponent(text)}`,
  );
  return null;
}
