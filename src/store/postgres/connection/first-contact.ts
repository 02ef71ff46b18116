// The first contact with a database: reports soon when it does not answer, and gives up early.

import type { Logger } from "../../../kernel/logger.js";
import type { World } from "../../../kernel/world.js";
import { brief } from "./errors.js";

/** A database that was never reached is more likely an error of configuration than an outage. */
export const FIRST_CONTACT_MS = 5_000;
const REPORT_MS = 800;

export interface FirstContactOptions {
  readonly world: World;
  /** Host and port. */
  readonly address: string;
  readonly logger: Pick<Logger, "warn"> | null;
}

export class FirstContact {
  readonly #options: FirstContactOptions;
  #reached = false;
  #reported = false;
  #waiting = 0;
  #cancel: (() => void) | null = null;
  #cause: unknown = null;

  constructor(options: FirstContactOptions) {
    this.#options = options;
  }

  /** How long a call may try: shorter while there was no answer at all. */
  most(ms: number): number {
    return this.#reached ? ms : Math.min(ms, FIRST_CONTACT_MS);
  }

  reached(): void {
    this.#reached = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  failed(cause: unknown): void {
    this.#cause = cause;
  }

  /** A call begins; the answer is for its end. */
  begin(): () => void {
    if (this.#reached) return () => {};
    this.#waiting++;
    if (!this.#reported) this.#cancel ??= this.#options.world.after(REPORT_MS, () => this.#report());
    return () => {
      this.#waiting--;
      if (this.#waiting > 0) return;
      this.#cancel?.();
      this.#cancel = null;
    };
  }

  #report(): void {
    const { logger, address } = this.#options;
    this.#cancel = null;
    this.#reported = true;
    const reason = this.#cause === null ? "no answer yet" : brief(this.#cause);
    logger?.warn("database.unreachable", { database: address, reason, givesUpAfterMs: FIRST_CONTACT_MS });
  }
}
