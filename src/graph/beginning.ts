// The entry that records how a run began: written with the run's first commit, or alone when that takes long.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { LimitExceeded } from "../kernel/error.js";
import type { AppendEffect } from "../kernel/run/effect.js";
import type { FrameRecord } from "./fold.js";
import { frozen } from "./frozen.js";
import type { Memory } from "./memory.js";
import { StateFailed } from "./needs-people.js";
import { parsePosition } from "./position.js";

/** How long watchers wait for the first node. In the commit of a quick node, the entry costs no commit of its own. */
const WRITE_AFTER_MS = 50;
const NOTHING: readonly AppendEffect[] = [];

export class Beginning {
  readonly #session: Session;
  #effects: readonly AppendEffect[];
  readonly #cancel: () => void;

  constructor(memory: Memory, session: Session, codecs: Codecs) {
    this.#session = session;
    // After a node's entry it would be meaningless, and would name the wrong node as the first.
    this.#effects = memory.begun || memory.recorded > 0 || !memory.isQuiet ? NOTHING : effectsOf(memory, codecs);
    this.#cancel = this.#effects.length === 0 ? () => {} : session.world.after(WRITE_AFTER_MS, () => this.write());
  }

  /** For the head of a commit. Returned once. */
  take(): readonly AppendEffect[] {
    if (this.#effects.length === 0) return NOTHING;
    this.#cancel();
    const effects = this.#effects;
    this.#effects = NOTHING;
    return effects;
  }

  /** Not awaited: a late entry changes nothing, and the next commit notices a lost claim. */
  write(): void {
    const effects = this.take();
    if (effects.length > 0) this.#session.commit(effects).catch(() => {});
  }
}

/**
 * Empty when the state is too large to be written twice: the run then resumes from its input. A state that cannot be
 * stored at all fails the run. The stored form is used from now on: what nodes see must not depend on a crash.
 */
function effectsOf(memory: Memory, codecs: Codecs): readonly AppendEffect[] {
  const frame = memory.frames.get("")!;
  const record: FrameRecord = { state: frame.state, start: parsePosition(frame.at).node };
  try {
    const payload = codecs.encode(record, "init");
    memory.frames.set("", { ...frame, state: frozen((codecs.decode(payload) as FrameRecord).state) });
    return [{ kind: "append", entry: { kind: "begun", name: "", payload } }];
  } catch (error) {
    if (error instanceof LimitExceeded) return NOTHING;
    throw new StateFailed("init", error);
  }
}
