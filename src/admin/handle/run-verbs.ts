// Handlers that change runs: start, signal, decide, stop, retry, fork, rewind.

import type { StartOptions } from "../../client/runs.js";
import { isFork } from "../../graph/fork-input.js";
import { signal } from "../../replay/signal.js";
import type { RunRecord } from "../../store/contract/run/runs.js";
import type { RouteName } from "../api.js";
import type { Call, Change, Handlers } from "../call.js";
import { notFound } from "../problem.js";
import type { RUN_VERB_ROUTES } from "../routes/run-verbs.js";
import { iso } from "../view/iso.js";
import { redacted } from "../view/redact.js";
import { expectDecider } from "./decider.js";

/** A start without a key of its own is repeated safely for this long by its Idempotency-Key. */
const REPEATED_FOR = "24h";

type Verb = Omit<Change, "object" | "before">;

/** A change of one run, in its env, with its state as it was before. */
async function onRun<Answer>(
  call: Call,
  id: string,
  verb: Verb,
  work: (inEnv: Call, run: RunRecord) => Promise<Answer>,
): Promise<Answer> {
  const run = await call.run(id);
  const inEnv = call.in(run.group.env);
  return inEnv.change({ ...verb, object: id, before: { state: run.state } }, () => work(inEnv, run));
}

/** An unknown run was pruned since it was read. */
function known<Answer extends { readonly outcome: string }>(answer: Answer, id: string): Answer {
  if (answer.outcome === "unknown") throw notFound(`The run ${id}`);
  return answer;
}

/** Read here and not by the page, which is shown it without its secrets. */
async function storedInput(call: Call, id: string): Promise<unknown> {
  const { baseSeq } = await call.run(id);
  const page = await call.store.journal.read(id, { after: baseSeq, limit: 1 });
  const payload = page?.entries[0]?.payload ?? null;
  if (payload === null) return undefined;
  const input = call.admin.codecs.decode(payload);
  return isFork(input) ? input.input : input;
}

export const runVerbHandlers: Handlers<RouteName & keyof typeof RUN_VERB_ROUTES> = {
  "runs.start": async (call, input) => {
    const { program, inputOf, queue, version, stack, key, priority, delayMs, note } = input;
    const given = inputOf === undefined ? input.input : await storedInput(call, inputOf);
    const once: StartOptions = call.key === null ? {} : { key: `admin/${call.token()}`, once: REPEATED_FOR };
    const item = {
      input: given,
      ...(key === undefined ? once : { key }),
      ...(priority !== undefined && { priority }),
      ...(delayMs !== undefined && { delay: delayMs }),
    };
    const place = { ...(queue !== undefined && { queue }), ...(version !== undefined && { version }) };
    // A start that finds an existing run by its key leaves an id that no run has.
    const runId = call.admin.world.id();
    const change = { action: "runs.start" as const, object: runId, after: { program, ...place, key, inputOf }, note };
    const [answer] = await call.change(change, () =>
      call.client({ stack, runId }).startMany(program as never, [item as never], place),
    );
    if (answer?.outcome === "refused" || answer?.outcome === "conflict") throw answer.error;
    return { id: answer!.run.id, outcome: answer!.outcome };
  },
  "runs.signal": (call, { id, name, payload, signalId, note }) =>
    onRun(call, id, { action: "runs.signal", after: { signal: name }, note }, async (inEnv) => {
      const unique = signalId ?? (call.key === null ? undefined : call.token());
      const options = unique === undefined ? {} : { id: unique };
      await inEnv.client().run(id).signal(signal<unknown>(name), payload, options);
      return { outcome: "accepted" };
    }),
  "runs.decide": async (call, { id, approval, nth, choice, data, note, shown }) => {
    await expectDecider(call, await call.run(id), approval, nth);
    const verb = { action: "runs.decide" as const, after: { approval, nth, choice }, note };
    return onRun(call, id, verb, async (inEnv) => {
      const decision = {
        choice,
        by: call.by,
        nth,
        ...(data !== undefined && { data }),
        ...(note !== undefined && { note }),
        ...(shown !== undefined && { shown }),
      };
      await inEnv.client().run(id).decide(approval, decision);
      return { outcome: "decided" };
    });
  },
  "runs.cancel": (call, { id, reason, note }) =>
    onRun(call, id, { action: "runs.cancel", after: { reason }, note }, async (inEnv) => {
      const options = { by: call.by, ...(reason !== undefined && { reason }) };
      return known(await inEnv.client().run(id).cancel(options), id);
    }),
  "runs.pause": (call, { id, note }) =>
    onRun(call, id, { action: "runs.pause", note }, async (inEnv) =>
      known(await inEnv.client().run(id).pause({ by: call.by }), id),
    ),
  "runs.resume": (call, { id, note }) =>
    onRun(call, id, { action: "runs.resume", note }, async () =>
      known(await call.store.runs.resume(id, { by: call.by }), id),
    ),
  "runs.retry": (call, { id, from, note }) =>
    onRun(call, id, { action: "runs.retry", after: { from }, note }, async () => {
      const options = { by: call.by, callId: call.token(), fromStart: from === "start" };
      const [answer] = await call.store.runs.retry([id], options);
      return known(answer!, id);
    }),
  "runs.fork": async (call, { id, from, state, note }) => {
    const { group } = await call.run(id);
    const inEnv = call.in(group.env);
    const runId = call.admin.world.id();
    const options = { from, by: call.by, ...(state && { state }) };
    const change = { action: "runs.fork" as const, object: runId, after: { of: id, from }, note };
    return { id: (await inEnv.change(change, () => inEnv.client({ runId }).graphs.forkRun(id, options))).id };
  },
  "runs.rewind": (call, { id, to, state, why, note }) =>
    onRun(call, id, { action: "runs.rewind", after: { to, why }, note }, async (inEnv) => {
      await inEnv.client().graphs.rewindRun(id, { to, by: call.by, why, ...(state && { state }) });
      return { outcome: "rewound" };
    }),
  "runs.diff": async (call, { id, with: other }) => {
    const [run] = [await call.run(id), await call.run(other)];
    const diff = await call.in(run.group.env).client().graphs.diff(id, other);
    return { diff: redacted(diff, call.admin.redact), at: iso(await call.admin.clock.now()) };
  },
};
