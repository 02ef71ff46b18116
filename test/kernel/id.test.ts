import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isUuid, lowestId, uuidv7 } from "../../src/kernel/id.js";

const ids = (wallNow: () => number, draw: (size: number) => Uint8Array = randomBytes) => uuidv7(wallNow, draw);

describe("ids", () => {
  it("have the time, the version and the variant of UUIDv7 in their places", () => {
    const id = ids(() => 0x0123456789ab)();
    expect(id).toMatch(/^01234567-89ab-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(isUuid(id)).toBe(true);
  });

  it("carry the random bytes, all but the two bits of the variant", () => {
    expect(
      ids(
        () => 1,
        (size) => new Uint8Array(size).fill(0xff),
      )(),
    ).toBe("00000000-0001-7000-bfff-ffffffffffff");
    expect(
      ids(
        () => 1,
        (size) => new Uint8Array(size),
      )(),
    ).toBe("00000000-0001-7000-8000-000000000000");
  });

  it("rise within a millisecond, beyond the counter and when the clock steps back", () => {
    let now = 1_700_000_000_000;
    const next = ids(() => now);
    const made: string[] = [];
    for (let i = 0; i < 10_000; i++) {
      if (i === 9_000) now -= 60_000;
      made.push(next());
    }
    expect(made).toEqual(made.toSorted());
    expect(new Set(made).size).toBe(made.length);
    expect(made.every(isUuid)).toBe(true);
  });

  it("stay as they are when the next one is made", () => {
    const next = ids(() => 5);
    const first = next();
    const copy = `${first}`;
    next();
    expect(first).toBe(copy);
  });

  it("are never below the lowest of their time", () => {
    expect(ids(() => 1_700_000_000_000)() > lowestId(1_700_000_000_000)).toBe(true);
  });
});
