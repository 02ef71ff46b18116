// The commands, in the order of the help. Each is loaded when it is asked for: with all of them a start read 243 files instead of 160.

import type { Command } from "./command.js";

const LOAD: Readonly<Record<string, () => Promise<Command>>> = {
  migrate: async () => (await import("./migrate.js")).migrate,
  nodes: async () => (await import("./nodes.js")).nodes,
  mode: async () => (await import("./mode.js")).mode,
  drain: async () => (await import("./mode.js")).drain,
  runs: async () => (await import("./runs.js")).runs,
  schedules: async () => (await import("./schedules.js")).schedules,
  subscriptions: async () => (await import("./subscriptions.js")).subscriptions,
  emit: async () => (await import("./emit.js")).emit,
  definitions: async () => (await import("./definitions.js")).definitions,
  show: async () => (await import("./show.js")).show,
  approve: async () => (await import("./approve.js")).approve,
  signal: async () => (await import("./signal.js")).signal,
  cancel: async () => (await import("./cancel.js")).cancel,
  pause: async () => (await import("./pause.js")).pause,
  resume: async () => (await import("./pause.js")).resume,
  retry: async () => (await import("./retry.js")).retry,
  rewind: async () => (await import("./rewind.js")).rewind,
  fork: async () => (await import("./fork.js")).fork,
  diff: async () => (await import("./diff.js")).diff,
  dead: async () => (await import("./dead.js")).dead,
  instances: async () => (await import("./instances.js")).instances,
  instance: async () => (await import("./instance.js")).instance,
  send: async () => (await import("./send.js")).send,
};

export const COMMAND_NAMES: readonly string[] = Object.keys(LOAD);

/** One of the names above. */
export function loadCommand(name: string): Promise<Command> {
  return LOAD[name]!();
}
