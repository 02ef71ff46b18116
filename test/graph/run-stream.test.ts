// The stream of a run: tokens joined, bounded in rows and in what waits; a slow store never fails the node.

import { expect, test } from "vitest";
import { streamRun } from "../../src/client/graph/stream-run.js";
import type { Session } from "../../src/engine/session.js";
import type { Keep } from "../../src/graph/node/long-term-store.js";
import { RunStream } from "../../src/graph/node/run-stream.js";
import { codecs } from "../../src/kernel/codec/codecs.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

const at = { node: "a", visit: "1", attempt: 1 };

function opened(put: (values: readonly Keep[]) => Promise<void>, epoch = 3) {
  const session = { run: { runId: "r", epoch }, world: { after: () => () => {} }, keepUnderClaim: put };
  return new RunStream(session as unknown as Session, codecs());
}

function rows(epoch = 3) {
  const kept = new Map<string, unknown>();
  const stream = opened(async (values) => {
    for (const { key, value } of values) {
      if (value === null) kept.delete(key);
      else kept.set(key, JSON.parse(value.data));
    }
  }, epoch);
  return { kept, stream };
}

test("tokens of one attempt are joined; another attempt, node or value is apart", async () => {
  const { kept, stream } = rows();
  for (const value of ["a ", "b ", { n: 1 }, "c"]) stream.write({ ...at, value });
  stream.write({ ...at, attempt: 2, value: "d" });
  await stream.flush();
  expect([...kept.values()]).toEqual([
    [
      { ...at, value: "a b " },
      { ...at, value: { n: 1 } },
      { ...at, value: "c" },
      { ...at, attempt: 2, value: "d" },
    ],
  ]);
});

test("a value is streamed as it was when it was written; one that cannot be stored throws at the call, and the others are sent", async () => {
  const { kept, stream } = rows();
  const counter: { n: number; self?: () => void } = { n: 0 };
  stream.write({ ...at, value: "before" });
  for (counter.n = 1; counter.n <= 2; counter.n++) stream.write({ ...at, value: counter });
  counter.self = () => {};
  expect(() => stream.write({ ...at, value: counter })).toThrow(
    expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringContaining("ctx.write.self") }),
  );
  stream.write({ ...at, value: { large: "x".repeat(2_000_000) } });
  await stream.flush();
  expect([...kept.values()]).toEqual([["before", { n: 1 }, { n: 2 }].map((value) => ({ ...at, value }))]);
});

test("a run keeps its last 256 rows, in the order of its holders and of time", async () => {
  const { kept, stream } = rows();
  for (let i = 0; i < 300; i++) {
    stream.write({ ...at, value: { i } });
    await stream.flush();
  }
  expect(kept.size).toBe(256);
  const keys = [...kept.keys()];
  expect(keys).toEqual([...keys].sort());
  expect(kept.get(keys[0]!)).toMatchObject([{ value: { i: 44 } }]);
  const next = rows(4);
  next.stream.write({ ...at, value: "x" });
  await next.stream.flush();
  expect([...next.kept.keys()][0]! > keys.at(-1)!).toBe(true);
});

test("what a slow or absent store cannot take is dropped, and the node does not notice", async () => {
  let given = 0;
  const stream = opened(async (values) => {
    given += values[0]!.value!.data.length;
    throw new Error("away");
  });
  for (let i = 0; i < 100; i++) stream.write({ ...at, value: "x".repeat(50_000) });
  await stream.flush();
  await stream.flush();
  expect(given).toBeGreaterThan(900_000);
  expect(given).toBeLessThan(1_100_000);
  // Larger than a value may be once it is written as JSON.
  const escaped = opened(async () => {});
  for (let i = 0; i < 20; i++) escaped.write({ ...at, value: "\u0001".repeat(50_000) });
  await escaped.flush();
});

test("parts that are too large together are kept apart, in their order; a text is divided between characters", async () => {
  const { kept, stream } = rows();
  const large = { x: "x".repeat(700_000) };
  for (const value of ["before", large, "after", "\u{1f600}".repeat(150_000)]) stream.write({ ...at, value });
  await stream.flush();
  const parts = [...kept.values()].flat() as { value: unknown }[];
  expect(parts.slice(0, 2).map(({ value }) => value)).toEqual(["before", large]);
  const text = parts.slice(2).map(({ value }) => value as string);
  expect(text.join("")).toBe(`after${"\u{1f600}".repeat(150_000)}`);
  for (const part of text) expect(part).not.toMatch(/^\p{Surrogate}|\p{Surrogate}$/u);
  expect(kept.size).toBeGreaterThan(1);
});

test("a late reader gets all that a node wrote before its end, however many rows it is", async () => {
  const json = (value: unknown) => ({ codec: "json", data: JSON.stringify(value) });
  const entry = (seq: number, kind: string, value: unknown) => ({
    ...{ seq, epoch: 1, kind, name: kind === "node" ? "a" : "", key: kind === "node" ? "1" : null, at: 0 },
    payload: json(value),
  });
  const entries = [entry(1, "start", 0), entry(2, "node", { update: { n: 1 }, next: "end" }), entry(3, "completed", 0)];
  const stored = Array.from({ length: 256 }, (_, i) => ({
    key: String(i).padStart(9, "0"),
    value: json([{ ...at, value: { i } }]),
  }));
  const store = {
    journal: {
      read: async (_id: string, { after }: { after: number }) => ({
        ...{ entries: entries.filter(({ seq }) => seq > after), baseSeq: 0, seq: 3 },
      }),
    },
    kept: {
      list: async ({ after, limit }: { after: string; limit: number }) =>
        stored.filter(({ key }) => key > after).slice(0, limit),
    },
  };
  const place = { store, codecs: codecs(), world: new VirtualWorld(), env: "default", plan: null };
  const seen: string[] = [];
  for await (const event of streamRun("r", place as never, { modes: ["custom", "updates"] })) seen.push(event.mode);
  expect(seen).toEqual([...stored.map(() => "custom"), "updates"]);
});
