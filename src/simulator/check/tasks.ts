// Checks tasks (S13): a task begins only when all it needs has ended, each once; a waiting run knows how many are open
// and ends after its own tasks. Counted here from the observed ends, not from the rows.

import { isEnded } from "../../kernel/run/run-state.js";
import type { Of } from "../applied.js";
import type { History } from "./history.js";
import type { ModelRun } from "./model.js";

/** The tasks that it started in its current generation. */
export function tasksOf({ runs }: History, { journal, baseSeq }: ModelRun): ModelRun[] {
  return journal
    .slice(baseSeq)
    .filter(({ kind }) => kind === "task")
    .flatMap(({ key }) => runs.get(key!) ?? []);
}

/** A task of one name is started once; its own entry is already in the journal. */
export function checkStart(history: History, run: ModelRun, name: string): void {
  const named = run.journal.slice(run.baseSeq).filter((entry) => entry.kind === "task" && entry.name === name);
  history.expect(named.length === 1, "S13", run, `starts its task ${name} ${named.length} times`);
}

/** As it is granted. */
export function checkReady(history: History, run: ModelRun): void {
  const open = (run.needs ?? []).filter((id) => isOpen(history, id));
  history.expect(open.length === 0, "S13", run, `granted while ${open.length} of its needs have not ended`);
}

export function checkEnd(history: History, run: ModelRun): void {
  const open = tasksOf(history, run).filter(({ state }) => !isEnded(state));
  history.expect(open.length === 0, "S13", run, `ends while ${open.length} of its tasks have not`);
}

/** After every operation: whatever ends runs counts them down. */
export function checkTasks(history: History): void {
  for (const run of history.runs.values()) {
    if (isEnded(run.state)) continue;
    const own = tasksOf(history, run);
    if (run.needs === null && own.length === 0) continue;
    const row = history.observe(run);
    const needs = (run.needs ?? []).filter((id) => isOpen(history, id)).length;
    const open = needs + own.filter(({ state }) => !isEnded(state)).length;
    const state = row?.state;
    history.expect(row?.pending === open, "S13", run, `waits for ${row?.pending}, and ${open} are open`);
    history.expect(
      (state === "blocked") === needs > 0 || state === "paused",
      "S13",
      run,
      `${state} with ${needs} needs`,
    );
    history.expect(state !== "parked" || own.length === 0 || open > 0, "S13", run, "sleeps, and nothing is open");
  }
}

function isOpen({ runs }: History, id: string): boolean {
  const need = runs.get(id);
  return need !== undefined && !isEnded(need.state);
}

export function checkOperation(
  history: History,
  { args: [runId] }: Of<"runs.pause" | "runs.resume" | "runs.cancelTasks">,
): void {
  if (history.runs.has(runId)) followStore(history, runId);
}

export function checkReconcile(history: History, { answer }: Of<"runs.reconcile">): void {
  if (answer.replayed > 0) history.broken("S13", null, `${answer.replayed} rows had to be repaired`);
}

/** What the store itself may write to a log. */
const WRITTEN = ["cancelled", "paused", "resumed", "retried", "start"];

/** An operation on a run and its tasks: takes over what the store wrote to each, and says so when it may not. */
export function followStore(history: History, runId: string): void {
  const tree = [history.runs.get(runId)!];
  for (const run of tree) tree.push(...tasksOf(history, run));
  for (const run of tree) {
    const log = history.tables.journal.get(run.id);
    const until = history.tables.runs.get(run.id)?.seq ?? 0;
    while (run.seq < until) follow(history, run, log!.get(run.seq + 1)!);
    const rows = [...(history.tables.inbox.get(run.id) ?? [])].sort((a, b) => a.id - b.id);
    run.messages.splice(0, run.messages.length, ...rows.map((row) => ({ ...row })));
    history.observe(run);
  }
}

type Entry = {
  readonly kind: string;
  readonly name: string;
  readonly key: string | null;
  readonly token: string | null;
} & Pick<ModelRun["journal"][number], "payload">;

function follow(history: History, run: ModelRun, entry: Entry): void {
  history.expect(WRITTEN.includes(entry.kind) && entry.token === null, "S8", run, `${entry.kind} was written to it`);
  history.append(run, null, entry);
  if (entry.kind === "cancelled") {
    history.expect(run.state !== "running", "S3", run, "cancelled while a node holds it");
    history.end(run, "cancelled");
  }
  if (entry.kind === "retried" || entry.kind === "start") {
    const begins = entry.kind === "start";
    const may = isEnded(run.state) && (begins || run.state !== "completed") && run.needs !== null;
    history.expect(may, "S16", run, `retried while ${run.state}`);
    const same = JSON.stringify(entry.payload) === JSON.stringify(run.journal[run.baseSeq]!.payload);
    history.expect(!begins || same, "S8", run, "begins again with other input");
    if (begins) history.nextGeneration(run);
    else run.generation++;
    run.state = "waiting";
    run.streak = 0;
    run.waitingSince = history.now;
  }
}
