// Handlers that read runs.

import { liveBuilds } from "../../client/capable-node.js";
import { tasksOf } from "../../client/task-pages.js";
import type { Payload } from "../../kernel/codec/payload.js";
import { isUuid } from "../../kernel/id.js";
import type { RunFilter, RunRecord } from "../../store/contract/run/runs.js";
import { DEAD_STATES } from "../../store/contract/view/dead-letters.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import { notFound } from "../problem.js";
import type { RUN_ROUTES } from "../routes/runs.js";
import { iso } from "../view/iso.js";
import { ownerLane } from "../view/owner-lane.js";
import { redacted } from "../view/redact.js";
import { entriesFor, entryView, nodesFor, runRows, runView } from "../view/run-rows.js";

/** Counts stop here: a page says "more than 10,000". */
const MOST_COUNTED = 10_000;
/** Entries that are read for the owner lane: the last ones. */
const LANE_ENTRIES = 1_000;
const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

interface FilterInput {
  readonly state?: RunFilter["states"] | undefined;
  readonly program?: string | undefined;
  readonly queue?: string | undefined;
  readonly stack?: string | undefined;
  readonly node?: string | undefined;
  readonly parent?: string | undefined;
  readonly key?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly archived?: boolean | undefined;
}

export async function filterOf(call: Call, input: FilterInput): Promise<RunFilter> {
  const { state, program, queue, stack, node, parent, key, from, to, archived } = input;
  const owner = node === undefined || isUuid(node) ? node : (await call.client().nodes.find(node)).incarnation;
  return {
    env: call.env,
    ...(owner !== undefined && { owner }),
    ...(parent !== undefined && { parent }),
    ...(key !== undefined && { keyPrefix: key }),
    ...(state && { states: state }),
    ...(program !== undefined && { program }),
    ...(queue !== undefined && { queue }),
    ...(stack !== undefined && { stack }),
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
    ...(archived !== undefined && { archived }),
  };
}

export const runHandlers: Handlers<RouteName & keyof typeof RUN_ROUTES> = {
  "runs.list": async (call, { before, limit, ...filter }) => {
    const page = { limit, ...(before !== undefined && { before }) };
    const { runs, next } = await call.store.runs.list(await filterOf(call, filter), page);
    return { rows: await runRows(call.store, runs), next };
  },
  "runs.count": async (call, filter) => call.store.views.count(await filterOf(call, filter), MOST_COUNTED),
  "runs.many": async (call, { ids }) => {
    const { runs } = await call.store.views.runs(ids);
    const mine = runs.flatMap((run) => (run && call.envs.includes(run.group.env) ? [run] : []));
    return { rows: await runRows(call.store, mine) };
  },
  "runs.find": async (call, { id }) => ({ rows: await found(call, id) }),
  "runs.get": async (call, { id }) => {
    const run = await call.run(id);
    const { store } = call;
    const [nodes, key, unread, [outline], [waitsFor]] = await Promise.all([
      nodesFor(store, [run]),
      store.runs.keyOf(id),
      store.inbox.unread(id),
      store.views.outline([{ runId: id, limit: entriesFor(run), last: true }]),
      run.state === "held" ? store.views.waitsFor([id]) : [],
    ]);
    const { deferred } = run;
    return {
      ...runView(run, nodes, outline ?? null),
      scope: key?.scope ?? null,
      recoveredFrom: run.recoveredFrom,
      liveBuilds: run.misfit === null ? [] : [...liveBuilds(run, nodes)],
      waitsFor: waitsFor ?? null,
      deferred: deferred && { ...deferred, expiresAt: iso(deferred.expiresAt), takenAt: iso(deferred.takenAt) },
      unread: unread.length,
      error: await errorOf(call, run),
    };
  },
  "runs.journal": async (call, { id, ...range }) => {
    await call.run(id);
    const { after, before, last, limit } = range;
    const request = {
      runId: id,
      limit,
      ...(after !== undefined && { after }),
      ...(before !== undefined && { before }),
      ...(last !== undefined && { last }),
    };
    const [outline] = await call.store.views.outline([request]);
    if (!outline) throw notFound(`The run ${id}`);
    return { ...outline, entries: outline.entries.map(entryView) };
  },
  "runs.payload": async (call, { id, seq }) => {
    const run = await call.run(id);
    const object = `${id}/${seq}`;
    const look = () => call.store.journal.read(id, { after: seq - 1, limit: 1 });
    const page = await call.in(run.group.env).change({ action: "runs.payload", object }, look);
    const entry = page?.entries[0];
    if (entry?.seq !== seq) throw notFound(`Entry ${seq} of the run ${id}`);
    const { payload, at, ...rest } = entry;
    const bytes = payload && Buffer.byteLength(payload.data);
    return { ...rest, at: iso(at), bytes, codec: payload?.codec ?? null, ...decoded(call, payload) };
  },
  "runs.inbox": async (call, { id }) => {
    await call.run(id);
    const messages = (await call.store.inbox.unread(id)).map(({ key, kind, name, sender, at, payload }) => {
      return { key, kind, name, sender, at: iso(at), bytes: payload && Buffer.byteLength(payload.data) };
    });
    return { messages };
  },
  "runs.tasks": async (call, { id, after, limit }) => taskRows(call, id, after, limit),
  "runs.claims": async (call, { id, limit }) => {
    const run = await call.run(id);
    const asked = { runId: id, limit: LANE_ENTRIES, last: true };
    const [claims, [outline]] = await Promise.all([
      call.store.runs.claims(id, { limit: limit + 1 }),
      call.store.views.outline([asked]),
    ]);
    const earlier = claims.length > limit;
    const isLost = claims.some(({ reclaimed }) => reclaimed !== null);
    const nodes = isLost ? await call.store.nodes.list({ env: run.group.env, stopped: true }) : [];
    return { claims: ownerLane(run, earlier ? claims.slice(1) : claims, outline?.entries ?? [], nodes), earlier };
  },
  "runs.visits": async (call, { id }) => {
    const run = await call.run(id);
    const { graphs } = call.in(run.group.env).client();
    const [{ position }, visits] = await Promise.all([graphs.position(id), graphs.history(id)]);
    return {
      position,
      visits: visits.map(({ updates, failure, from, to, ...visit }) => ({
        ...visit,
        updates: redacted(updates, call.admin.redact) as Record<string, unknown>,
        failure: failure && {
          name: failure.name,
          message: failure.message,
          code: failure.code === undefined ? null : String(failure.code),
        },
        from: iso(from),
        to: iso(to),
      })),
    };
  },
};

/** Why a run is a dead letter; its message only with the permission `read`. */
async function errorOf(call: Call, { id, state, seq }: RunRecord) {
  if (!(DEAD_STATES as readonly string[]).includes(state)) return null;
  const page = await call.store.journal.read(id, { after: seq - 1, limit: 1 });
  const { readable, value } = decoded(call, page?.entries[0]?.payload ?? null);
  const { code, name, message } = (readable ? (value ?? {}) : {}) as Readonly<Record<string, unknown>>;
  const text = (one: unknown) => (typeof one === "string" ? one : null);
  return { code: text(code) ?? text(name), message: call.may("read") ? text(message) : null };
}

/** A codec of the user's own that this server was not given shows its name and length only. */
function decoded(call: Call, payload: Payload | null): { readable: boolean; value: unknown } {
  if (payload === null) return { readable: true, value: null };
  try {
    return { readable: true, value: redacted(call.admin.codecs.decode(payload) ?? null, call.admin.redact) };
  } catch {
    return { readable: false, value: null };
  }
}

async function taskRows(call: Call, id: string, after: number, limit: number) {
  await call.run(id);
  const { tasks, next } = await tasksOf(call.store, id, { after, limit });
  const rows = await runRows(
    call.store,
    tasks.flatMap(({ run }) => run ?? []),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return { tasks: tasks.map(({ seq, name, runId }) => ({ seq, name, run: byId.get(runId) ?? null })), next };
}

/** Lists are ordered by id: each is a short scan of the primary key. */
async function found(call: Call, id: string) {
  const { store, env } = call;
  const wanted = id.toLowerCase();
  const highest = wanted + HIGHEST_ID.slice(wanted.length);
  if (!isUuid(highest)) return [];
  if (isUuid(wanted)) return runRows(store, [await call.run(wanted)]);
  const pages = await Promise.all(
    [false, true].map((archived) => store.runs.list({ env, archived }, { limit: 10, before: highest })),
  );
  return runRows(
    store,
    pages.flatMap(({ runs }) => runs).filter((run) => run.id.startsWith(wanted)),
  );
}
