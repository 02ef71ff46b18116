// Stops a node when its process is asked to end. The only file that listens to the process.
//
// The first signal stops the node in order and then ends the process, the second ends it now. A terminal and npm both forward
// a signal, so the same signal twice within a moment counts once. Under `npm run`, SIGTERM ends the shell between npm and this
// process and never arrives here (npm 11 with dash): the loss of the parent process counts as SIGTERM.

import { constants } from "node:os";
import { InvalidInput } from "../kernel/error.js";
import type { World } from "../kernel/world.js";

export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP";
export type SignalOption = boolean | readonly StopSignal[];

const DEFAULT_SIGNALS: readonly StopSignal[] = ["SIGTERM", "SIGINT"];
const KNOWN: readonly string[] = [...DEFAULT_SIGNALS, "SIGHUP"];
const ECHO_MS = 500;
const LOOK_FOR_PARENT_MS = 250;
/** Marks every listener of Holdfast, also of another copy of this package. */
const OURS = Symbol.for("holdfast.signals");

/** The process ends once, when the last of its nodes has stopped. */
const stopping = new Set<object>();

export interface Heard {
  readonly signals: readonly StopSignal[];
  /** A signal that the application also handles is left to the application. */
  readonly yields: boolean;
}

/** Without the option: the usual signals, unless the application handles them itself. */
export function signalsOf(option: SignalOption | undefined): Heard {
  if (option === undefined) return { signals: DEFAULT_SIGNALS, yields: true };
  if (option === false) return { signals: [], yields: false };
  const signals = option === true ? DEFAULT_SIGNALS : option;
  const odd = Array.isArray(signals) ? signals.find((name) => !KNOWN.includes(name)) : signals;
  if (odd !== undefined) throw new InvalidInput("signals", `must be true, false or some of ${KNOWN.join(", ")}`);
  return { signals, yields: false };
}

export interface Listening {
  /** Stops listening. */
  readonly stopListening: () => void;
  /** Acts as if a signal had arrived; without signals to listen to, it only stops the node. */
  readonly exit: () => void;
}

type Hear = (signal: StopSignal) => void;

/** One listener for all nodes of the process: Node warns of a leak from the eleventh on. */
const listeners = new Map<StopSignal, Set<Hear>>();
const dispatch = Object.assign(
  (name: NodeJS.Signals) => {
    const signal = name as StopSignal;
    for (const hear of [...(listeners.get(signal) ?? [])]) hear(signal);
  },
  { [OURS]: true },
);

/** In front of all others: a listener that the application added for one signal only is still there when we look. */
function listen(signal: StopSignal, hear: Hear): void {
  const known = listeners.get(signal) ?? new Set();
  if (known.size === 0) process.prependListener(signal, dispatch);
  listeners.set(signal, known.add(hear));
}

function unlisten(signal: StopSignal, hear: Hear): void {
  const known = listeners.get(signal);
  if (known?.delete(hear) && known.size === 0) process.off(signal, dispatch);
}

function applicationListens(signal: StopSignal): boolean {
  return process.listeners(signal).some((listener) => !(OURS in listener));
}

export function stopOnSignals(heard: Heard, stop: () => Promise<void>, world: World): Listening {
  const { signals, yields } = heard;
  const me = {};
  let first: { readonly signal: StopSignal; readonly at: number } | null = null;
  const onSignal = (signal: StopSignal) => {
    if (first) {
      if (signal !== first.signal || world.monotonicNow() - first.at > ECHO_MS) exitNow(signal);
      return;
    }
    if (yields && applicationListens(signal)) return;
    first = { signal, at: world.monotonicNow() };
    stopping.add(me);
    stop().then(
      () => end(me, 0),
      () => end(me, 1),
    );
  };
  for (const signal of signals) listen(signal, onSignal);
  const underNpm = signals.includes("SIGTERM") && process.env["npm_lifecycle_event"] !== undefined;
  const forget = underNpm ? whenOrphaned(() => onSignal("SIGTERM"), world) : () => {};
  return {
    stopListening: () => {
      forget();
      // While the process is ending, a second signal still ends it now.
      if (!first) for (const signal of signals) unlisten(signal, onSignal);
    },
    exit: () => {
      const signal = signals.find((one) => !(yields && applicationListens(one)));
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
