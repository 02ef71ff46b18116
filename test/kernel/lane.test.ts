import { describe, expect, test } from "vitest";
import { lane } from "../../src/kernel/lane.js";
import { systemWorld } from "../../src/kernel/system-world.js";

const open = <Item, Answer>(
  flush: (items: readonly Item[]) => Promise<readonly Answer[]>,
  limits: { maxRows?: number; maxBytes?: number; bytes?: (item: Item) => number } = {},
) =>
  lane<Item, Answer>(flush, {
    world: systemWorld(),
    maxRows: limits.maxRows ?? 1000,
    maxBytes: limits.maxBytes ?? 1e6,
    sizeOf: (item) => ({ rows: 1, bytes: limits.bytes?.(item) ?? 1 }),
  });

describe("a lane", () => {
  test("gathers items that arrive during a flush", async () => {
    const batches: number[][] = [];
    const releases: (() => void)[] = [];
    const send = open<number, number>(async (items) => {
      batches.push([...items]);
      await new Promise<void>((resolve) => releases.push(resolve));
      return items;
    });
    const first = send(1);
    while (releases.length === 0) await new Promise(setImmediate);
    const rest = [send(2), send(3), send(4)];
    releases[0]!();
    await first;
    while (releases.length === 1) await new Promise(setImmediate);
    releases[1]!();
    expect(await Promise.all(rest)).toEqual([2, 3, 4]);
    expect(batches).toEqual([[1], [2, 3, 4]]);
  });

  test("never sends more rows than the cap", async () => {
    const sizes: number[] = [];
    const send = open<number, number>(
      async (items) => {
        sizes.push(items.length);
        return items;
      },
      { maxRows: 4 },
    );
    await Promise.all(Array.from({ length: 10 }, (_, i) => send(i)));
    expect(sizes).toEqual([4, 4, 2]);
  });

  test("never sends more bytes than the cap, and one large item alone", async () => {
    const batches: number[][] = [];
    const send = open<number, number>(
      async (items) => {
        batches.push([...items]);
        return items;
      },
      { maxBytes: 10, bytes: (item) => item },
    );
    await Promise.all([4, 5, 50, 6, 4].map(send));
    expect(batches).toEqual([[4, 5], [50], [6, 4]]);
  });

  test("a failed flush fails its own items and not the next ones", async () => {
    let flushes = 0;
    const send = open<number, number>(async (items) => {
      if (++flushes === 1) throw new Error("broken");
      return items;
    });
    await expect(send(1)).rejects.toThrow("broken");
    expect(await send(2)).toBe(2);
  });

  test("an item that cannot be measured fails alone, and the lane continues", async () => {
    const send = open<{ size: number } | null, number>(async (items) => items.map(() => 1), {
      bytes: (item) => item!.size,
    });
    const all = await Promise.allSettled([send({ size: 1 }), send(null), send({ size: 1 })]);
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await send({ size: 1 })).toBe(1);
  });

  test("callers that add their next item at once share a batch again", async () => {
    const sizes: number[] = [];
    const send = open<number, number>(async (items) => {
      sizes.push(items.length);
      await new Promise(setImmediate);
      return items;
    });
    const caller = async () => {
      for (let i = 0; i < 5; i++) await send(i);
    };
    await Promise.all(Array.from({ length: 20 }, caller));
    expect(sizes).toEqual([20, 20, 20, 20, 20]);
  });

  test("a full batch is sent before the last one is answered; a partial one waits for returning callers", async () => {
    const told: string[] = [];
    const send = open<number, number>(
      async (items) => {
        told.push(`sent ${items}`);
        await new Promise(setImmediate);
        return items;
      },
      { maxRows: 2 },
    );
    await Promise.all([1, 2, 3, 4, 5].map(async (n) => told.push(`answered ${await send(n)}`)));
    expect(told).toEqual([
      ...["sent 1,2", "sent 3,4", "answered 1", "answered 2"],
      ...["answered 3", "answered 4", "sent 5", "answered 5"],
    ]);
  });

  test("other tasks get their turn however many batches follow each other", async () => {
    let others = 0;
    const send = open<number, number>(async (items) => items, { maxRows: 1 });
    const other = setInterval(() => others++, 0);
    const caller = async () => {
      for (let i = 0; i < 200; i++) await send(i);
    };
    await Promise.all([caller(), caller(), caller()]);
    clearInterval(other);
    expect(others).toBeGreaterThan(0);
  });

  test("with inFlight: 2 a second full batch does not wait for the first, a partial one does", async () => {
    const sent: string[] = [];
    const releases: (() => void)[] = [];
    const send = lane<number, number>(
      async (items) => {
        sent.push(String(items));
        await new Promise<void>((resolve) => releases.push(resolve));
        return items;
      },
      { world: systemWorld(), maxRows: 2, maxBytes: 1e6, inFlight: 2, sizeOf: () => ({ rows: 1, bytes: 1 }) },
    );
    const first = [1, 2].map(send);
    while (releases.length < 1) await new Promise(setImmediate);
    const rest = [3, 4, 5, 6, 7].map(send);
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    expect(sent).toEqual(["1,2", "3,4"]);
    releases[1]!();
    while (releases.length < 3) await new Promise(setImmediate);
    for (let i = 0; i < 5; i++) await new Promise(setImmediate);
    expect(sent).toEqual(["1,2", "3,4", "5,6"]);
    for (let i = 0; i < 4; i++) {
      for (const release of releases) release();
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    }
    expect(await Promise.all([...first, ...rest])).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(sent.at(-1)).toBe("7");
  });
});
