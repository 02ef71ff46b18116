// Handlers of approvals and dead letters.

import { approvalOf, type OpenApproval } from "../../client/approvals.js";
import type { Payload } from "../../kernel/codec/payload.js";
import type { StoredError } from "../../kernel/codec/recorded-error.js";
import type { DeadState } from "../../store/contract/view/dead-letters.js";
import type { ViewPage } from "../../store/contract/view/views.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { APPROVAL_ROUTES } from "../routes/approvals.js";
import { iso } from "../view/iso.js";
import { redacted } from "../view/redact.js";

interface DeadFilter {
  readonly program?: string | undefined;
  readonly queue?: string | undefined;
  readonly state?: readonly DeadState[] | undefined;
}

const deadFilter = (env: string, { program, queue, state }: DeadFilter) => ({
  env,
  ...(state && { states: state }),
  ...(program !== undefined && { program }),
  ...(queue !== undefined && { queue }),
});

/** As many pages are read to fill one with the approvals of a group. */
const MOST_PAGES = 20;
/** As many letters are grouped: the last to end. */
const MOST_GROUPED = 1_000;

/** Null without the permission, and under a codec that this server does not know. */
function messageOf(call: Call, payload: Payload | null): string | null {
  if (!call.may("read") || payload === null) return null;
  try {
    const stored = call.admin.codecs.decode(payload) as Partial<StoredError> | null;
    return typeof stored?.message === "string" ? stored.message : null;
  } catch {
    return null;
  }
}

/** A question is addressed in its payload, which only this process can read: pages are read until one is full. */
async function openApprovals(
  { store, env, admin }: Call,
  { to, after, limit }: { readonly to: string | undefined; readonly after: string | undefined; readonly limit: number },
): Promise<ViewPage<OpenApproval>> {
  const found: OpenApproval[] = [];
  let next = after ?? null;
  for (let pages = 0; pages < MOST_PAGES && found.length < limit; pages++) {
    const request = { env, limit: limit - found.length, ...(next !== null && { after: next }) };
    const page = await store.views.questions(request);
    const open = page.rows.map((question) => approvalOf(admin.codecs, question));
    found.push(...open.filter((one) => to === undefined || one.to === to));
    next = page.next;
    if (next === null) break;
  }
  return { rows: found, next };
}

export const approvalHandlers: Handlers<RouteName & keyof typeof APPROVAL_ROUTES> = {
  "approvals.list": async (call, { to, before, limit }) => {
    const { rows, next } = await openApprovals(call, { to, after: before, limit });
    const shows = call.may("read") || call.may("approve");
    const shown = rows.map(({ ask, plan, choices, since, until, ...facts }) => {
      const hidden = redacted(plan, call.admin.redact);
      return {
        ...facts,
        askedAt: iso(since),
        deadline: iso(until),
        choices: [...choices],
        ask: shows ? ask : null,
        ...(shows && hidden !== undefined && { plan: hidden }),
      };
    });
    return { rows: shown, next };
  },
  "dead.list": async (call, { code, before, limit, ...filter }) => {
    const page = { limit, ...(before !== undefined && { after: before }), ...(code !== undefined && { code }) };
    const { rows, next } = await call.store.views.deadLetters({ ...deadFilter(call.env, filter), ...page });
    const shown = rows.map(({ entry, endedAt, ...row }) => {
      return { ...row, endedAt: iso(endedAt), message: messageOf(call, entry?.payload ?? null) };
    });
    return { rows: shown, next };
  },
  "dead.groups": async (call, filter) => {
    const request = { ...deadFilter(call.env, filter), limit: MOST_GROUPED };
    const { groups, looked } = await call.store.views.deadGroups(request);
    const shown = groups.map(({ newest, oldest, examples, ...group }) => {
      return { ...group, newest: iso(newest), oldest: iso(oldest), examples: [...examples] };
    });
    return { groups: shown, looked };
  },
  "dead.retry": async (call, { ids, from, note }) => {
    const { runs } = await call.store.views.runs(ids);
    const mine = runs.flatMap((run) => (run?.group.env === call.env ? [run.id] : []));
    const options = { by: call.by, callId: call.token(), fromStart: from === "start" };
    const change = { action: "dead.retry" as const, object: `${mine.length} runs`, after: { ids: mine, from }, note };
    const answers = await call.change(change, () => call.store.runs.retry(mine, options));
    const byId = new Map(mine.map((id, i) => [id, answers[i]!.outcome]));
    return { answers: ids.map((id) => ({ id, outcome: byId.get(id) ?? "unknown" })) };
  },
};
