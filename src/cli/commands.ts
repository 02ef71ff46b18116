// The commands, in the order of the help. Each is loaded on demand: loading all of them made a start read 243 files
// instead of 160.

import type { Command } from "./command.js";

const LOAD: Readonly<Record<string, () => Promise<Command>>> = {
  dev: async () => (await import("./command/dev.js")).dev,
  init: async () => (await import("./command/init.js")).init,
  migrate: async () => (await import("./command/migrate.js")).migrate,
  doctor: async () => (await import("./command/doctor.js")).doctor,
  nodes: async () => (await import("./command/nodes.js")).nodes,
  mode: async () => (await import("./command/mode.js")).mode,
  drain: async () => (await import("./command/mode.js")).drain,
  runs: async () => (await import("./command/runs.js")).runs,
  start: async () => (await import("./command/start.js")).start,
  queues: async () => (await import("./command/queues.js")).queues,
  approvals: async () => (await import("./command/approvals.js")).approvals,
  leases: async () => (await import("./command/leases.js")).leases,
  schedules: async () => (await import("./command/schedules.js")).schedules,
  subscriptions: async () => (await import("./command/subscriptions.js")).subscriptions,
  emit: async () => (await import("./command/emit.js")).emit,
  definitions: async () => (await import("./command/definitions.js")).definitions,
  histories: async () => (await import("./command/histories.js")).histories,
  show: async () => (await import("./command/show.js")).show,
  approve: async () => (await import("./command/approve.js")).approve,
  signal: async () => (await import("./command/signal.js")).signal,
  cancel: async () => (await import("./command/cancel.js")).cancel,
  pause: async () => (await import("./command/pause.js")).pause,
  resume: async () => (await import("./command/pause.js")).resume,
  retry: async () => (await import("./command/retry.js")).retry,
  rewind: async () => (await import("./command/rewind.js")).rewind,
  fork: async () => (await import("./command/fork.js")).fork,
  diff: async () => (await import("./command/diff.js")).diff,
  dead: async () => (await import("./command/dead.js")).dead,
  archive: async () => (await import("./command/prune.js")).archive,
  prune: async () => (await import("./command/prune.js")).prune,
  instances: async () => (await import("./command/instances.js")).instances,
  instance: async () => (await import("./command/instance.js")).instance,
  send: async () => (await import("./command/send.js")).send,
};

export const COMMAND_NAMES: readonly string[] = Object.keys(LOAD);

/** One of the names above. */
export function loadCommand(name: string): Promise<Command> {
  return LOAD[name]!();
}
