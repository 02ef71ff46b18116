// `client.watch`: follows the ends of all runs of an env, from a cursor, in any process.

import type { ClientParts } from "../engine/node-parts.js";
import { InvalidInput } from "../kernel/error.js";
import { ENDED_STATES } from "../kernel/run/run-state.js";
import type { EndedRun } from "../store/contract/view/views.js";
import { type EndFeed, endFeed, overlapOf } from "./end-feed.js";
import { nameOf, type ProgramRef } from "./nodes.js";

/** Options of `watch`. */
export interface WatchEndsOptions {
  /** Only runs of this program. */
  readonly program?: ProgramRef;
  /** Only ends with one of these states. @default completed, failed, cancelled, skipped, dead and quarantined */
  readonly states?: readonly EndedRun["state"][];
  /** The `cursor` of the last event that you have processed. @default from now on */
  readonly after?: string;
  /** Ends the loop from outside. */
  readonly signal?: AbortSignal;
}

/** A run ended, or was quarantined. */
export interface EndEvent extends Omit<EndedRun, "place"> {
  /** Pass it as `after` to continue from here. Identifies the event: after a restart, some come again. */
  readonly cursor: string;
}

/** A slow reader's events are dropped from memory beyond this, and read again from the store. */
const MOST_KEPT = 10_000;
const STATES: readonly string[] = [...ENDED_STATES, "quarantined"];

/** In the order of their ends, apart from ends that were committed late. At least once: the last ten seconds before `after` may come again. */
export async function* watchEnds(
  { store, world, env }: Pick<ClientParts, "store" | "world" | "env">,
  { program, states, after, signal }: WatchEndsOptions = {},
): AsyncGenerator<EndEvent, void> {
  const unknown = states?.find((state) => !STATES.includes(state));
  if (unknown !== undefined)
    throw new InvalidInput("states", `${JSON.stringify(unknown)} must be one of ${STATES.join(", ")}`);
  const name = program === undefined ? null : nameOf(program);
  const wanted = (run: EndedRun) =>
    (name === null || run.program === name) && (states === undefined || states.includes(run.state));
  for await (const run of ends(endFeed(store, world, env), after, signal)) {
    if (!wanted(run)) continue;
    const { place: cursor, ...rest } = run;
    yield { ...rest, cursor };
  }
}

/** Follows first and reads what was before then: nothing is between them. What comes both ways is passed on once. */
async function* ends(
  feed: EndFeed,
  after: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<EndedRun> {
  let kept: EndedRun[] = [];
  let isBehind = after !== undefined;
  let place = after === undefined ? undefined : overlapOf(after);
  let wake = () => {};
  const leave = feed.follow((news) => {
    kept.push(...news);
    if (kept.length > MOST_KEPT) [kept, isBehind] = [[], true];
    wake();
  });
  const onAbort = () => wake();
  signal?.addEventListener("abort", onAbort);
  try {
    while (!signal?.aborted) {
      while (isBehind && !signal?.aborted) {
        const { rows, next } = await feed.read(place);
        isBehind = rows.length > 0;
        place = next;
        const read = new Set(rows.map((row) => row.place));
        kept = kept.filter((row) => !read.has(row.place));
        yield* rows;
      }
      const next = kept.shift();
      if (next) {
        place = next.place;
        yield next;
      } else if (!signal?.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    leave();
  }
}
