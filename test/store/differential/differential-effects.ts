// Draws the effects of a commit: entries, messages, children and tasks, and mostly one that settles the claim.

import { omit } from "../../../src/kernel/omit.js";
import type { Effect } from "../../../src/kernel/run/effect.js";
import { json } from "../scene.js";
import { BUILDS, type Drawer } from "./differential-step.js";

export class EffectDraws {
  readonly #drawer: Drawer;

  constructor(drawer: Drawer) {
    this.#drawer = drawer;
  }

  draw(runId: string): Effect[] {
    if (this.#drawer.dice.chance(0.02)) return [];
    const effects = this.#drawer.dice.many(0, 2, () => this.#effect(runId));
    if (this.#drawer.dice.chance(0.2)) return [...effects, ...this.#tasks(), ...this.#awaiting(runId)];
    if (effects.length === 0 || this.#drawer.dice.chance(0.5)) effects.push(this.#settling(runId));
    if (this.#drawer.dice.chance(0.02)) effects.push({ kind: "append", entry: { kind: "step", name: "after" } });
    return effects;
  }

  #effect(runId: string): Effect {
    const entry = {
      kind: "step",
      name: `n${this.#drawer.dice.int(0, 3)}`,
      ...(this.#drawer.dice.chance(0.5) ? { key: "k", payload: json(this.#drawer.dice.int(0, 3)) } : {}),
    };
    return this.#drawer.dice.pick<Effect>([
      [6, { kind: "append", entry }],
      [3, { kind: "append", entry: { ...entry, kind: "set", name: "status" } }],
      [3, () => ({ kind: "take", messageKey: this.#messageKeyOf(runId) })],
      [2, () => ({ kind: "enqueue", name: "child", run: this.#child() })],
      [0.3, { kind: "append", entry: { kind: "step", name: "\ud800" } }],
    ]);
  }

  /** A few tasks, each of which may need some of those before it; rarely one that is not there. */
  #tasks(): Effect[] {
    const ids: string[] = [];
    return this.#drawer.dice.many(1, 4, (): Effect => {
      const run = this.#child();
      const needs = ids.filter(() => this.#drawer.dice.chance(0.5));
      if (this.#drawer.dice.chance(0.02)) needs.push(this.#drawer.runId());
      ids.push(run.id);
      return { kind: "enqueue", name: "task", run, task: { needs } };
    });
  }

  #awaiting(runId: string): Effect[] {
    const seenInboxSeq = this.#drawer.both.snapshot().runs.find((run) => run.id === runId)?.inboxSeq ?? 0;
    const [wakeInMs, wakeAfter] = [this.#drawer.dice.one([null, 10, 5000]), this.#drawer.dice.one([1, 1000])];
    const park: Effect = { kind: "park", wakeInMs, wakeAfter, seenInboxSeq, forTasks: true };
    return this.#drawer.dice.chance(0.85) ? [park] : [];
  }

  #child(): Extract<Effect, { kind: "enqueue" }>["run"] {
    const { dice } = this.#drawer;
    const drawn = this.#drawer.newRun();
    const id = dice.chance(0.08) ? this.#drawer.runId() : dice.uuid();
    const run = { ...omit(drawn, "key", "parentId", "attributes"), id, delayMs: dice.int(0, 20) };
    this.#drawer.runIds.push(run.id);
    return run;
  }

  #messageKeyOf(runId: string): string {
    const unread = this.#drawer.both
      .snapshot()
      .inbox.filter((message) => message.runId === runId && message.takenSeq === null);
    return unread.length > 0 && this.#drawer.dice.chance(0.9) ? this.#drawer.dice.one(unread).key : "signal:none";
  }

  #takenOf(runId: string): string[] {
    const taken = this.#drawer.both
      .snapshot()
      .inbox.filter((message) => message.runId === runId && message.takenSeq !== null);
    return taken.filter(() => this.#drawer.dice.chance(0.4)).map(({ key }) => key);
  }

  #settling(runId: string): Effect {
    const known = this.#drawer.both.snapshot().runs.find((run) => run.id === runId)?.inboxSeq ?? 0;
    const seenInboxSeq = this.#drawer.dice.chance(0.8) ? known : Math.max(known - 1, 0);
    const wakeInMs = this.#drawer.dice.one([null, 0, 10, 5000]);
    return this.#drawer.dice.pick<Effect>([
      [4, { kind: "complete", output: json("done") }],
      [
        3,
        () => ({
          kind: "fail",
          as: this.#drawer.dice.one(["failed", "dead", "cancelled", "skipped", "quarantined"] as const),
          reason: json("no"),
        }),
      ],
      [4, () => ({ kind: "retry", delayMs: this.#drawer.dice.int(0, 30), error: json("no") })],
      [8, () => ({ kind: "park", wakeInMs, wakeAfter: this.#drawer.dice.int(1, 3), seenInboxSeq })],
      [2, () => ({ kind: "park", wakeInMs, wakeAfter: 1000, seenInboxSeq, forTasks: true })],
      [3, { kind: "handBack" }],
      [6, () => ({ kind: "misfit", build: this.#drawer.dice.one(BUILDS), reason: json("no") })],
      [1, { kind: "pause" }],
      [2, () => ({ kind: "continue", input: json("next"), reopen: this.#takenOf(runId) })],
      [0.3, { kind: "retry", delayMs: -1, error: json("no") }],
    ]);
  }
}
