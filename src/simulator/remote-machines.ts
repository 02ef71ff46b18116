// Instances of machines as one process sees them: every operation goes over its link.

import type { NewRun } from "../kernel/run/new-run.js";
import type { AppendAnswer, Change, MachineStore } from "../store/contract/machine/machines.js";
import type { Link } from "./link.js";

export function remoteMachines(link: Link): MachineStore {
  const { machines } = link.database.store;

  /** To those who watch, a step with effects is somebody who inserts runs. */
  function inserted(changes: readonly Change[], written: (i: number) => boolean): void {
    const runs: readonly NewRun[] = changes.filter((_, i) => written(i)).flatMap(({ effects }) => effects);
    const answers = runs.map(({ id: runId }) => ({ outcome: "inserted" as const, runId }));
    if (runs.length > 0) link.database.onApplied({ op: "insert", runs, answers }, link.name);
  }

  return {
    create: (instances) =>
      link.call("create instances", async () => {
        const answers = await machines.create(instances);
        inserted(instances, (i) => answers[i]!.outcome === "created");
        return answers;
      }),
    append: (appends) =>
      link.call("append", async () => {
        const locked = link.locked(appends.length);
        const free = appends.filter((_, i) => !locked[i]);
        const given = await machines.append(free);
        inserted(free, (i) => given[i]!.outcome === "accepted");
        let next = 0;
        return appends.map((_, i): AppendAnswer => (locked[i] ? { outcome: "busy" } : given[next++]!));
      }),
    tell: (told) => link.call("tell", () => machines.tell(told)),
    load: (keys) => link.call("load instances", () => machines.load(keys)),
    events: (key, options) => link.call("read events", () => machines.events(key, options)),
    timers: (key) => link.call("read timers", () => machines.timers(key)),
    claimTimers: (claim) => link.call("claim timers", () => machines.claimTimers(claim)),
    settleTimers: (settlements) => link.call("settle timers", () => machines.settleTimers(settlements)),
    note: (key, seq, problem) => link.call("note", () => machines.note(key, seq, problem)),
    retryTimers: (key) => link.call("retry timers", () => machines.retryTimers(key)),
    list: (filter, page) => link.call("list instances", () => machines.list(filter, page)),
    prune: (age) => link.call("prune instances", () => machines.prune(age)),
  };
}
