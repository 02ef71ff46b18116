// A script: a small random program as data. The same function plays it as a workflow and, for the checkers, over a
// journal.

import type { Chance } from "../chance.js";
import { keyOfResult } from "../effect-log.js";

export type Op =
  | StepOp
  | { readonly do: "sleep"; readonly name: string; readonly ms: number }
  | { readonly do: "wait"; readonly signal: SignalName; readonly timeoutMs: number | null }
  | ApprovalOp
  | { readonly do: "child"; readonly script: Script }
  | { readonly do: "value" }
  | { readonly do: "patched"; readonly name: string }
  /** Continues as new with another script; nothing comes after it. */
  | { readonly do: "continueAsNew"; readonly script: Script }
  | { readonly do: "all" | "race"; readonly branches: readonly Script[] };

export interface ApprovalOp {
  readonly do: "approval";
  readonly timeoutMs: number | null;
  /** The choice that counts on timeout; null: it expires. */
  readonly otherwise: "denied" | null;
}

export interface StepOp {
  /** A transaction inserts a run of its own that shows whether it was committed. */
  readonly do: "step" | "transaction";
  readonly name: string;
  readonly ms: number;
  /** How many attempts fail before one succeeds. */
  readonly fails: number;
  /** Attempts in a row, with this delay in between; an operator's retry grants as many again. */
  readonly attempts: number;
  readonly delayMs: number;
  /** How many of the first starts kill their node. */
  readonly kills: number;
}

export type Script = readonly Op[];
export const SIGNAL_NAMES = ["red", "blue"] as const;
/** All approvals of a run have this name; their numbers distinguish them. */
export const APPROVAL = "permit";
export type SignalName = (typeof SIGNAL_NAMES)[number];

/** Where a script is played. */
export interface Stage {
  step(op: StepOp, after: readonly string[]): Promise<string>;
  sleep(name: string, ms: number): Promise<void>;
  wait(name: SignalName, timeoutMs: number | null): Promise<unknown>;
  /** Who decided, or the default; undefined after a timeout. */
  approval(op: ApprovalOp): Promise<string | undefined>;
  child(script: Script): Promise<Seen>;
  value(): Promise<number>;
  patched(name: string): Promise<boolean>;
  continueAsNew(script: Script): Promise<never>;
}

/** Everything it received, in order; nested for branches. */
export type Seen = readonly (string | number | boolean | null | Seen)[];

interface Played {
  readonly seen: Seen;
  /** The steps whose results lead here. */
  readonly after: readonly string[];
}

function isStep(op: Op): op is StepOp {
  return op.do === "step" || op.do === "transaction";
}

export async function play(script: Script, stage: Stage): Promise<Seen> {
  return (await playFrom(script, stage, [])).seen;
}

async function playFrom(script: Script, stage: Stage, before: readonly string[]): Promise<Played> {
  let after = before;
  const seen: Seen[number][] = [];
  for (const op of script) {
    if (isStep(op)) {
      const result = await stage.step(op, after);
      after = [keyOfResult(result)];
      seen.push(result);
    } else if (op.do === "sleep") {
      await stage.sleep(op.name, op.ms);
      seen.push(op.name);
    } else if (op.do === "wait") seen.push(((await stage.wait(op.signal, op.timeoutMs)) as string | undefined) ?? null);
    else if (op.do === "value") seen.push(await stage.value());
    else if (op.do === "approval") seen.push((await stage.approval(op)) ?? null);
    else if (op.do === "patched") seen.push(await stage.patched(op.name));
    else if (op.do === "continueAsNew") await stage.continueAsNew(op.script);
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
function drawScript(chance: Chance, leaseMs: number, depth = 0): Script {
  const length = chance.int(1, depth === 0 ? 5 : 3);
  return Array.from({ length }, () => drawOp(chance, leaseMs, depth));
}

/** A run as it is started: some continue as new, up to three times. */
export function drawGenerations(chance: Chance, leaseMs: number, left = 3): Script {
  const script = drawScript(chance, leaseMs);
  if (left === 0 || !chance.happens(0.15)) return script;
  return [...script.slice(0, 3), { do: "continueAsNew", script: drawGenerations(chance, leaseMs, left - 1) }];
}

function drawOp(chance: Chance, leaseMs: number, depth: number): Op {
  const kind = chance.weighted([
    [6, "step"],
    [1.5, "transaction"],
    [2, "sleep"],
    [2, "wait"],
    [1, "approval"],
    [depth === 0 ? 1 : 0, "child"],
    [1, "value"],
    [0.5, "patched"],
    [depth < 2 ? 2 : 0, "all"],
    [depth < 2 ? 2 : 0, "race"],
  ] as const);
  switch (kind) {
    case "step":
    case "transaction":
      return drawStep(kind, chance, leaseMs);
    case "patched":
      return { do: "patched", name: chance.one(["new", "newer"]) };
    case "sleep":
      return { do: "sleep", name: chance.one(["nap", "rest"]), ms: Math.ceil(leaseMs * chance.between(0.01, 2)) };
    case "wait":
      return { do: "wait", signal: chance.one(SIGNAL_NAMES), timeoutMs: drawTimeout(chance, leaseMs) };
    case "approval":
      return {
        do: "approval",
        timeoutMs: drawTimeout(chance, leaseMs),
        otherwise: chance.happens(0.5) ? "denied" : null,
      };
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

/** Longer back-offs release the claim. */
const LONG_MS = 5_000;

function drawStep(kind: StepOp["do"], chance: Chance, leaseMs: number): StepOp {
  const ms = chance.happens(0.3) ? 0 : Math.ceil(leaseMs * chance.between(0, chance.happens(0.1) ? 2 : 0.4));
  const fails = chance.happens(0.2) ? chance.int(1, 3) : 0;
  const kills = chance.happens(0.03) ? chance.one([1, 2, 8]) : 0;
  const delayMs = fails > 0 && chance.happens(0.15) ? LONG_MS * chance.between(1.05, 1.5) : ms;
  const name = kind === "step" ? chance.one(["work", "check", "pay"]) : chance.one(["book", "post"]);
  return { do: kind, name, ms, fails, attempts: chance.int(2, 4), delayMs: Math.ceil(delayMs), kills };
}
