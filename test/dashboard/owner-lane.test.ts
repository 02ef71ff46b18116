// The owner lane as data: which node held the run when, where a node was lost, how long it had no owner, which write was refused.

import { describe, expect, test } from "vitest";
import { laneBoxes } from "../../dashboard/src/draw/boxes.js";
import { type LaneInput, ownerLane } from "../../dashboard/src/draw/owner-lane.js";
import { timeAxis } from "../../dashboard/src/draw/time-axis.js";
import type { Claim, Holder } from "../../dashboard/src/live/model.js";

const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
const holder = (name: string): Holder => ({ incarnation: `${name}-incarnation`, identity: name, name });

function claim(
  epoch: number,
  name: string,
  times: readonly [number, number],
  ended: string,
  more: Partial<Claim> = {},
): Claim {
  return {
    epoch,
    holder: holder(name),
    from: at(times[0]),
    to: at(times[1]),
    begins: null,
    heard: null,
    entries: 2,
    ended,
    reclaimed: null,
    ...more,
  };
}

const lane = (input: Partial<LaneInput>) =>
  ownerLane({ claims: [], createdAt: 0, endedAt: null, now: 20_000, waiting: "", ...input });
const kinds = (input: Partial<LaneInput>) =>
  lane(input).segments.map(({ kind, from, to }) => [kind, from / 1_000, to / 1_000]);

describe("the owner lane", () => {
  test("shows one claim until now while it is held", () => {
    expect(kinds({ claims: [claim(1, "a", [1, 5], "held")] })).toEqual([
      ["queued", 0, 1],
      ["held", 1, 20],
    ]);
  });

  test("shows a lost node, how long the run had no owner, and the next owner", () => {
    const lost = claim(1, "a", [1, 5], "reclaimed", {
      reclaimed: { at: at(7), by: holder("b"), outcome: "waiting", refused: 0 },
    });
    const { segments, marks } = lane({ claims: [lost, claim(2, "b", [7.5, 9], "held")] });
    expect(segments.map(({ kind, label }) => [kind, label])).toEqual([
      ["queued", "queued 1.0 s"],
      ["held", "a"],
      ["gap", "no owner 2.5 s"],
      ["held", "b"],
    ]);
    expect(marks).toEqual([
      {
        kind: "lost",
        at: 5_000,
        epoch: 1,
        text: "a lost, last write 00:00:05.0, reclaimed by b at 00:00:07.0, claim 1 → 2",
      },
    ]);
  });

  test("does not say that a run was queued while its first step worked: only the end of a step is recorded", () => {
    const lost = claim(1, "a", [3, 5], "reclaimed", {
      begins: "step",
      reclaimed: { at: at(7), by: holder("b"), outcome: "waiting", refused: 0 },
    });
    const { segments } = lane({
      claims: [lost, claim(2, "b", [9, 12], "completed", { begins: "step" })],
      endedAt: 12_000,
    });
    expect(segments.map(({ kind, label, from, to }) => [kind, label, from / 1_000, to / 1_000])).toEqual([
      ["taken", "queued, then a", 0, 3],
      ["held", "a", 3, 5],
      ["gap", "no owner 2.0 s", 5, 7],
      ["taken", "queued, then b", 7, 9],
      ["held", "b", 9, 12],
    ]);
  });

  test("shows a lost node up to its last heartbeat", () => {
    const lost = claim(1, "a", [1, 2], "reclaimed", {
      heard: at(5),
      reclaimed: { at: at(7), by: null, outcome: "waiting", refused: 0 },
    });
    expect(kinds({ claims: [lost, claim(2, "b", [7, 9], "held")] }).slice(1, 3)).toEqual([
      ["held", 1, 5],
      ["gap", 5, 7],
    ]);
  });

  test("shows a refused late write", () => {
    const lost = claim(1, "a", [1, 5], "reclaimed", {
      reclaimed: { at: at(7), by: null, outcome: "waiting", refused: 2 },
    });
    const { marks } = lane({ claims: [lost, claim(2, "b", [8, 9], "completed")], endedAt: 9_000 });
    expect(marks.map(({ kind, text }) => [kind, text])[1]).toEqual([
      "refused",
      "2 late writes of a under claim 1 refused",
    ]);
  });

  test("shows a released run as idle, with what it waits for", () => {
    const { segments } = lane({ claims: [claim(1, "a", [1, 5], "parked")], waiting: "sleep" });
    expect(segments.at(-1)).toMatchObject({ kind: "idle", open: true, label: "15 s · sleep" });
  });

  test("shows a lost run that no node has reclaimed as without an owner until now", () => {
    expect(kinds({ claims: [claim(1, "a", [1, 5], "reclaimed")] }).at(-1)).toEqual(["gap", 5, 20]);
  });

  test("ends with the run", () => {
    expect(kinds({ claims: [claim(1, "a", [1, 5], "completed")], endedAt: 5_000 })).toEqual([
      ["queued", 0, 1],
      ["held", 1, 5],
    ]);
  });

  test("draws a claim that wrote nothing where the one before it ended", () => {
    const silent = { ...claim(2, "b", [0, 0], "reclaimed"), from: null, to: null };
    const segments = kinds({ claims: [claim(1, "a", [1, 5], "parked"), silent, claim(3, "c", [9, 10], "held")] });
    expect(segments).toEqual([
      ["queued", 0, 1],
      ["held", 1, 5],
      ["held", 5, 5],
      ["gap", 5, 9],
      ["held", 9, 20],
    ]);
  });

  test("draws a node that was cut off before its first entry up to the reclaim", () => {
    const mute = claim(1, "a", [0, 0], "reclaimed", {
      from: null,
      to: null,
      reclaimed: { at: at(4), by: null, outcome: "waiting", refused: 1 },
    });
    const { segments, marks } = lane({
      claims: [mute, claim(2, "b", [6, 7], "completed", { begins: "step" })],
      endedAt: 7_000,
    });
    expect(segments.map(({ label, from, to }) => [label, from / 1_000, to / 1_000])).toEqual([
      ["queued, then a", 0, 4],
      ["a", 4, 4],
      ["queued, then b", 4, 6],
      ["b", 6, 7],
    ]);
    expect(marks.map(({ kind, at: when }) => [kind, when])).toEqual([
      ["lost", 4_000],
      ["refused", 4_000],
    ]);
  });

  test("gives a node the same colour in every lane", () => {
    const stripes = [1, 2].map(
      (epoch) => lane({ claims: [claim(epoch, "node-b", [1, 2], "held")] }).segments.at(-1)?.stripe,
    );
    expect(stripes[0]).toBe(stripes[1]);
  });

  test("has boxes that touch, and labels only where they fit", () => {
    const lost = claim(1, "a", [1, 5], "reclaimed", {
      reclaimed: { at: at(5.1), by: null, outcome: "waiting", refused: 0 },
    });
    const drawn = lane({ claims: [lost, claim(2, "b", [5.1, 9], "held")] });
    const { boxes, marks } = laneBoxes(drawn, timeAxis([0, 20_000], 1_020));
    expect(boxes.map(({ x, label }) => [x, label])).toEqual([
      [0, null],
      [50, "a"],
      [250, null],
      [255, "b"],
    ]);
    expect(marks.map(({ x }) => x)).toEqual([250]);
  });

  test("shortens what has no room: a gap to its time, a wait to its word, never behind a mark", () => {
    const lost = claim(1, "node-a", [1, 5], "reclaimed", {
      reclaimed: { at: at(7), by: null, outcome: "waiting", refused: 0 },
    });
    const drawn = lane({ claims: [lost, claim(2, "node-b", [7, 9], "parked"), claim(3, "node-c", [10, 11], "held")] });
    const { boxes } = laneBoxes(drawn, timeAxis([0, 20_000], 1_020));
    const says = (width: number) => laneBoxes(drawn, timeAxis([0, 20_000], width)).boxes.map(({ label }) => label);
    expect(boxes.map(({ label }) => label)).toEqual([null, "node-a", "2.0 s", "node-b", null, "node-c"]);
    expect(boxes.map(({ x, labelX }) => labelX - x)).toEqual([7, 7, 13, 7, 7, 7]);
    expect(says(1_640)).toEqual(["queued", "node-a", "no owner 2.0 s", "node-b", "parked", "node-c"]);
  });
});
