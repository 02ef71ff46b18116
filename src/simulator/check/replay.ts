// Plays each ended run's script over its journal, by its own rules, and compares what comes of it with what was recorded.

import { isDeepStrictEqual } from "node:util";
import { codecs } from "../../kernel/codecs.js";
import { HoldfastError } from "../../kernel/error.js";
import { boundary } from "../scheduler.js";
import { APPROVAL, play, type Script, type Seen, type Stage } from "../script.js";
import type { History } from "./history.js";
import { endedCall, type ModelEntry, type ModelRun } from "./model.js";

class RecordedFailure extends HoldfastError {
  readonly code = "RECORDED_FAILURE";
}

interface OpenCall {
  readonly kind: string;
  /** As `endedCall` names it. */
  readonly call: string;
  readonly name: string;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const { decode } = codecs();

/** A stage on which only the journal speaks. */
class JournalStage {
  readonly stage: Stage;
  readonly #open: OpenCall[] = [];
  readonly #ended = new Set<string>();
  readonly #times = new Map<string, number>();

  constructor() {
    this.stage = {
      step: ({ name }) => this.#ask("step", name) as Promise<string>,
      sleep: (name) => this.#ask("sleep", name) as Promise<void>,
      wait: (name) => this.#ask("wait", name),
      value: () => this.#ask("value", "random") as Promise<number>,
      approval: async () => ((await this.#ask("approval", APPROVAL)) as { by: string } | null)?.by,
      child: async () => ((await this.#ask("child", "script")) as { value: Seen }).value,
    };
  }

  /** Tells the first of the entries that ends an open call, and takes it out. False: none does. */
  tellNext(entries: ModelEntry[]): boolean {
    for (const [i, entry] of entries.entries()) {
      const at = this.#open.findIndex((call) => ends(entry, call));
      if (at === -1) continue;
      entries.splice(i, 1);
      const [call] = this.#open.splice(at, 1);
      this.#ended.add(call!.call);
      const value = entry.payload && decode(entry.payload);
      if (failed(entry.kind, value)) call!.reject(new RecordedFailure("it failed"));
      else call!.resolve(["sleep", "wait.expired"].includes(entry.kind) ? undefined : value);
      return true;
    }
    return false;
  }

  /** A wait that a signal ended may be recorded as expired after that: whoever came first counts. */
  knowsEnd(entry: ModelEntry): boolean {
    return entry.kind === "wait.expired" && this.#ended.has(endedCall(entry)!);
  }

  #ask(kind: string, name: string): Promise<unknown> {
    const n = (this.#times.get(`${kind} ${name}`) ?? 0) + 1;
    this.#times.set(`${kind} ${name}`, n);
    return new Promise((resolve, reject) => {
      this.#open.push({ kind, call: `${kind} ${name}:${n}`, name, resolve, reject });
    });
  }
}

function failed(kind: string, value: unknown): boolean {
  return kind === "step.failed" || (kind === "child" && (value as { state: string }).state !== "completed");
}

function ends(entry: ModelEntry, { kind, call, name }: OpenCall): boolean {
  if (entry.kind === "take" && entry.key!.startsWith("wait:")) return call === `approval ${entry.key!.slice(5)}`;
  if (entry.kind === "take") return kind === "wait" && entry.key!.startsWith("signal:") && entry.name === name;
  return endedCall(entry) === call;
}

/** `scriptOf` answers null for runs of other programs. */
export async function checkReplay(history: History, scriptOf: (run: ModelRun) => Script | null): Promise<void> {
  for (const run of history.runs.values()) {
    const script = scriptOf(run);
    if (script && (run.state === "completed" || run.state === "failed")) await checkRun(history, run, script);
  }
}

async function checkRun(history: History, run: ModelRun, script: Script): Promise<void> {
  const journal = new JournalStage();
  const entries = run.journal.filter((entry) => endedCall(entry) || entry.kind === "take");
  let settled: { seen: Seen } | { error: unknown } | null = null;
  play(script, journal.stage).then(
    (seen) => {
      settled = { seen };
    },
    (error) => {
      settled = { error };
    },
  );
  do await boundary();
  while (journal.tellNext(entries));
  const left = entries.filter((entry) => entry.kind !== "take" && !journal.knowsEnd(entry));
  history.expect(left.length === 0, "S9", run, `recorded, not asked for: ${left.map(endedCall).join(", ")}`);
  const end = run.journal.at(-1)!;
  if (run.state === "completed") {
    const output = end.payload && decode(end.payload);
    const same = settled !== null && isDeepStrictEqual((settled as { seen?: Seen }).seen, output);
    const played = JSON.stringify(settled);
    history.expect(same, "S9", run, `returned ${JSON.stringify(output)}, its journal says ${played}`);
  } else history.expect(settled !== null && "error" in settled, "S9", run, "failed, though its journal says otherwise");
}
