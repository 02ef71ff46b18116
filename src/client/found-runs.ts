// Finds runs of an env: one by its key, a page by what is known about them, or their number.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { dedupeKey } from "../kernel/name.js";
import { type Per, perOf, programScope } from "../kernel/per.js";
import { type Attributes, attributesOf } from "../kernel/run/attribute.js";
import type { RunState } from "../kernel/run/run-state.js";
import type { RunFilter, RunRecord } from "../store/contract/run/runs.js";
import type { Counted } from "../store/contract/view/views.js";
import { NodeUnknown, nameOf, nodesOf, type ProgramRef } from "./nodes.js";
import type { RunHandle } from "./run-handle.js";
import type { Runs, RunsOptions } from "./runs.js";

/** Which runs are meant. Without a field: all of the env. */
export interface RunQuery {
  /** Only runs of this program. */
  readonly program?: ProgramRef;
  /** One state, or any of several. */
  readonly state?: RunState | readonly RunState[];
  /** Only runs of this queue. */
  readonly queue?: string;
  /** Only runs of this stack. */
  readonly stack?: string;
  /** Started under a key that begins with this. Reads all keys that do: give enough of them. */
  readonly keyPrefix?: string;
  /** With all of these search attributes. */
  readonly attributes?: Attributes;
  /** Started at or after this time, or this long ago at most. */
  readonly since?: Date | Duration;
  /** Started before this time. */
  readonly until?: Date;
  /** Held by this node: its identity, its name, or the beginning of its incarnation. */
  readonly node?: string;
  /** Children and tasks of this run. */
  readonly parent?: string;
  /** Only those that were started by a node which leaves the work to others, whether one has taken them or not. */
  readonly deferred?: boolean;
  /** Archived runs instead of the others. @default false */
  readonly archived?: boolean;
}

/** A key of a program. */
export interface RunKey {
  /** The program, or its name. */
  readonly program: ProgramRef;
  /** The key. */
  readonly key: string;
  /** As it was started. @default env */
  readonly per?: Per;
}

/** Which page of a list. */
export interface RunPageOptions {
  /** Up to 1,000. @default 50 */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** Finds runs by key, program, state, attributes, node, parent and time. */
export interface FoundRuns {
  /** The run that was started last under this key, or null. */
  get<Out = unknown>(key: RunKey): Promise<RunHandle<Out> | null>;
  /** Newest first. `next` is the `after` of the following page; null at the end. */
  list(
    query?: RunQuery,
    page?: RunPageOptions,
  ): Promise<{ readonly runs: readonly RunRecord[]; readonly next: string | null }>;
  /** Counted up to `most`, 10,000 if omitted; `atLeast` means that there are more. */
  count(query?: RunQuery, options?: { readonly most?: number }): Promise<Counted>;
}

type Place = Pick<RunsOptions, "store" | "env" | "stack" | "world">;

const PAGE = 50;
const MOST_COUNTED = 10_000;
const NONE = { runs: [], next: null };

export function foundRuns(place: Place, runs: Runs): FoundRuns {
  const { store, env, stack } = place;
  return {
    get: async ({ program, key, per }) => {
      const scope = programScope(nameOf(program), perOf(per), stack);
      const runId = await store.runs.findKey({ env, scope, key: dedupeKey(key, "key") });
      return runId === null ? null : runs.run(runId);
    },
    list: async (query = {}, { limit = PAGE, after } = {}) => {
      const filter = await filterOf(place, query);
      return filter ? store.runs.list(filter, { limit, ...(after !== undefined && { before: after }) }) : NONE;
    },
    count: async (query = {}, { most = MOST_COUNTED } = {}) => {
      const filter = await filterOf(place, query);
      return filter ? store.views.count(filter, most) : { n: 0, atLeast: false };
    },
  };
}

/** Null: nothing can match, because there is no such node. */
async function filterOf(place: Place, query: RunQuery): Promise<RunFilter | null> {
  const { program, state, queue, stack, keyPrefix, attributes, since, until, node, parent, archived, deferred } = query;
  const owner = node === undefined ? undefined : await incarnationOf(place, node);
  if (owner === null) return null;
  return {
    env: place.env,
    ...(program !== undefined && { program: nameOf(program) }),
    ...(state !== undefined && { states: typeof state === "string" ? [state] : state }),
    ...(queue !== undefined && { queue }),
    ...(stack !== undefined && { stack }),
    ...(keyPrefix !== undefined && { keyPrefix }),
    ...(attributes !== undefined && { attributes: attributesOf(attributes) }),
    ...(since !== undefined && { from: instantOf(since, place) }),
    ...(until !== undefined && { to: dateOf(until, "until") }),
    ...(owner !== undefined && { owner }),
    ...(parent !== undefined && { parent }),
    ...(archived !== undefined && { archived }),
    ...(deferred && { deferred }),
  };
}

async function incarnationOf({ store, env }: Place, node: string): Promise<string | null> {
  try {
    return (await nodesOf(store, env, "client").find(node)).incarnation;
  } catch (error) {
    if (error instanceof NodeUnknown) return null;
    throw error;
  }
}

function instantOf(since: Date | Duration, { world }: Place): number {
  if (since instanceof Date) return dateOf(since, "since");
  return Math.max(Math.floor(world.wallNow() - toMs(since, "since")), 0);
}

function dateOf(date: Date, path: string): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidInput(path, "must be a valid Date");
  return ms;
}
