// Which entries are replayed after a checkpoint, and how much working time a journal accounts for. Pure.

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
const consumed = (seq: number, name: string) => entry(seq, "take", { name, key: `signal:${seq}` });

test("replay starts at the last checkpoint, with the unread messages and the input of the episode", () => {
  const saved: Checkpoint = {
    ...{ version: 1, state: { n: 1 }, spent: { turns: 2, tokens: 3 }, moves: 4, asked: [] },
    consumed: [["go", 1]],
  };
  const log = [
    entry(1, "start"),
    entry(2, "value", { name: "definition", key: "1" }),
    consumed(3, "go"),
    entry(4, "checkpoint", { payload: codecs.encode({ ...saved, moves: 1 }) }),
    consumed(5, "go"),
    consumed(6, "stop"),
    entry(7, "step", { name: "a", key: "1" }),
    entry(8, "checkpoint", { payload: codecs.encode(saved) }),
    consumed(9, "go"),
    entry(10, "step", { name: "b", key: "2" }),
  ];
  const { checkpoint, log: kept } = splitAtCheckpoint(log, codecs);
  expect(checkpoint).toEqual(saved);
  expect(kept.map(({ seq }) => seq)).toEqual([1, 2, 5, 6, 9, 10]);
  expect(splitAtCheckpoint(log.slice(0, 3), codecs)).toEqual({ checkpoint: null, log: log.slice(0, 3) });
});

test("working time is the time between entries of one claim, since the last retry of the run", () => {
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
