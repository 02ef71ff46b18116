// The ended states as an SQL list.

import { ENDED_STATES } from "../../../kernel/run/run-state.js";

export const ENDED = `(${ENDED_STATES.map((state) => `'${state}'`).join(", ")})`;
