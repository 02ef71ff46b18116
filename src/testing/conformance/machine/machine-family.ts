// Instances, appends, timers and claims with defaults: the setup of the cases about machines.

import type {
  Append,
  Change,
  NewInstance,
  NewTimer,
  NewTold,
  TimerClaim,
} from "../../../store/contract/machine/machines.js";
import { same } from "../expect.js";
import { payload, type Scene, SHORT_MS } from "../scene.js";

export const group = (s: Scene) => s.group({ queue: "m", program: "m" });

export function change(s: Scene, more: Partial<Change> = {}): Change {
  const event = { kind: "event" as const, name: "GO", key: null, payload: payload({ type: "GO" }), by: null };
  return {
    token: s.token(),
    events: [event],
    status: "active",
    value: '"a"',
    version: null,
    snapshot: payload("state"),
    timers: [],
    told: [],
    effects: [],
    ...more,
  };
}

export function newInstance(s: Scene, more: Partial<NewInstance> = {}): NewInstance {
  const start = { kind: "start" as const, name: "start", key: null, payload: payload(null), by: null };
  return {
    ...change(s, { events: [start] }),
    key: s.token(),
    id: s.token(),
    group: group(s),
    inputHash: "h",
    redact: [],
    snapshot: payload("state 1"),
    ...more,
  };
}

export async function created(s: Scene, more: Partial<NewInstance> = {}): Promise<NewInstance> {
  const one = newInstance(s, more);
  same(await s.store.machines.create([one]), [{ outcome: "created" }], "create");
  return one;
}

export function append(s: Scene, { key }: NewInstance, expectedSeq: number, more: Partial<Append> = {}): Append {
  return { ...change(s), key, group: group(s), expectedSeq, fired: [], cancelled: [], ...more };
}

export const timer = (s: Scene, more: Partial<NewTimer> = {}): NewTimer => ({
  id: s.token(),
  generation: 1,
  kind: "after",
  name: "after 1s",
  payload: payload(1),
  delayMs: 0,
  ...more,
});

export const told = (s: Scene, { key: instanceKey }: NewInstance, more: Partial<NewTold> = {}): NewTold => ({
  id: s.token(),
  generation: 0,
  instanceKey,
  group: group(s),
  name: "HI",
  payload: payload(1),
  delayMs: 0,
  ...more,
});

export const claim = (s: Scene, more: Partial<TimerClaim> = {}): TimerClaim => ({
  groups: [group(s)],
  limit: 100,
  leaseMs: SHORT_MS,
  mostAttempts: 3,
  ...more,
});

export async function timerIds(s: Scene, { key }: NewInstance): Promise<readonly string[]> {
  return (await s.store.machines.timers(key)).map(({ id }) => id);
}

export async function log(s: Scene, { key }: NewInstance): Promise<readonly number[]> {
  return (await s.store.machines.events(key, { after: 0, limit: 100 })).map(({ seq }) => seq);
}
