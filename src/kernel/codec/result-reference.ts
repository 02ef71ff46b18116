// A result that is too large for one entry: it names the runs whose results it is made of, and is read from them on demand.

import { HoldfastError } from "../error.js";
import type { Codecs } from "./codecs.js";
import type { Payload } from "./payload.js";

/** The ids of runs: by name, or as a list. */
export type ReferredRuns = Readonly<Record<string, string>> | readonly string[];

export class ResultReference {
  readonly runs: ReferredRuns;

  constructor(runs: ReferredRuns) {
    this.runs = runs;
  }
}

/** A part of the result was in a run that no longer exists. */
export class ResultPruned extends HoldfastError {
  readonly code = "RESULT_PRUNED";
  /** The run that had the result. */
  readonly runId: string;

  constructor(runId: string) {
    super(`A part of the result was kept in run ${runId}, which no longer exists. Keep ended runs for longer.`);
    this.runId = runId;
  }
}

/** No codec of a user has this name: names of codecs begin with a letter. */
const CODEC = "~results";
/** The most runs that are read at once. */
const PAGE = 200;

export function referenceTo(runs: ReferredRuns): Payload {
  return { codec: CODEC, data: JSON.stringify(runs) };
}

export function referenceIn({ codec, data }: Payload): ResultReference | null {
  return codec === CODEC ? new ResultReference(JSON.parse(data) as ReferredRuns) : null;
}

/** The last payload of each run; null: there is no such run. */
export type ReadEnds = (runIds: readonly string[]) => Promise<readonly (Payload | null)[]>;

/** The value, or what a reference refers to. */
export async function readResult(payload: Payload, codecs: Codecs, ends: ReadEnds): Promise<unknown> {
  const reference = referenceIn(payload);
  return reference ? readReference(reference, codecs, ends) : codecs.decode(payload);
}

export async function readReference({ runs }: ResultReference, codecs: Codecs, ends: ReadEnds): Promise<unknown> {
  const ids = Array.isArray(runs) ? (runs as readonly string[]) : Object.values(runs);
  const values: unknown[] = [];
  for (let from = 0; from < ids.length; from += PAGE) {
    const page = ids.slice(from, from + PAGE);
    const payloads = await ends(page);
    for (const [i, payload] of payloads.entries()) {
      if (!payload) throw new ResultPruned(page[i]!);
      values.push(await readResult(payload, codecs, ends));
    }
  }
  return Array.isArray(runs) ? values : Object.fromEntries(Object.keys(runs).map((name, i) => [name, values[i]]));
}
