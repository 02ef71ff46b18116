// What of a log is replayed from a checkpoint on, and how much time at work a log tells of. Pure.

import { expect, test } from "vitest";
import { workedMs } from "../../src/actor/budget.js";
import { type Checkpoint, splitAtCheckpoint } from "../../src/actor/checkpoint.js";
import { codecs as openCodecs } from "../../src/kernel/codec/codecs.js";
import type { JournalEntry } from "../../src/store/contract/journal/journal.js";

const codecs = openCodecs();
const entry = (seq: number, kind: string, more: Partial<JournalEntry> = {}): JournalEntry => ({
  ...{ seq, epoch: 1, kind, name: "", key: null, payload: null, at: seq * 10 },
  ...more,
});
const heard = (seq: number, name: string) => entry(seq, "take", { name, key: `signal:${seq}` });

test("from the last checkpoint on, with the messages that nobody has heard and what the episode began with", () => {
  const saved: Checkpoint = {
    ...{ version: 1, state: { n: 1 }, spent: { turns: 2, tokens: 3 }, moves: 4, asked: [] },
    heard: [["go", 1]],
  };
  const log = [
    entry(1, "start"),
    entry(2, "value", { name: "definition", key: "1" }),
    heard(3, "go"),
    entry(4, "checkpoint", { payload: codecs.encode({ ...saved, moves: 1 }) }),
    heard(5, "go"),
    heard(6, "stop"),
    entry(7, "step", { name: "a", key: "1" }),
    entry(8, "checkpoint", { payload: codecs.encode(saved) }),
    heard(9, "go"),
    entry(10, "step", { name: "b", key: "2" }),
  ];
  const { checkpoint, log: kept } = splitAtCheckpoint(log, codecs);
  expect(checkpoint).toEqual(saved);
  expect(kept.map(({ seq }) => seq)).toEqual([1, 2, 5, 6, 9, 10]);
  expect(splitAtCheckpoint(log.slice(0, 3), codecs)).toEqual({ checkpoint: null, log: log.slice(0, 3) });
});

test("time at work is that between entries of one claim, since the run was last opened again", () => {
  const at = (epoch: number, ms: number, kind = "step") => entry(1, kind, { epoch, at: ms });
  const log = [
    at(0, 0, "start"),
    at(1, 1_000),
    at(1, 1_300),
    at(1, 1_400, "parked"),
    at(2, 90_000, "take"),
    at(2, 90_050),
  ];
  expect(workedMs(log)).toBe(450);
  expect(workedMs([...log, at(0, 95_000, "retried"), at(3, 99_000), at(3, 99_007)])).toBe(7);
  expect(workedMs(log.slice(0, 1))).toBe(0);
});
