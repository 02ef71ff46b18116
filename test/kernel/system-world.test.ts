import { describe, expect, test, vi } from "vitest";
import { systemWorld } from "../../src/kernel/system-world.js";

describe("the real world", () => {
  test("a timer longer than setTimeout allows does not fire early (F51)", () => {
    vi.useFakeTimers();
    try {
      const month = 30 * 86_400_000;
      const fired = vi.fn();
      systemWorld().after(month, fired);
      vi.advanceTimersByTime(month - 1);
      expect(fired).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(fired).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  test("a long timer can be cancelled in any of its parts", () => {
    vi.useFakeTimers();
    try {
      const fired = vi.fn();
      const cancel = systemWorld().after(60 * 86_400_000, fired);
      vi.advanceTimersByTime(40 * 86_400_000);
      cancel();
      vi.advanceTimersByTime(40 * 86_400_000);
      expect(fired).not.toHaveBeenCalled();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("ids are UUIDs of version 7 that sort in the order they were made, also when the clock steps back", () => {
    const now = vi.spyOn(Date, "now");
    const world = systemWorld();
    const ids: string[] = [];
    for (let i = 0; i < 20_000; i++) {
      if (i === 10_000) now.mockImplementation(() => 1_000);
      ids.push(world.id());
    }
    now.mockRestore();
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
