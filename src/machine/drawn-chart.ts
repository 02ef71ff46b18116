// A state chart as plain data: what is stored of a machine, and drawn.

import { shownDelay } from "./draft.js";
import type { Chart } from "./logic.js";

export function drawnChart(chart: Chart): object {
  return { kind: "machine", root: stateOf(chart) };
}

function stateOf({ key, type, initial, states, transitions }: Chart): unknown {
  const on = transitions.flatMap(({ event, delay, to }) =>
    to.map((one) => ({ event: event ?? (delay === null ? "always" : `after ${shownDelay(delay)}`), to: one })),
  );
  return {
    name: key,
    initial: initial === null ? null : (initial.split(".").at(-1) ?? null),
    final: type === "final",
    parallel: type === "parallel",
    states: states.map(stateOf),
    on,
  };
}
