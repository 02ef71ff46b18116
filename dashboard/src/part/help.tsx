// The keys of the page, as a dialog.

import { useEffect, useRef } from "preact/hooks";
import { helpShown, keysOn, MOVES, setKeys } from "../live/keys.js";

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "search"],
  ["j k", "next and previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  [".", "go to the verbs"],
  ["t", "next tab"],
  ["[ ]", "neighbours in the list you came from"],
  ["← →", "visits of a graph"],
  ["Esc", "leave a field or a dialog"],
];

export function HelpDialog() {
  return helpShown.value ? <Help /> : null;
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => {
    dialog.current?.close();
    helpShown.value = false;
  };
  return (
    <dialog ref={dialog} class="ask" aria-labelledby="help-title" onCancel={close}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
        {Object.entries(MOVES).map(([key, [, label]]) => (
          <div key={key}>
            <dt>
              <kbd>g {key}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={keysOn.value} onChange={(event) => setKeys(event.currentTarget.checked)} />
        <span>Use these keys</span>
      </label>
      <div class="dialog-actions">
        <button type="button" class="button is-primary" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}
