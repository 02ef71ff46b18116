// The operations on what starts runs: events that are gathered, subscriptions, probes, schedules.

import { randomUUID } from "node:crypto";
import type { NewLimit, NewRun } from "../../../src/kernel/run/new-run.js";
import { systemWorld } from "../../../src/kernel/system-world.js";
import type { Subscription } from "../../../src/store/contract/event/events.js";
import type { ScheduleDeclaration } from "../../../src/store/contract/schedule/schedules.js";
import type { Store } from "../../../src/store/contract/store.js";
import { newRun } from "../scene.js";
import { ids, key, type Operation, ownGroup } from "./unanswered-operation.js";

export function triggerOperations(): readonly Operation[] {
  return [...scheduleOperations(), ...eventOperations()];
}

function scheduleOperations(): Operation[] {
  return [
    {
      name: "schedules.declare",
      statement: "declare_schedules",
      prepare: onSchedule((store, declared) => store.schedules.declare(declared)),
    },
    {
      name: "schedules.declare that removes",
      statement: "remove_schedules",
      prepare: onSchedule((store, declared) =>
        store.schedules.declare({ ...declared, schedules: [], removeAfterMs: 0 }),
      ),
    },
    { name: "schedules.fire", statement: "fire_schedules", prepare: onSchedule(fired) },
    {
      name: "schedules.fire of a run that tries",
      statement: "fire_schedules",
      prepare: onSchedule((store, declared, runs) => fired(store, declared, runs, true)),
    },
    {
      name: "schedules.pause",
      statement: "pause_schedules",
      prepare: onSchedule((store, { programs }) => store.schedules.pause("test", programs[0]!, "me")),
    },
    {
      name: "schedules.resume",
      statement: "resume_schedules",
      prepare: onSchedule(async (store, { programs }) => {
        await store.schedules.pause("test", programs[0]!, "me");
        return store.schedules.resume("test", programs[0]!);
      }),
    },
  ];
}

type OnSchedule = (store: Store, declared: ScheduleDeclaration, runs: readonly NewRun[]) => Promise<unknown>;

/** A declared schedule; the runs are for it to fire. */
function onSchedule(act: OnSchedule) {
  const from = ownGroup();
  const schedules = [{ id: randomUUID(), group: from, key: "every 1m", spec: "{}" }];
  const declared = { env: "test", stack: null, programs: [from.program], schedules, removeAfterMs: null };
  const limits: NewLimit[] = [{ kind: "slots", key: `slots ${from.queue}`, max: 1 }];
  const runs = [newRun({ group: from, key: key() }), newRun({ group: from, key: key(), limits })];
  return async (store: Store) => {
    await store.schedules.declare(declared);
    return () => act(store, declared, runs);
  };
}

/** Advances to a window that is the same on both databases. */
async function fired(store: Store, { schedules: [one] }: ScheduleDeclaration, runs: readonly NewRun[], tries = false) {
  const [row] = (await store.schedules.due([one!.id])).schedules;
  const probe = { env: "test", program: one!.group.program, opening: "x:0", probe: 1, runId: runs[0]!.id };
  const fire = { scheduleId: row!.id, seenLast: row!.last, last: 1, next: 2, runs };
  return store.schedules.fire([{ ...fire, ...(tries && { probe }) }]);
}

/** A run that gathers, claimed when its window has ended or is still open. */
function onGathering(statement: string, windowMs: number): Operation {
  const run = newRun({ group: ownGroup() });
  const event = { run, ticket: { subscription: "s", subject: run.id, windowMs } };
  const drawn = ids();
  return {
    name: `settle a debounced run, ${windowMs === 0 ? "begins" : "waits"}`,
    statement,
    async prepare(store) {
      await store.events.debounce([event]);
      const groupIds = await store.runs.groupIds([run.group]);
      // Its window is judged by the ticket: a ticket with a longer window finds it open.
      const [claim] = await store.runs.claim({ ...drawn, groupIds, limit: 1, leaseMs: 60_000 });
      const ticket = { ...event.ticket, windowMs: windowMs === 0 ? 0 : 60_000 };
      return () => store.events.settleDebounced(claim!, claim!.seq, ticket);
    },
  };
}

function eventOperations(): Operation[] {
  const run = newRun({ group: ownGroup() });
  const event = { run, ticket: { subscription: "s", subject: "a", windowMs: 60_000 } };
  const incarnation = randomUUID();
  const subscription: Subscription = {
    ...{
      id: "p on x",
      scope: "p on x",
      env: "test",
      stack: null,
      event: "x",
      program: "p",
      queue: "p",
      version: null,
      where: [{ a: 1 }],
    },
    ...{ subject: null, debounceMs: null, lifetime: "archived", crashLimit: 5, breaker: null },
  };
  const emitted = { ...{ id: systemWorld().id(), env: "test", stack: null, event: "x", plain: '{"a":1}' } };
  const accepted = { ...emitted, key: randomUUID(), payloadHash: "h", input: { codec: "json", data: "{}" } };
  const declaration = { incarnation, env: "test", subscriptions: [subscription], starting: true };
  const probe = { env: "test", program: "p", opening: "x", probe: 1, runId: randomUUID() };
  return [
    {
      name: "start events",
      statement: "start_events",
      prepare: async (store) => {
        await store.events.subscribe(declaration);
        await store.runs.groupIds([{ env: "test", stack: null, queue: "p", program: "p", version: null }]);
        return () => store.events.start([accepted]);
      },
    },
    {
      name: "debounce",
      statement: "gather_events",
      prepare: async (store) => {
        await store.runs.groupIds([run.group]);
        return () => store.events.debounce([event]);
      },
    },
    {
      name: "accept",
      statement: "gather_events",
      prepare: async (store) => {
        await store.runs.groupIds([run.group]);
        return () => store.events.accept([{ runs: [], debounced: [event] }]);
      },
    },
    onGathering("settle_debounced", 0),
    onGathering("settle_debounced", 1),
    {
      name: "subscribe",
      statement: "declare_subscriptions",
      prepare: async (store) => () => store.events.subscribe(declaration),
    },
    {
      name: "subscribe, at the removal",
      statement: "retire_subscriptions",
      prepare: async (store) => () => store.events.subscribe(declaration),
    },
    { name: "takeProbe", statement: "take_probe", prepare: async (store) => () => store.breakers.takeProbe(probe) },
  ];
}
