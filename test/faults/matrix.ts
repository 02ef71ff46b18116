// The matrix of faults: what can go wrong, what must hold then, and the tests that show it. `docs/faults.md` is generated from it.

import { database } from "./area/database.js";
import { deployments } from "./area/deployments.js";
import { input } from "./area/input.js";
import { network } from "./area/network.js";
import { process } from "./area/process.js";
import { racesAndLoad } from "./area/races-and-load.js";
import { time } from "./area/time.js";
import type { Fault } from "./fault.js";

export type { Fault } from "./fault.js";

/** The files of the groups that are named here. */
export const CONFORMANCE: Readonly<Record<string, string>> = {
  commits: "claim/commits",
  crashes: "claim/crashes",
  sweeps: "claim/sweeps",
  recovery: "claim/recovery",
  lists: "run/lists",
  cancel: "run/cancel",
  insert: "run/insert",
  messages: "inbox/messages",
  limits: "limit/limits",
};

export const MATRIX: Readonly<Record<string, readonly Fault[]>> = {
  Process: process,
  Database: database,
  Network: network,
  Time: time,
  "Races and load": racesAndLoad,
  Input: input,
  "Deployments, modes and envs": deployments,
};

export const FAULTS: readonly Fault[] = Object.values(MATRIX).flat();

export interface Named {
  readonly file: string;
  /** Part of a test's full name; undefined: every test of the file. */
  readonly text: string | undefined;
}

export const matches = (name: string, text: string | undefined): boolean =>
  text === undefined || (text.startsWith("^") ? name.startsWith(text.slice(1)) : name.includes(text));

/** What a test of the matrix names. */
export function namedBy(test: string): Named {
  const [path, text] = test.split(": ") as [string, string | undefined];
  return { file: `test/${path}.test.ts`, text };
}
