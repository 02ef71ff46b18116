// A script: a random little program as data. The same function plays it as a workflow and, for the checkers, over a journal.

import type { Chance } from "./chance.js";
import { keyOfResult } from "./effect-log.js";

export type Op =
  | StepOp
  | { readonly do: "sleep"; readonly name: string; readonly ms: number }
  | { readonly do: "wait"; readonly signal: SignalName; readonly timeoutMs: number | null }
  | { readonly do: "approval"; readonly timeoutMs: number | null }
  | { readonly do: "child"; readonly script: Script }
  | { readonly do: "value" }
  | { readonly do: "all" | "race"; readonly branches: readonly Script[] };

export interface StepOp {
  readonly do: "step";
  readonly name: string;
  readonly ms: number;
  /** The first so many attempts fail. */
  readonly fails: number;
  readonly attempts: number;
  /** The first so many starts kill their node. */
  readonly kills: number;
}

export type Script = readonly Op[];
export const SIGNAL_NAMES = ["red", "blue"] as const;
/** All approvals of a run have this name; they are told apart by their number. */
export const APPROVAL = "permit";
export type SignalName = (typeof SIGNAL_NAMES)[number];

/** Where a script is played. */
export interface Stage {
  step(op: StepOp, after: readonly string[]): Promise<string>;
  sleep(name: string, ms: number): Promise<void>;
  wait(name: SignalName, timeoutMs: number | null): Promise<unknown>;
  /** Who decided; undefined when nobody did in time. */
  approval(timeoutMs: number | null): Promise<string | undefined>;
  child(script: Script): Promise<Seen>;
  value(): Promise<number>;
}

/** Everything it was told, in order; nested where branches were. */
export type Seen = readonly (string | number | null | Seen)[];

interface Played {
  readonly seen: Seen;
  /** The steps whose results lead here. */
  readonly after: readonly string[];
}

export async function play(script: Script, stage: Stage): Promise<Seen> {
  return (await playFrom(script, stage, [])).seen;
}

async function playFrom(script: Script, stage: Stage, before: readonly string[]): Promise<Played> {
  let after = before;
  const seen: Seen[number][] = [];
  for (const op of script) {
    if (op.do === "step") {
      const result = await stage.step(op, after);
      after = [keyOfResult(result)];
      seen.push(result);
    } else if (op.do === "sleep") {
      await stage.sleep(op.name, op.ms);
      seen.push(op.name);
    } else if (op.do === "wait") seen.push(((await stage.wait(op.signal, op.timeoutMs)) as string | undefined) ?? null);
    else if (op.do === "value") seen.push(await stage.value());
    else if (op.do === "approval") seen.push((await stage.approval(op.timeoutMs)) ?? null);
    else if (op.do === "child") seen.push(await stage.child(op.script));
    else {
      const played = op.branches.map((branch) => playFrom(branch, stage, after));
      const told = op.do === "all" ? await Promise.all(played) : [await Promise.race(played)];
      after = told.flatMap((one) => one.after);
      seen.push(told.map((one) => one.seen));
    }
  }
  return { seen, after };
}

/** Durations are drawn as parts of the lease: shorter, about as long, and longer. */
export function drawScript(chance: Chance, leaseMs: number, depth = 0): Script {
  const length = chance.int(1, depth === 0 ? 5 : 3);
  return Array.from({ length }, () => drawOp(chance, leaseMs, depth));
}

function drawOp(chance: Chance, leaseMs: number, depth: number): Op {
  const kind = chance.weighted([
    [6, "step"],
    [2, "sleep"],
    [2, "wait"],
    [1, "approval"],
    [depth === 0 ? 1 : 0, "child"],
    [1, "value"],
    [depth < 2 ? 2 : 0, "all"],
    [depth < 2 ? 2 : 0, "race"],
  ] as const);
  switch (kind) {
    case "step":
      return drawStep(chance, leaseMs);
    case "sleep":
      return { do: "sleep", name: chance.one(["nap", "rest"]), ms: Math.ceil(leaseMs * chance.between(0.01, 2)) };
    case "wait":
      return { do: "wait", signal: chance.one(SIGNAL_NAMES), timeoutMs: drawTimeout(chance, leaseMs) };
    case "approval":
      return { do: "approval", timeoutMs: drawTimeout(chance, leaseMs) };
    case "child":
      return { do: "child", script: drawScript(chance, leaseMs, 2) };
    case "value":
      return { do: "value" };
    default:
      return {
        do: kind,
        branches: Array.from({ length: chance.int(2, 3) }, () => drawScript(chance, leaseMs, depth + 1)),
      };
  }
}

function drawTimeout(chance: Chance, leaseMs: number): number | null {
  return chance.happens(0.6) ? Math.ceil(leaseMs * chance.between(0.05, 3)) : null;
}

function drawStep(chance: Chance, leaseMs: number): StepOp {
  const ms = chance.happens(0.3) ? 0 : Math.ceil(leaseMs * chance.between(0, chance.happens(0.1) ? 2 : 0.4));
  const fails = chance.happens(0.2) ? chance.int(1, 3) : 0;
  const kills = chance.happens(0.03) ? chance.one([1, 2, 8]) : 0;
  return { do: "step", name: chance.one(["work", "check", "pay"]), ms, fails, attempts: chance.int(2, 4), kills };
}
