// `holdfast instances`: lists instances of state machines with their states.

import {
  INSTANCE_STATUSES,
  type InstanceRecord,
  type InstanceStatus,
} from "../../../store/contract/machine/machines.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { CommandMisused } from "../../error.js";
import { LIMIT_OPTION, limitOf, WATCH_OPTION } from "../../options.js";
import type { Colour } from "../../text/paint.js";
import { listText } from "../../text/table.js";
import { isoTime, timeAgo } from "../../text/time-ago.js";

const OPTIONS = {
  status: {
    type: "string",
    value: "S",
    description: `only ${INSTANCE_STATUSES.join(", ")}`,
    choices: INSTANCE_STATUSES,
    parse: (text: string): InstanceStatus => {
      const status = INSTANCE_STATUSES.find((known) => known === text);
      if (status) return status;
      throw new CommandMisused(`${JSON.stringify(text)} is not a status; use one of ${INSTANCE_STATUSES.join(", ")}`);
    },
  },
  limit: LIMIT_OPTION,
  watch: WATCH_OPTION,
} as const satisfies Options;

export const instances = defineCommand({
  name: "instances",
  takes: ["[MACHINE]"],
  summary: "instances of state machines with their states, newest first",
  details:
    "Of all machines, or of one. PROBLEM is why no node can continue an instance; it continues when a node has code that can.",
  options: OPTIONS,
  run: listInstances,
});

async function listInstances(call: Call<typeof OPTIONS>): Promise<Report> {
  const [machine] = call.arguments;
  const { status } = call.values;
  const limit = limitOf(call.values);
  const store = await call.store();
  const filter = {
    env: call.env,
    ...(machine !== undefined && { machine }),
    ...(status !== undefined && { statuses: [status] }),
  };
  const { instances: list } = await store.machines.list(filter, { limit });
  const json = { instances: list.map(instanceJson) };
  if (list.length === 0)
    return { text: `No instances in env ${call.env}. node.start(machine, input, { id }) creates one.\n`, json };
  const now = call.world.wallNow();
  const records = list.map((one) => ({
    MACHINE: one.group.program,
    ID: one.id,
    STATUS: { text: one.status, colour: colourOf(one.status) },
    STATE: shownState(one.value),
    SEQ: one.seq,
    VERSION: one.version ?? "",
    CHANGED: timeAgo(one.updatedAt, now),
    PROBLEM: one.problem ?? "",
  }));
  return { text: listText(records, ["MACHINE", "ID", "STATE", "PROBLEM"], call), json };
}

/** `paid`, or JSON for a compound state. */
export function shownState(value: string): string {
  const state = JSON.parse(value) as unknown;
  return typeof state === "string" ? state : value;
}

function colourOf(status: InstanceStatus): Colour | undefined {
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
    endedAt: isoTime(endedAt),
  };
}
