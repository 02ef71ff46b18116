// Handlers of schedules, subscriptions and events.

import { Emitter } from "../../trigger/emitter.js";
import { event as eventType } from "../../trigger/event.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { TRIGGER_ROUTES } from "../routes/triggers.js";
import { iso } from "../view/iso.js";

export const triggerHandlers: Handlers<RouteName & keyof typeof TRIGGER_ROUTES> = {
  "schedules.list": async (call, { next }) => {
    const schedules = await call.client().schedules.list({ next });
    const rows = schedules.map(({ nextFires, last, paused, ...row }) => ({
      ...row,
      nextFires: nextFires.map((at) => iso(at)),
      last: iso(last),
      paused: paused && { at: iso(paused.at), by: paused.by },
    }));
    return { rows };
  },
  "schedules.pause": async (call, { schedule, note }) => {
    const change = { action: "schedules.pause" as const, object: schedule, after: { paused: true }, note };
    await call.change(change, () => call.client().schedules.pause(schedule, { by: call.by }));
    return { outcome: "paused" };
  },
  "schedules.resume": async (call, { schedule, note }) => {
    const change = { action: "schedules.resume" as const, object: schedule, after: { paused: false }, note };
    await call.change(change, () => call.client().schedules.resume(schedule));
    return { outcome: "resumed" };
  },
  "schedules.fire": async (call, { schedule, note }) => {
    const change = { action: "schedules.fire" as const, object: schedule, note };
    const run = await call.change(change, () => call.client().schedules.fire(schedule));
    return { id: run.id };
  },
  "triggers.list": async (call) => ({ rows: await triggerRows(call) }),
  "events.emit": async (call, { event, payload, id, stack, note }) => {
    const { store, codecs, world } = call.admin;
    const emitter = new Emitter({ store, codecs, world, env: call.env, stack: stack ?? null });
    const unique = id ?? (call.key === null ? undefined : call.token());
    const change = { action: "events.emit" as const, object: event, after: { id: unique }, note };
    const { runs } = await call.change(change, () =>
      emitter.emit(eventType<object>()(event), payload, unique === undefined ? {} : { id: unique }),
    );
    return { runs: runs.map(({ program, outcome, runId }) => ({ program, outcome, runId: runId ?? null })) };
  },
};

async function triggerRows(call: Call) {
  const { events, breakers } = call.store;
  const subscriptions = await events.subscriptions(call.env);
  const guarded = subscriptions.filter(({ breaker }) => breaker !== null);
  const questions = guarded.map(({ env, program, breaker }) => ({ env, program, ...breaker! }));
  const states = questions.length === 0 ? [] : await breakers.read(questions);
  const stateOf = new Map(guarded.map(({ id }, i) => [id, states[i]!]));
  return subscriptions.map(({ id, event, program, queue, stack, version, where, subject, debounceMs, breaker }) => {
    const state = stateOf.get(id);
    return {
      id,
      event,
      program,
      queue,
      stack,
      version,
      where,
      subject: subject && [...subject],
      debounceMs,
      breaker: breaker && state ? { state: state.state, failures: state.failures, threshold: breaker.threshold } : null,
    };
  });
}
