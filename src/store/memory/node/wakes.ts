// Notifies the nodes of this process after an operation: of runs they may claim, of requests to stop, of news. It also
// admits runs that were woken in a line, as the database does at once.

import type { NewRun, RunGroup } from "../../../kernel/run/new-run.js";
import type { World } from "../../../kernel/world.js";
import type { Attendance, Attendee } from "../../contract/node/attend.js";
import type { Admission } from "../../contract/run/runs.js";
import { admitRuns } from "../limit/admit-runs.js";
import { unansweredIn } from "../run/stop-requests.js";
import type { RunRow } from "../table/rows.js";
import type { Tables } from "../table/tables.js";

export class Wakes {
  readonly #tables: Tables;
  readonly #world: World;
  readonly #attendees = new Set<Attendee>();

  constructor(tables: Tables, world: World) {
    this.#tables = tables;
    this.#world = world;
  }

  /** A node is present until it leaves. */
  attend(attendee: Attendee): Attendance {
    const { incarnation } = attendee;
    const { presence, nodes } = this.#tables;
    const announce = () => {
      presence.held.add(incarnation);
      const row = nodes.get(incarnation);
      if (row) Object.assign(row, { attends: true, absentSinceUs: null });
    };
    this.#attendees.add(attendee);
    announce();
    return {
      seen: true,
      again: async () => announce(),
      leave: async () => {
        this.#attendees.delete(attendee);
        presence.held.delete(incarnation);
      },
    };
  }

  admit(whom: Admission): number {
    const admitted = admitRuns(this.#tables, whom).filter(({ state }) => state === "waiting");
    this.ready(admitted);
    const skipped = this.#tables.skipped.splice(0);
    // One node is enough: it is the process that is notified.
    if (skipped.length > 0) [...this.#attendees][0]?.onSkipped?.(skipped);
    if (this.#tables.woken.size > 0) this.after(null);
    return admitted.length;
  }

  /** Announces runs that became ready, and admits the runs that an operation woke or whose slots it freed. */
  after<T>(answer: T): T {
    const { ready, woken, left, runs } = this.#tables;
    this.ready(ready);
    for (const { id, state } of ready) if (state === "held") woken.add(id);
    ready.clear();
    const held = [...woken].filter((id) => runs.get(id)?.state === "held");
    woken.clear();
    this.admit({ runIds: held });
    const freed = [...left];
    left.clear();
    if (freed.length > 0) this.admit({ runIds: freed });
    return answer;
  }

  /** Runs were inserted, and some of them may have limits. */
  started(runs: readonly NewRun[]): void {
    this.admit({ runIds: runs.filter(({ limits = [] }) => limits.length > 0).map(({ id }) => id) });
    this.inserted(runs);
  }

  inserted(runs: readonly NewRun[]): void {
    if (this.#attendees.size > 0)
      this.groups(runs.filter((run) => this.#tables.runs.has(run?.id)).map(({ group }) => group));
  }

  groups(groups: readonly RunGroup[]): void {
    this.#wake(new Set(groups.map((group) => this.#tables.groups.idOf(group))));
  }

  /** Of these runs, those that wait: announced when they can be claimed. */
  ready(runs: Iterable<RunRow>): void {
    const nowUs = this.#tables.nowUs();
    const groupsAt = new Map<number, Set<number>>();
    for (const { state, groupId, availableAtUs } of runs) {
      if (state !== "waiting") continue;
      const inMs = Math.max(Math.ceil((availableAtUs - nowUs) / 1000), 0);
      groupsAt.set(inMs, (groupsAt.get(inMs) ?? new Set()).add(groupId));
    }
    for (const [inMs, groups] of groupsAt) {
      if (inMs === 0) this.#wake(groups);
      else this.#world.after(inMs, () => this.#wake(groups));
    }
  }

  readyById(runIds: readonly string[]): void {
    this.ready(runIds.flatMap((id) => this.#tables.runs.get(id) ?? []));
  }

  /** The run or its tasks were asked to stop: their holders read the inboxes. */
  asked(runId: string): void {
    const runIds = unansweredIn(this.#tables, runId);
    if (runIds.length > 0) for (const { onCalled } of this.#attendees) onCalled?.(runIds);
  }

  /** There is work for housekeeping, on any node. */
  news(): void {
    for (const { onNews } of this.#attendees) onNews?.();
  }

  #wake(groups: ReadonlySet<number>): void {
    if (groups.size > 0) for (const { onWake } of this.#attendees) onWake([...groups]);
  }
}
