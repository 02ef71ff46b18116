// What every run of a test waits for: for the error of a test that is stuck, and for stubs that answer.

import { isEnded } from "../../kernel/run/run-state.js";
import { readCallId } from "../../replay/recorded.js";
import type { JournalEntry } from "../../store/contract/journal/journal.js";
import type { RunRow } from "../../store/memory/table/rows.js";
import type { Tables } from "../../store/memory/table/tables.js";

/** A call on which a run is parked. */
export interface OpenCall {
  /** What is waited for. */
  readonly kind: string;
  /** The name of the call. */
  readonly name: string;
  /** Distinguishes calls of one name. */
  readonly key: string;
}

const NOUNS: Readonly<Record<string, string>> = { wait: "signal" };

/** The calls on which runs are parked, as their sessions reported them. */
export class ParkedCalls {
  readonly #calls = new Map<string, readonly OpenCall[]>();

  note(runId: string, open: Iterable<{ readonly id: string }>): void {
    const calls = [...open].map(({ id }) => {
      const [kind, name, key] = readCallId(id);
      return { kind, name, key };
    });
    this.#calls.set(runId, calls);
  }

  of({ id, state }: RunRow): readonly OpenCall[] {
    return state === "parked" ? (this.#calls.get(id) ?? []) : [];
  }
}

export function journalOf(tables: Tables, runId: string): readonly JournalEntry[] {
  const rows = [...(tables.journal.get(runId)?.values() ?? [])].sort((a, b) => a.seq - b.seq);
  return rows.map(({ seq, epoch, kind, name, key, payload, atUs }) => {
    return { seq, epoch, kind, name, key, payload, at: Math.floor(atUs / 1000) };
  });
}

export function explainRuns(tables: Tables, parked: ParkedCalls, isUp: boolean): string {
  const open = [...tables.runs.values()].filter(({ state }) => !isEnded(state));
  const served = new Set([...tables.nodes.values()].flatMap(({ serves }) => [...serves]));
  const lines = open.map((row) => `- run ${row.id} of ${row.group.program} ${stateOf(row, parked, served)}`);
  const active = [...tables.instances.values()].filter(({ status }) => status === "active");
  const instances = active.map(({ id, group, value }) => `- instance ${id} of ${group.program} is in ${value}`);
  const down = isUp ? [] : ["The node is not running: call restart()."];
  const all = [...down, ...lines, ...instances];
  return all.length > 0 ? all.join("\n") : "Every run has ended.";
}

function stateOf(row: RunRow, parked: ParkedCalls, served: ReadonlySet<number>): string {
  if (row.state === "running") return "is running: its code waits for something that is not a call of its context";
  if (row.state === "waiting" && !served.has(row.groupId))
    return "waits for a node with this program: pass it in programs";
  const calls = parked.of(row).map(({ kind, name }) => `${NOUNS[kind] ?? kind} ${JSON.stringify(name)}`);
  const until = row.wakeAtUs === null ? "" : `, until ${new Date(row.wakeAtUs / 1000).toISOString()} at the latest`;
  return `is ${row.state}${calls.length > 0 ? ` on ${calls.join(" and ")}` : ""}${until}`;
}
