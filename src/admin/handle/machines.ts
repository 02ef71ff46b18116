// Handlers of machine instances, their timers, and named leases.

import type * as z from "zod";
import { withDefaults } from "../../kernel/setting/setting-options.js";
import { InstanceUnknown } from "../../machine/errors.js";
import { instanceKey } from "../../machine/instance-key.js";
import { Instances } from "../../machine/instances.js";
import { NamedInstance } from "../../machine/named-instance.js";
import type { InstanceRecord } from "../../store/contract/machine/machines.js";
import type { TimerView } from "../../store/contract/view/views.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { LEASE_ROUTES } from "../routes/leases.js";
import type { MACHINE_ROUTES, timerRow } from "../routes/machines.js";
import { iso } from "../view/iso.js";

const MOST_EVENTS = 500;

function instanceView({ id, group, version, status, seq, value, problem, ...times }: InstanceRecord) {
  return {
    id,
    machine: group.program,
    stack: group.stack,
    version,
    status,
    seq,
    value: JSON.parse(value) as unknown,
    problem,
    createdAt: iso(times.createdAt),
    updatedAt: iso(times.updatedAt),
    endedAt: iso(times.endedAt),
  };
}

function timerView({ dueAt, tryAt, ...timer }: TimerView): z.output<typeof timerRow> {
  return { ...timer, dueAt: iso(dueAt), tryAt: iso(tryAt) };
}

async function loaded(call: Call, machine: string, instance: string) {
  const key = instanceKey(call.env, machine, instance);
  const [one] = await call.store.machines.load([key]);
  if (!one) throw new InstanceUnknown(machine, instance);
  return { key, one };
}

export const machineHandlers: Handlers<RouteName & keyof (typeof MACHINE_ROUTES & typeof LEASE_ROUTES)> = {
  "machines.list": async (call, { machine, status, before, limit }) => {
    const filter = { env: call.env, ...(machine !== undefined && { machine }), ...(status && { statuses: status }) };
    const page = { limit, ...(before !== undefined && { before }) };
    const { instances, next } = await call.store.machines.list(filter, page);
    return { rows: instances.map(instanceView), next };
  },
  "machines.get": async (call, { machine, instance, after }) => {
    const { key, one } = await loaded(call, machine, instance);
    const [events, timers] = await Promise.all([
      call.store.machines.events(key, { after, limit: MOST_EVENTS }),
      call.store.machines.timers(key),
    ]);
    return {
      ...instanceView(one),
      events: events.map(({ seq, name, by, at, payload }) => {
        return { seq, type: name, by, at: iso(at), bytes: Buffer.byteLength(payload.data) };
      }),
      timers: timers.map((timer) => timerView({ ...timer, machine, instance })),
    };
  },
  "machines.send": async (call, { machine, instance, type, fields, key, note }) => {
    const { store, codecs, world } = call.admin;
    const { crashLimit } = withDefaults({});
    const place = { store, codecs, world, env: call.env, stack: null, crashLimit };
    const unique = key ?? (call.key === null ? undefined : call.token());
    const named = new NamedInstance(machine, instance, new Instances(place));
    const change = { action: "machines.send" as const, object: `${machine}/${instance}`, after: { type }, note };
    const options = { by: call.by, ...(unique !== undefined && { key: unique }) };
    return call.change(change, () => named.send({ ...fields, type }, options));
  },
  "machines.retryTimers": async (call, { machine, instance, note }) => {
    const { key } = await loaded(call, machine, instance);
    const change = { action: "machines.retryTimers" as const, object: `${machine}/${instance}`, note };
    return { retried: await call.change(change, () => call.store.machines.retryTimers(key)) };
  },
  "timers.list": async (call, { state, after, limit }) => {
    const request = { env: call.env, state, limit, ...(after !== undefined && { after }) };
    const { rows, next } = await call.store.views.timers(request);
    return { rows: rows.map(timerView), next };
  },
  "leases.list": async (call, { prefix, after, limit }) => {
    const request = {
      env: call.env,
      limit,
      ...(after !== undefined && { after }),
      ...(prefix !== undefined && { prefix }),
    };
    const { rows, next } = await call.store.views.leases(request);
    const shown = rows.map(({ leaseUntil, acquiredAt, finishedAt, ...row }) => {
      return { ...row, leaseUntil: iso(leaseUntil), acquiredAt: iso(acquiredAt), finishedAt: iso(finishedAt) };
    });
    return { rows: shown, next };
  },
};
