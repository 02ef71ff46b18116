// The commands, in the groups and the order of the help. Each is loaded on demand: loading all of them made a start read 243 files
// instead of 160.

import type { Command } from "./command.js";

type Load = () => Promise<Command>;

const GROUPS: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  "Set up": {
    dev: async () => (await import("./command/dev.js")).dev,
    init: async () => (await import("./command/init.js")).init,
    migrate: async () => (await import("./command/migrate.js")).migrate,
    bench: async () => (await import("./command/bench.js")).bench,
    complete: async () => (await import("./command/complete.js")).complete,
    doctor: async () => (await import("./command/doctor.js")).doctor,
  },
  Nodes: {
    nodes: async () => (await import("./command/nodes.js")).nodes,
    mode: async () => (await import("./command/mode.js")).mode,
    drain: async () => (await import("./command/mode.js")).drain,
  },
  Runs: {
    runs: async () => (await import("./command/runs.js")).runs,
    show: async () => (await import("./command/show.js")).show,
    start: async () => (await import("./command/start.js")).start,
    backfill: async () => (await import("./command/backfill.js")).backfill,
    cancel: async () => (await import("./command/cancel.js")).cancel,
    pause: async () => (await import("./command/pause.js")).pause,
    resume: async () => (await import("./command/pause.js")).resume,
    retry: async () => (await import("./command/retry.js")).retry,
    signal: async () => (await import("./command/signal.js")).signal,
    dead: async () => (await import("./command/dead.js")).dead,
    archive: async () => (await import("./command/prune.js")).archive,
    prune: async () => (await import("./command/prune.js")).prune,
    histories: async () => (await import("./command/histories.js")).histories,
  },
  People: {
    approvals: async () => (await import("./command/approvals.js")).approvals,
    approve: async () => (await import("./command/approve.js")).approve,
  },
  Models: {
    mcp: async () => (await import("./command/mcp.js")).mcp,
  },
  Graphs: {
    rewind: async () => (await import("./command/graph/rewind.js")).rewind,
    fork: async () => (await import("./command/graph/fork.js")).fork,
    recover: async () => (await import("./command/graph/recover.js")).recover,
    update: async () => (await import("./command/graph/update.js")).update,
    breakpoints: async () => (await import("./command/graph/breakpoints.js")).breakpoints,
    continue: async () => (await import("./command/graph/continue.js")).continueThread,
    stream: async () => (await import("./command/graph/stream.js")).stream,
    store: async () => (await import("./command/graph/store.js")).store,
    diff: async () => (await import("./command/graph/diff.js")).diff,
  },
  "State machines": {
    instances: async () => (await import("./command/machine/instances.js")).instances,
    instance: async () => (await import("./command/machine/instance.js")).instance,
    send: async () => (await import("./command/machine/send.js")).send,
  },
  "Triggers and definitions": {
    schedules: async () => (await import("./command/schedules.js")).schedules,
    subscriptions: async () => (await import("./command/subscriptions.js")).subscriptions,
    emit: async () => (await import("./command/emit.js")).emit,
    definitions: async () => (await import("./command/definitions.js")).definitions,
  },
  "Queues and leases": {
    queues: async () => (await import("./command/queues.js")).queues,
    leases: async () => (await import("./command/leases.js")).leases,
  },
};

const LOAD: Readonly<Record<string, Load>> = Object.assign({}, ...Object.values(GROUPS));

export const COMMAND_NAMES: readonly string[] = Object.keys(LOAD);

export const COMMAND_GROUPS = Object.entries(GROUPS).map(([title, group]) => ({
  title: `${title}:`,
  names: Object.keys(group),
}));

/** One of the names above. */
export function loadCommand(name: string): Promise<Command> {
  return LOAD[name]!();
}
