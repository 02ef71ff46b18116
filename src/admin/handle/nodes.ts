// Handlers of nodes and of reclaimed claims.

import type * as z from "zod";
import type { NodeRecord } from "../../store/contract/node/nodes.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { NODE_ROUTES, nodeRow } from "../routes/nodes.js";
import { iso } from "../view/iso.js";
import { runRows } from "../view/run-rows.js";

type NodeView = z.output<typeof nodeRow>;

export function nodeView(node: NodeRecord): NodeView {
  const { startedAt, seenAt, stoppedAt, executors, serves, claims, overruled, overrides, vitals, ...rest } = node;
  return {
    ...rest,
    overrides: { ...overrides },
    vitals: vitals && { ...vitals, busy: { ...vitals.busy } },
    executors: executors.map(({ name, slots, queues }) => ({ name, slots, queues: [...queues] })),
    serves: [...serves],
    claims: [...claims],
    overruled: [...overruled],
    startedAt: iso(startedAt),
    seenAt: iso(seenAt),
    stoppedAt: iso(stoppedAt),
  };
}

const MOST_HELD = 200;

interface ModeInput {
  readonly node: string;
  readonly keep: boolean;
  readonly note?: string | undefined;
}

async function changeMode(
  call: Call,
  { node, keep, note }: ModeInput,
  { action, after }: { readonly action: RouteName; readonly after: object },
  change: (options: {
    readonly keep: boolean;
    readonly by: string;
  }) => Promise<Pick<NodeView, "mode" | "drain"> & { readonly overrides: NodeView["overrides"] }>,
) {
  const { mode, overrides, drain } = await call.client().nodes.find(node);
  const before = { mode, overrides, drain };
  const state = await call.change({ action, object: node, before, after: { ...after, keep }, note }, () =>
    change({ keep, by: call.by }),
  );
  return { ...state, overrides: { ...state.overrides } };
}

export const nodeHandlers: Handlers<RouteName & keyof typeof NODE_ROUTES> = {
  "nodes.list": async (call, { stopped = false }) => ({
    rows: (await call.store.nodes.list({ env: call.env, stopped })).map(nodeView),
  }),
  "nodes.get": async (call, { node }) => {
    const record = await call.client().nodes.find(node);
    const filter = { env: call.env, owner: record.incarnation };
    const { runs } = await call.store.runs.list(filter, { limit: MOST_HELD });
    return { ...nodeView(record), held: await runRows(call.store, runs) };
  },
  "nodes.mode": (call, { mode, ...input }) =>
    changeMode(call, input, { action: "nodes.mode", after: { mode } }, (options) =>
      call.client().nodes.setMode(input.node, mode, options),
    ),
  "nodes.override": (call, { program, mode, ...input }) =>
    changeMode(call, input, { action: "nodes.override", after: { program, mode } }, (options) => {
      const { nodes } = call.client();
      if (mode === null) return nodes.clearOverride(input.node, program, options);
      return nodes.override(input.node, program, mode, options);
    }),
  "nodes.drain": (call, { exit, ...input }) =>
    changeMode(call, input, { action: "nodes.drain", after: { exit } }, (options) =>
      call.client().nodes.drain(input.node, { ...options, exit }),
    ),
  "takeovers.list": async (call, { before, limit }) => {
    const request = { env: call.env, limit, ...(before !== undefined && { after: before }) };
    const { rows, next } = await call.store.views.takeovers(request);
    return { rows: rows.map((row) => ({ ...row, at: iso(row.at) })), next };
  },
};
