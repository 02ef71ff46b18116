// The slot of one run at work: released when its outcome is on its way, and lent to another run while this one sleeps for a moment.

import type { Seat } from "../seat.js";
import type { Session } from "../session.js";
import type { Slots } from "./slots.js";

/** A longer sleep parks the run. */
const LONGEST_DOZE_MS = 2_000;

export interface SeatOptions {
  readonly slots: Slots;
  readonly session: Session;
  /** Whether it may keep what nothing is done for. */
  readonly mayKeep: () => boolean;
  /** Its slot is free for another run. */
  readonly onLent: () => void;
}

export class SlotSeat implements Seat {
  readonly #options: SeatOptions;
  #isTaken = true;

  constructor(options: SeatOptions) {
    this.#options = options;
  }

  leave(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#options.slots.give();
  }

  /**
   * Whether a run that only sleeps, for this long, keeps its claim. Parked, it would be woken, claimed and replayed again a moment
   * later; with free slots there is time for that. A claim that nothing is done for must not be in the way: of a limit, or of a suspect
   * that is executed alone.
   */
  mayDoze(forMs: number | null): boolean {
    const { slots, session, mayKeep } = this.#options;
    const { limited, suspect } = session.run;
    if (forMs === null || forMs > LONGEST_DOZE_MS || limited || suspect) return false;
    // A test that skips time has to know what is parked.
    return this.#isTaken && slots.isCrowded && !session.world.parks && mayKeep();
  }

  async doze(until: Promise<void>): Promise<boolean> {
    const { slots, session, onLent } = this.#options;
    this.#isTaken = false;
    const lent = slots.lend(session, until);
    onLent();
    this.#isTaken = await lent;
    return this.#isTaken;
  }
}
