// Stops a node when its process is asked to end. The only file that listens to the process.
//
// The first signal stops in order and then ends the process, the second ends it now. A terminal and npm both pass on what
// they get, so the same signal twice within a moment is one. Under `npm run`, SIGTERM ends the shell between npm and us and
// never arrives here (npm 11 with dash): that our parent is gone stands for it.

import { constants } from "node:os";
import { InvalidInput } from "../kernel/error.js";
import type { World } from "../kernel/world.js";

export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP";
export type SignalOption = boolean | readonly StopSignal[];

const DEFAULT_SIGNALS: readonly StopSignal[] = ["SIGTERM", "SIGINT"];
const KNOWN: readonly string[] = [...DEFAULT_SIGNALS, "SIGHUP"];
const ECHO_MS = 500;
const LOOK_FOR_PARENT_MS = 250;

/** The process has one end: it comes when the last of its nodes has stopped. */
const stopping = new Set<object>();

export function signalsOf(option: SignalOption | undefined): readonly StopSignal[] {
  if (option === undefined || option === false) return [];
  const signals = option === true ? DEFAULT_SIGNALS : option;
  const odd = Array.isArray(signals) ? signals.find((name) => !KNOWN.includes(name)) : signals;
  if (odd !== undefined) throw new InvalidInput("signals", `must be true or some of ${KNOWN.join(", ")}`);
  return signals;
}

export interface Listening {
  /** Listens no more. */
  readonly deafen: () => void;
  /** As if a signal had come; without any to listen to, it only stops. */
  readonly exit: () => void;
}

export function stopOnSignals(signals: readonly StopSignal[], stop: () => Promise<void>, world: World): Listening {
  const me = {};
  let first: { readonly signal: StopSignal; readonly at: number } | null = null;
  const onSignal = (signal: StopSignal) => {
    if (first) {
      if (signal !== first.signal || world.monotonicNow() - first.at > ECHO_MS) exitNow(signal);
      return;
    }
    first = { signal, at: world.monotonicNow() };
    stopping.add(me);
    stop().then(
      () => end(me, 0),
      () => end(me, 1),
    );
  };
  for (const signal of signals) process.on(signal, onSignal);
  const underNpm = signals.includes("SIGTERM") && process.env["npm_lifecycle_event"] !== undefined;
  const forget = underNpm ? whenOrphaned(() => onSignal("SIGTERM"), world) : () => {};
  return {
    deafen: () => {
      forget();
      // While the process is ending, a second signal still ends it now.
      if (!first) for (const signal of signals) process.off(signal, onSignal);
    },
    exit: () => {
      const [signal] = signals;
      if (signal === undefined) void stop();
      else if (!first) onSignal(signal);
    },
  };
}

function whenOrphaned(callback: () => void, world: World): () => void {
  const parent = process.ppid;
  let cancel = () => {};
  const look = () => {
    if (process.ppid !== parent) callback();
    else cancel = world.after(LOOK_FOR_PARENT_MS, look);
  };
  look();
  return () => cancel();
}

function end(me: object, code: number): void {
  stopping.delete(me);
  if (code !== 0) process.exitCode = code;
  if (stopping.size === 0) process.exit(process.exitCode ?? 0);
}

function exitNow(signal: StopSignal): void {
  process.exit(128 + constants.signals[signal]);
}
