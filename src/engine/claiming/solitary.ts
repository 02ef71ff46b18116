// Executes suspects alone: a run that may kill its process must not take other runs with it, nor be blamed for another's crash.

import { sleep, type World } from "../../kernel/world.js";
import type { Session } from "../session.js";

/** What runs next to a suspect gets this long to end before the suspect begins. */
const OTHERS_END_MS = 5_000;
/** After this long alone, others are executed next to it: a long innocent suspect does not idle its node. Doubled with each crash. */
const ALONE_MS = 30_000;
const LONGEST_ALONE_MS = 5 * 60_000;
/** Where runs are claimed ahead, a slot is left free for a suspect this often. */
const ASK_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 10;

type Claimed = readonly { readonly suspect: boolean }[] | null;

export interface SolitaryOptions {
  readonly world: World;
  /** Claimed runs of the whole node. */
  readonly active: () => number;
  /** Hands back what was claimed and has not begun, except for the suspect. */
  readonly handBack: (suspect: Session) => void;
  /** The node may claim again. */
  readonly onOpen: () => void;
}

export class Solitary {
  readonly #options: SolitaryOptions;
  /** A claim that may return a suspect is under way. */
  #asked = false;
  #askedAt = 0;
  /** Suspects of this node, from their claim until its release. Two only if a lost answer was repeated. */
  #held = 0;
  #closed = false;
  /** Nothing else begins. */
  #shut = false;

  constructor(options: SolitaryOptions) {
    this.#options = options;
  }

  /** The node claims nothing for now. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** What was claimed and has not begun is handed back. */
  get handsBackUnstarted(): boolean {
    return this.#shut;
  }

  /** Whether runs may be claimed ahead; if not, the next free slot is for a claim that may bring a suspect. */
  get mayPrefetch(): boolean {
    return this.#held > 0 || this.#options.world.monotonicNow() - this.#askedAt < ASK_EVERY_MS;
  }

  /** How many suspects the next claim may return. When it has returned, call `answered`. */
  ask(): 0 | 1 {
    if (this.#held > 0 || this.#asked) return 0;
    this.#asked = true;
    this.#askedAt = this.#options.world.monotonicNow();
    return 1;
  }

  /** Null: the claim failed. */
  answered(claimed: Claimed): void {
    this.#asked = false;
    const suspects = claimed?.filter(({ suspect }) => suspect).length ?? 0;
    if (suspects === 0) return;
    this.#held += suspects;
    this.#closed = true;
  }

  /** A suspect is no longer held. */
  left(): void {
    this.#held--;
    if (this.#held === 0) this.#open();
  }

  /** Executes the suspect when the others have ended, or had time to; for a while alone. */
  async execute(session: Session, work: () => Promise<void>): Promise<void> {
    await this.#untilAlone(session);
    const cancel = this.#options.world.after(aloneMs(session.run.crashes), () => this.#open());
    await work().finally(cancel);
  }

  async #untilAlone(session: Session): Promise<void> {
    const { world, active, handBack } = this.#options;
    const until = world.monotonicNow() + OTHERS_END_MS;
    // What came with the same claim and has a slot begins now.
    await world.turn();
    this.#shut = true;
    handBack(session);
    while (active() > 1 && world.monotonicNow() < until && !session.stopping && !session.lost.aborted) {
      await sleep(world, LOOK_EVERY_MS);
    }
  }

  #open(): void {
    this.#closed = false;
    this.#shut = false;
    this.#options.onOpen();
  }
}

/** `crashes`: the present claim included; a suspect has two behind it, or one if its limit is two. */
export function aloneMs(crashes: number): number {
  return Math.min(ALONE_MS * 2 ** Math.max(crashes - 3, 0), LONGEST_ALONE_MS);
}
