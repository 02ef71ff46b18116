// The state of a run: a word, a shape and a colour.

import type { RunState } from "../live/model.js";

const SHAPES: Readonly<Record<RunState, string>> = {
  waiting: "M10.500 6a4.500 4.500 0 1 1-9 0 4.500 4.500 0 0 1 9 0zM6 6h.1",
  running: "M10.500 6a4.500 4.500 0 1 1-9 0 4.500 4.500 0 0 1 9 0zM6 1.500a4.500 4.500 0 0 1 0 9z",
  parked:
    "M4.300 1.800a4.500 4.500 0 0 0-2 1.700M1.500 6a4.500 4.500 0 0 0 .8 2.500M4.300 10.200a4.500 4.500 0 0 0 3.400 0M9.700 8.500a4.500 4.500 0 0 0 .8-2.500M9.700 3.500a4.500 4.500 0 0 0-2-1.700",
  held: "M10.500 6a4.500 4.500 0 1 1-9 0 4.500 4.500 0 0 1 9 0zM6 3.500V6l1.800 1.200",
  blocked: "M10.500 6a4.500 4.500 0 1 1-9 0 4.500 4.500 0 0 1 9 0z",
  paused: "M4 2v8M8 2v8",
  completed: "M2 6.500 5 9.500 10.500 3",
  failed: "M6 1.500 11 10.500H1z",
  dead: "M2.500 2.500l7 7M9.500 2.500l-7 7",
  quarantined: "M6 1.500 11 10.500H1zM6 5v2.500M6 9h.1",
  cancelled: "M2 6h8",
  skipped: "M2 6h8",
};

export function StateShape({ state, warn = false }: { readonly state: RunState; readonly warn?: boolean }) {
  return (
    <svg
      class={`state-shape is-${warn ? "warn" : state}`}
      viewBox="0 0 12 12"
      width="12"
      height="12"
      aria-hidden="true"
    >
      <path d={SHAPES[state]} />
    </svg>
  );
}

/** `warn`: it waits and no live node can run it. */
export function State({ state, warn = false }: { readonly state: RunState; readonly warn?: boolean }) {
  return (
    <span class={`state is-${warn ? "warn" : state}`}>
      <StateShape state={state} warn={warn} />
      {state}
    </span>
  );
}
