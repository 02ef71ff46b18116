// `holdfast instances`: lists instances of state machines with their states.

import { INSTANCE_STATUSES, type InstanceRecord, type InstanceStatus } from "../../store/contract/machine/machines.js";
import type { Call, Command, Report } from "../command.js";
import { CommandMisused } from "../error.js";
import { textOption } from "../options.js";
import type { Colour } from "../text/paint.js";
import { tableLines } from "../text/table.js";
import { isoTime, timeAgo } from "../text/time-ago.js";

const MOST = 20;

export const instances: Command = {
  name: "instances",
  takes: ["[MACHINE]"],
  summary: "instances of state machines with their states, newest first",
  details:
    "Of all machines, or of one. PROBLEM is why no node can continue an instance; it continues when a node has code that can.",
  options: {
    status: { type: "string", value: "S", says: `only ${INSTANCE_STATUSES.join(", ")}` },
    limit: { type: "string", value: "N", says: `how many at most (default ${MOST})` },
  },
  run: listInstances,
};

async function listInstances(call: Call): Promise<Report> {
  const [machine] = call.arguments;
  const status = textOption(call.values, "status");
  if (status !== undefined && !INSTANCE_STATUSES.includes(status as InstanceStatus)) {
    throw new CommandMisused(`${JSON.stringify(status)} is not a status; use one of ${INSTANCE_STATUSES.join(", ")}`);
  }
  const limit = Number(textOption(call.values, "limit") ?? MOST);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw new CommandMisused("--limit must be 1 to 1000");
  const store = await call.store();
  const filter = {
    env: call.env,
    ...(machine !== undefined && { machine }),
    ...(status !== undefined && { statuses: [status as InstanceStatus] }),
  };
  const { instances: list } = await store.machines.list(filter, { limit });
  const json = { instances: list.map(instanceJson) };
  if (list.length === 0)
    return { text: `No instances in env ${call.env}. node.start(machine, input, { id }) creates one.\n`, json };
  const now = call.world.wallNow();
  const columns = [
    { title: "MACHINE", flexible: true },
    { title: "ID", flexible: true },
    { title: "STATUS" },
    { title: "STATE", flexible: true },
    { title: "SEQ", align: "right" as const },
    { title: "VERSION" },
    { title: "CHANGED" },
    { title: "PROBLEM", flexible: true },
  ];
  const rows = list.map((one) => [
    ...[one.group.program, one.id, { text: one.status, colour: colourOf(one.status) }, shownState(one.value)],
    ...[String(one.seq), one.version ?? "", timeAgo(one.updatedAt, now), one.problem ?? ""],
  ]);
  return { text: `${tableLines({ columns, rows }, call.width, call.paint).join("\n")}\n`, json };
}

/** `paid`, or JSON for a compound state. */
export function shownState(value: string): string {
  const state = JSON.parse(value) as unknown;
  return typeof state === "string" ? state : value;
}

export function colourOf(status: InstanceStatus): Colour | undefined {
  return status === "error" ? "red" : status === "active" ? "green" : undefined;
}

export function instanceJson(record: InstanceRecord): Readonly<Record<string, unknown>> {
  const { group, id, version, status, seq, value, problem, createdAt, updatedAt, endedAt } = record;
  return {
    machine: group.program,
    stack: group.stack,
    id,
    version,
    status,
    seq,
    problem,
    state: JSON.parse(value) as unknown,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
    endedAt: endedAt === null ? null : isoTime(endedAt),
  };
}
