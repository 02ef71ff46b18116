// The tools that only read: runs, journals, payloads, approvals, dead letters, nodes, health, the audit.

import type { OutputOf } from "../../admin/api.js";
import { RUN_STATES } from "../../kernel/run/run-state.js";
import { DEAD_STATES } from "../../store/contract/view/dead-letters.js";
import { array, boolean, iso, number, oneOf, strictObject, string, uuid } from "../library/mcp.js";
import { cutText, Exact, partOf } from "./compact.js";
import { entryLine, runLine, why } from "./describe-run.js";
import { defineTool, page, run, runId, type ToolCall } from "./tool.js";

const name = string().min(1).max(300);
const PAYLOAD_PART = 8_000;
const PLAN_IN_LIST = 1_000;
const PLAN_OF_RUN = 20_000;
const MESSAGE = 500;
const MOST_PAGES = 20;
/** Enough to see what a run waits for. */
const REASON_ENTRIES = 20;

const env = ({ place }: ToolCall) => (place.env === undefined ? {} : { env: place.env });
/** The admin API takes no undefined fields. */
function given<Fields extends object>(fields: Fields) {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [K in keyof Fields]: Exclude<Fields[K], undefined> };
}

const overview = defineTool({
  name: "overview",
  says: "How the cluster fares: nodes, queues, dead letters, open approvals, and what needs attention. Start here.",
  needs: ["see"],
  input: strictObject({}),
  call: async (call) => {
    const { queues, ...facts } = await call.place.api.call("overview.get", env(call));
    return { ...facts, queues: queues.map(({ servedBy, ...queue }) => ({ ...queue, nodes: servedBy.length })) };
  },
});

const doctor = defineTool({
  name: "doctor",
  says: "Checks of the database, the nodes and the queues that found a problem or a warning, each with what to do.",
  needs: ["see"],
  input: strictObject({}),
  call: async (call) => {
    const { findings } = await call.place.api.call("doctor.get", env(call));
    const bad = findings.filter(({ level }) => level !== "ok");
    return { checks: findings.length, ok: findings.length - bad.length, findings: bad };
  },
});

const listNodes = defineTool({
  name: "list_nodes",
  says: "The nodes: alive or silent, mode, build, what they serve, how many runs they hold.",
  needs: ["see"],
  input: strictObject({ stopped: boolean().default(false).describe("also those that stopped in order") }),
  call: async (call, { stopped }) => {
    const { rows } = await call.place.api.call("nodes.list", { ...env(call), stopped });
    return {
      nodes: rows.map(
        ({ name, identity, incarnation, alive, mode, drain, build, holds, serves, executors, ...node }) => ({
          name,
          identity,
          incarnation: incarnation.slice(0, 8),
          alive,
          mode,
          drain,
          build,
          holds,
          slots: executors.reduce((sum, one) => sum + one.slots, 0),
          serves: [...new Set(serves.map(({ program }) => program))],
          startedAt: node.startedAt,
          seenAt: node.seenAt,
          stoppedAt: node.stoppedAt,
        }),
      ),
    };
  },
});

const listRuns = defineTool({
  name: "list_runs",
  says: "The newest runs that fit, and what each one waits for. Filter by state, program, queue, key, node or time.",
  needs: ["see"],
  input: strictObject({
    state: array(oneOf(RUN_STATES)).max(RUN_STATES.length).optional(),
    program: name.optional(),
    queue: name.optional(),
    key: name.optional().describe("the beginning of the key of the start"),
    node: name.optional().describe("held by this node"),
    parent: uuid().optional().describe("started by this run: its children and tasks"),
    from: iso.datetime({ offset: true }).optional().describe("created at or after"),
    to: iso.datetime({ offset: true }).optional().describe("created before"),
    ...page,
  }),
  call: async (call, input) => {
    const { api } = call.place;
    const { rows, next } = await api.call("runs.list", { ...env(call), ...given(input) });
    const now = call.world.wallNow();
    const runs = rows.map(async (row) => {
      // The last entry of a parked run only says that it is parked.
      const isParked = row.state === "parked" && row.pending === 0;
      const last = isParked ? await lastEntries(call, row.id) : [row.last].filter((entry) => entry !== null);
      return runLine(row, last, now);
    });
    return { runs: await Promise.all(runs), next };
  },
});

async function lastEntries({ place: { api } }: ToolCall, id: string) {
  return (await api.call("runs.journal", { id, last: true, limit: REASON_ENTRIES })).entries;
}

const inspectRun = defineTool({
  name: "inspect_run",
  says:
    "One run: its state, why it waits, its error, its claims, and the last entries of its journal, or those before `before`. " +
    "read_payload shows the value of an entry.",
  needs: ["see"],
  input: strictObject({
    run,
    entries: number().int().min(1).max(100).default(30).describe("journal entries, up to 100"),
    before: number().int().min(1).optional().describe("entries before this seq"),
  }),
  call: async (call, { run: beginning, entries: most, before }) => {
    const { api } = call.place;
    const id = await runId(call, beginning);
    const range = { id, last: true, limit: most, ...(before !== undefined && { before }) };
    const [detail, last, shown, { claims, earlier }] = await Promise.all([
      api.call("runs.get", { id }),
      lastEntries(call, id),
      api.call("runs.journal", range),
      api.call("runs.claims", { id, limit: 10 }),
    ]);
    const queues = detail.state === "waiting" ? (await api.call("queues.list", { env: detail.env })).rows : [];
    const pausedBy = queues.find(({ queue }) => queue === detail.queue)?.paused?.by;
    const first = shown.entries[0]?.seq ?? 0;
    return {
      id,
      program: detail.program,
      queue: detail.queue,
      env: detail.env,
      state: detail.state,
      now: why(detail, { entries: last, pausedBy, detail }, call.world.wallNow()),
      error: detail.error && {
        ...detail.error,
        message: detail.error.message && cutText(detail.error.message, MESSAGE),
      },
      key: detail.key,
      parent: detail.parentId,
      createdAt: detail.createdAt,
      endedAt: detail.endedAt,
      unreadMessages: detail.unread || null,
      generation: detail.generation > 1 ? detail.generation : null,
      claims: claims.map(({ epoch, holder, ended, entries, reclaimed }) => ({
        claim: epoch,
        node: holder?.name ?? holder?.incarnation.slice(0, 8),
        entries,
        ended,
        ...(reclaimed && { reclaimedBy: reclaimed.by?.name, at: reclaimed.at, lateWritesRefused: reclaimed.refused }),
      })),
      earlierClaims: earlier || null,
      journal: shown.entries.map(entryLine),
      earlierEntries: first > shown.baseSeq + 1 ? { before: first } : null,
    };
  },
});

const readPayload = defineTool({
  name: "read_payload",
  says: "The value of one journal entry: an input, a result, an error. Fields named like secrets are hidden. The audit records it.",
  needs: ["read"],
  input: strictObject({
    run,
    seq: number().int().min(1).describe("the entry, from inspect_run"),
    from: number().int().min(0).default(0).describe("`next` of the previous part of a long value"),
  }),
  call: async (call, { run: beginning, seq, from }) => {
    const id = await runId(call, beginning);
    const entry = await call.place.api.call("runs.payload", { id, seq });
    const facts = { kind: entry.kind, name: entry.name, at: entry.at };
    if (!entry.readable) return { ...facts, unreadable: `codec ${entry.codec}, ${entry.bytes} bytes` };
    if (entry.bytes === null) return { ...facts, hasNoPayload: true };
    const text = JSON.stringify(entry.value);
    if (from === 0 && text.length <= PAYLOAD_PART) return { ...facts, value: new Exact(entry.value) };
    return { ...facts, json: partOf(text, from, PAYLOAD_PART) };
  },
});

const listApprovals = defineTool({
  name: "list_approvals",
  says:
    "What runs ask people: the question, the plan, the choices, to whom, and the hash that a decision carries. With `run`, long " +
    "plans whole.",
  needs: ["see", "approve"],
  input: strictObject({
    to: name.optional().describe("addressed to this group or person"),
    run: run.optional(),
    ...page,
  }),
  call: async (call, { run: beginning, ...input }) => {
    if (beginning !== undefined) return approvalsOf(call, await runId(call, beginning));
    const { rows, next } = await call.place.api.call("approvals.list", { ...env(call), ...given(input) });
    return { approvals: rows.map((row) => approvalLine(row, PLAN_IN_LIST)), next };
  },
});

type Approval = OutputOf<"approvals.list">["rows"][number];

/** A hidden value, as the admin API writes it. */
const HIDDEN = '"[redacted]"';

/** Without the hash where question and plan are not shown whole: what was not shown cannot be decided. */
function approvalLine({ runId, nth, ask, plan, hash, ...facts }: Approval, most: number) {
  const text = JSON.stringify({ ask, plan });
  const asked = { run: runId, ...facts, nth: nth === "1" ? null : nth };
  if (text.includes(HIDDEN))
    return { ...asked, ask, plan, whole: "fields are hidden here: the application's own page decides it" };
  if (ask === null) return asked;
  if (text.length <= most) return { ...asked, ask, hash, ...(plan !== undefined && { plan: new Exact(plan) }) };
  const where = most === PLAN_IN_LIST ? "list_approvals with `run`" : "the dashboard";
  return { ...asked, cut: cutText(text, most), whole: `${where} shows it whole, with its hash` };
}

/** All that one run asks. Its questions may be on any page. */
async function approvalsOf(call: ToolCall, id: string) {
  const approvals: unknown[] = [];
  let before: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const request = { ...env(call), limit: 200, ...(before !== undefined && { before }) };
    const { rows, next } = await call.place.api.call("approvals.list", request);
    approvals.push(...rows.filter((row) => row.runId === id).map((row) => approvalLine(row, PLAN_OF_RUN)));
    // The questions of a run follow one another.
    if (next === null || (approvals.length > 0 && rows.at(-1)?.runId !== id)) break;
    before = next;
  }
  return { approvals };
}

const deadFilter = {
  program: name.optional(),
  queue: name.optional(),
  state: array(oneOf(DEAD_STATES)).max(DEAD_STATES.length).optional(),
};

const deadGroups = defineTool({
  name: "dead_letter_groups",
  says: "The last 1,000 dead letters (failed, dead, quarantined runs), grouped by program, state and error code.",
  needs: ["see"],
  input: strictObject(deadFilter),
  call: async (call, filter) => call.place.api.call("dead.groups", { ...env(call), ...given(filter) }),
});

const deadLetters = defineTool({
  name: "list_dead_letters",
  says: "Dead letters one by one, the last to end first, each with its error.",
  needs: ["see"],
  input: strictObject({ ...deadFilter, code: name.optional().describe("only with this error code"), ...page }),
  call: async (call, input) => {
    const { rows, next } = await call.place.api.call("dead.list", { ...env(call), ...given(input) });
    const shown = rows.map(({ runId, message, queue, ...row }) => ({
      run: runId,
      ...row,
      ...(queue !== row.program && { queue }),
      message: message && cutText(message, MESSAGE),
    }));
    return { deadLetters: shown, next };
  },
});

const exact = (value: unknown) => (value === null ? null : new Exact(value));

const audit = defineTool({
  name: "list_audit",
  says: "Who changed what, and when: each row with the state before and what was asked for.",
  needs: ["see"],
  input: strictObject({
    object: name.optional().describe("a run id, a node, a queue"),
    by: name.optional(),
    action: name.optional().describe("like runs.cancel"),
    ...page,
    before: uuid().optional().describe("`next` of the previous page"),
  }),
  call: async (call, input) => {
    const { rows, next } = await call.place.api.call("audit.list", { ...env(call), ...given(input) });
    const shown = rows.map(({ at, by, via, action, object, before, after, note }) => {
      return { at, by, via, action, object, note, before: exact(before), after: exact(after) };
    });
    return { rows: shown, next };
  },
});

export const READ_TOOLS = [
  overview,
  doctor,
  listNodes,
  listRuns,
  inspectRun,
  readPayload,
  listApprovals,
  deadGroups,
  deadLetters,
  audit,
];
