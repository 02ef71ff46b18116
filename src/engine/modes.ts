// The mode of a node as its parts ask for it: which programs it executes, which it starts, and which listeners learn of a change.

import { isDeepStrictEqual } from "node:util";
import { HoldfastError } from "../kernel/error.js";
import { effectiveMode, FULL, type ModeState, type NodeMode } from "../kernel/node-mode.js";

/** This node must not start runs, of this program or of any. Nothing was started. */
export class NodeDisabled extends HoldfastError {
  readonly code = "NODE_DISABLED";
  /** The program that was to be started. */
  readonly program: string;

  constructor(program: string) {
    super(
      `This node is disabled for ${JSON.stringify(program)}: nothing was started. ` +
        "Start it through another node or a client, or set another mode.",
    );
    this.program = program;
  }
}

export class Modes {
  #state: ModeState = FULL;
  readonly #owners = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  /** Asked for with every claim, of every program. */
  readonly #known = new Map<string, NodeMode>();
  #told = 0;

  get state(): ModeState {
    return this.#state;
  }

  /** How often it was set: an answer to a request from before the last change is older. */
  get told(): number {
    return this.#told;
  }

  /** Programs that belong to a definition also match its name. */
  belongs(program: string, owner: string): void {
    this.#owners.set(program, owner);
    this.#known.delete(program);
  }

  of(program: string): NodeMode {
    const known = this.#known.get(program);
    if (known !== undefined) return known;
    const owner = this.#owners.get(program);
    const mode = effectiveMode(this.#state, owner === undefined ? namesOf(program) : [...namesOf(program), owner]);
    this.#known.set(program, mode);
    return mode;
  }

  /** Returns whether it is a change. */
  set(state: ModeState): boolean {
    this.#told++;
    if (isSame(state, this.#state)) return false;
    this.#state = state;
    this.#known.clear();
    for (const tell of this.#listeners) tell();
    return true;
  }

  /** Returns a function that ends the subscription: schedulers are created and removed with definitions, this object stays. */
  onChange(tell: () => void): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }
}

/** An actor's expectations are named `actor::expectation`: a mode for the actor applies to all of them. */
function namesOf(program: string): string[] {
  const segments = program.split("::");
  return segments.map((_, i) => segments.slice(0, segments.length - i).join("::"));
}

function isSame(a: ModeState, b: ModeState): boolean {
  return a.mode === b.mode && a.drain === b.drain && isDeepStrictEqual({ ...a.overrides }, { ...b.overrides });
}
