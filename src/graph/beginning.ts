// How a run began: an entry that goes out with the first thing a run records, or by itself when that takes long.

import type { Session } from "../engine/session.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { LimitExceeded } from "../kernel/error.js";
import type { AppendEffect } from "../kernel/run/effect.js";
import type { FrameRecord } from "./fold.js";
import { frozen } from "./frozen.js";
import type { Memory } from "./memory.js";
import { StateFailed } from "./needs-people.js";
import { parsePosition } from "./position.js";

/** So long those who watch wait to be told of the first node. With the result of a quick one it costs no commit of its own. */
const TELL_AFTER_MS = 50;
const NOTHING: readonly AppendEffect[] = [];

export class Beginning {
  readonly #session: Session;
  #effects: readonly AppendEffect[];
  readonly #cancel: () => void;

  constructor(memory: Memory, session: Session, codecs: Codecs) {
    this.#session = session;
    // Behind the entry of a node it would say nothing, and name the wrong one as the first.
    this.#effects = memory.begun || memory.recorded > 0 || !memory.isQuiet ? NOTHING : effectsOf(memory, codecs);
    this.#cancel = this.#effects.length === 0 ? () => {} : session.world.after(TELL_AFTER_MS, () => this.tell());
  }

  /** For the head of a commit. Given once. */
  take(): readonly AppendEffect[] {
    if (this.#effects.length === 0) return NOTHING;
    this.#cancel();
    const effects = this.#effects;
    this.#effects = NOTHING;
    return effects;
  }

  /** Not waited for: one that comes late changes nothing, and a claim that is lost is noticed by the next commit. */
  tell(): void {
    const effects = this.take();
    if (effects.length > 0) this.#session.commit(effects).catch(() => {});
  }
}

/**
 * None when the state is too large to be written twice: the run goes on from its input. One that cannot be stored at all fails the
 * run. It goes on with what is stored: what nodes see must not depend on a crash.
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
