// Replays each ended run's script over its journal, with rules of its own, and compares the result with what was
// recorded.

import { isDeepStrictEqual } from "node:util";
import { codecs } from "../../kernel/codec/codecs.js";
import { HoldfastError } from "../../kernel/error.js";
import { boundary } from "../scheduler.js";
import { APPROVAL, play, type Script, type Seen, type Stage } from "../workload/script.js";
import type { History } from "./history.js";
import { decidedCall, endedCall, endingsOf, type ModelEntry, type ModelRun } from "./model.js";

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
  readonly #log: readonly ModelEntry[];
  readonly #entries: readonly ModelEntry[];
  readonly #patches = new Map<string, Promise<boolean>>();
  readonly #asked = new Set<string>();
  readonly #open: OpenCall[] = [];
  readonly #ended = new Set<string>();
  readonly #times = new Map<string, number>();

  /** `log`: one generation. `entries`: its endings that were not delivered yet. */
  constructor(log: readonly ModelEntry[], entries: readonly ModelEntry[], onAnew: (script: Script) => void) {
    this.#log = log;
    this.#entries = entries;
    this.stage = {
      step: ({ do: kind, name }) => this.#ask(kind, name) as Promise<string>,
      sleep: (name) => this.#ask("sleep", name) as Promise<void>,
      wait: (name) => this.#ask("wait", name),
      value: () => this.#ask("value", "random") as Promise<number>,
      approval: async ({ otherwise }) => {
        const decision = (await this.#ask("approval", APPROVAL)) as { by: string } | null;
        return decision?.by ?? otherwise ?? undefined;
      },
      patched: (name) => this.#patched(name),
      continueAsNew: (script) => {
        onAnew(script);
        return new Promise(() => {});
      },
      child: async () => ((await this.#ask("child", "script")) as { value: Seen }).value,
    };
  }

  /** Delivers the first of the entries that ends an open call, and removes it. False: none does. */
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

  /** A wait that a signal ended may be recorded as expired later: the first counts. */
  knowsEnd(entry: ModelEntry): boolean {
    return entry.kind === "wait.expired" && this.#ended.has(endedCall(entry)!);
  }

  #ask(kind: string, name: string): Promise<unknown> {
    const n = (this.#times.get(`${kind} ${name}`) ?? 0) + 1;
    this.#times.set(`${kind} ${name}`, n);
    this.#asked.add(`${kind} ${name}:${n}`);
    return new Promise((resolve, reject) => {
      this.#open.push({ kind, call: `${kind} ${name}:${n}`, name, resolve, reject });
    });
  }

  /** Asked once; false, and not recorded, where the journal continues without it. */
  #patched(name: string): Promise<boolean> {
    const known = this.#patches.get(name);
    if (known) return known;
    const recorded = this.#log.some((entry) => entry.kind === "patched" && entry.name === name);
    const passed =
      this.#entries.some(({ kind }) => kind !== "take") || this.#begun().some((call) => !this.#asked.has(call));
    const answer = recorded || !passed ? this.#ask("patched", name) : Promise.resolve(false);
    this.#patches.set(name, answer as Promise<boolean>);
    return answer as Promise<boolean>;
  }

  #begun(): string[] {
    let children = 0;
    return this.#log.flatMap(({ kind, name, key }) => {
      if (kind === "enqueue") return `child ${name}:${++children}`;
      return kind.endsWith(".begun") ? `${kind.slice(0, -".begun".length)} ${name}:${key}` : [];
    });
  }
}

function failed(kind: string, value: unknown): boolean {
  return kind.endsWith(".failed") || (kind === "child" && (value as { state: string }).state !== "completed");
}

function ends(entry: ModelEntry, { kind, call, name }: OpenCall): boolean {
  if (entry.kind === "take" && entry.key!.startsWith("wait:")) return call === `approval ${decidedCall(entry.key!)}`;
  if (entry.kind === "take") return kind === "wait" && entry.key!.startsWith("signal:") && entry.name === name;
  return endedCall(entry) === call;
}

/** `plays`: whether a run plays a script. */
export async function checkReplay(history: History, plays: (run: ModelRun) => boolean): Promise<void> {
  for (const run of history.runs.values()) if (plays(run)) await checkRun(history, run);
}

/** Each generation separately: one that continued as new must have asked for exactly that. */
async function checkRun(history: History, run: ModelRun): Promise<void> {
  const starts = run.journal.filter(({ kind }) => kind === "start");
  for (const [i, start] of starts.entries()) {
    const next = starts[i + 1];
    const log = run.journal.slice(start.seq - 1, next ? next.seq - 1 : undefined);
    // The store itself writes without a token: an operator retried it from the start with the same input.
    const continued = next !== undefined && next.token !== null;
    const last = log.at(-1)!.kind;
    if (!continued && last !== "completed" && last !== "failed") continue;
    const end: End = continued ? { next: decode(next.payload!) as Script } : { entry: log.at(-1)! };
    // The message its holder had read under this key was another than the one in the journal.
    const replaced = log.some(({ kind, key }) => kind === "take" && history.lost.has(`${run.id} ${key}`));
    if (!replaced) await checkGeneration(history, run, log, end);
  }
}

type End = { readonly next: Script } | { readonly entry: ModelEntry };
type Settled = { readonly seen: Seen } | { readonly error: unknown } | { readonly next: Script };

async function checkGeneration(history: History, run: ModelRun, log: readonly ModelEntry[], end: End): Promise<void> {
  const base = log[0]!.seq - 1;
  const entries = endingsOf(log, base);
  let settled: Settled | null = null;
  const journal = new JournalStage(log, entries, (script) => {
    settled = { next: script };
  });
  play(decode(log[0]!.payload!) as Script, journal.stage).then(
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
  if ("next" in end) checkReopened(history, run, entries);
  compare(history, run, end, settled);
}

function compare(history: History, run: ModelRun, end: End, settled: Settled | null): void {
  const played = JSON.stringify(settled);
  if ("next" in end) {
    const same = settled !== null && isDeepStrictEqual((settled as { next?: Script }).next, end.next);
    history.expect(same, "S9", run, `continued as new with ${JSON.stringify(end.next)}, its journal says ${played}`);
  } else if (end.entry.kind === "completed") {
    const output = end.entry.payload && decode(end.entry.payload);
    const same = settled !== null && isDeepStrictEqual((settled as { seen?: Seen }).seen, output);
    history.expect(same, "S9", run, `returned ${JSON.stringify(output)}, its journal says ${played}`);
  } else {
    const threw = settled !== null && "error" in (settled as Settled);
    history.expect(threw, "S9", run, "failed, though its journal says otherwise");
  }
}

/** S12: a signal that was taken in and not delivered is for the next generation. */
function checkReopened(history: History, run: ModelRun, untold: readonly ModelEntry[]): void {
  for (const { kind, key, seq } of untold) {
    if (kind !== "take" || !key!.startsWith("signal:")) continue;
    const message = run.messages.find((one) => one.key === key);
    history.expect(
      message?.takenSeq !== seq,
      "S12",
      run,
      `${key} was not delivered, and lost when the run continued as new`,
    );
  }
}
