// `simulate` finds what breaks under faults, shows it with a small case, and finds nothing in code that is right.

import { workflow } from "holdfast";
import { type Effects, simulate } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const orderWith = (keyed: boolean) => (effects: Effects) =>
  workflow("order", async (ctx, cents: number) => {
    await ctx.step("reserve", ({ idempotencyKey }) => effects.call("reserve", { cents }, { key: idempotencyKey }));
    await ctx.sleep("cool off", "2d");
    const receipt = await ctx.step("charge", ({ idempotencyKey }) =>
      effects.call("charge", { cents }, { ...(keyed && { key: idempotencyKey }), result: "paid" }),
    );
    return `${receipt} ${cents}`;
  });

describe("a workflow", () => {
  test("that passes its idempotency keys has no violation", async () => {
    const report = await simulate(orderWith(true), { input: 300 });
    expect(String(report)).toMatch(/^\d+ histories, no violation\.$/);
    expect(report.cases).toBeGreaterThan(50);
    expect(report.effects.map(({ name, step }) => `${name} in ${step}`)).toEqual([
      "reserve in reserve",
      "charge in charge",
    ]);
    report.assert();
  });

  test("that charges without a key is found, with a case and a trace", async () => {
    const startedAt = performance.now();
    const report = await simulate(orderWith(false), { input: 300 });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    const [violation] = report.violations;
    expect(violation).toMatchObject({ kind: "doubled", case: { seed: 1, faults: [{ kind: "crash" }] } });
    expect(violation?.message).toContain('effect charge {"cents":300} happened 2 times, without faults once');
    expect(violation?.trace.join("\n")).toContain("effect charge is done  <-- crash");
    expect(() => report.assert()).toThrow(/doubled: effect charge/);
    const again = await simulate(orderWith(false), { input: 300, only: violation!.case });
    expect(again.violations).toEqual(report.violations.slice(0, 1));
  });
});

describe("it finds", () => {
  test("code that does not replay", async () => {
    const odd = (_effects: Effects) => {
      // Kept in memory: another process begins with another value.
      let calls = 0;
      return workflow("odd", async (ctx) => {
        calls++;
        await ctx.step(calls === 1 ? "first" : "again", () => calls);
        await ctx.sleep("a while", "1h");
      });
    };
    const report = await simulate(odd, { input: undefined, seeds: 0 });
    expect(report.violations[0]?.kind).toBe("replay");
    expect(report.violations[0]?.message).toContain("JOURNAL_MISMATCH");
  });

  test("another result", async () => {
    const counts = (_effects: Effects) => {
      let calls = 0;
      return workflow("counts", async (ctx) => {
        await ctx.step("a", () => 1);
        calls++;
        await ctx.step("b", () => 1);
        return calls;
      });
    };
    const report = await simulate(counts, { input: undefined, seeds: 0, faults: ["lostReply", "stop", "crash"] });
    expect(report.ok, String(report)).toBe(true); // each process counts for itself
    let shared = 0;
    const leaks = workflow("leaks", async (ctx) => {
      await ctx.step("a", () => 1);
      return ctx.step("b", () => ++shared);
    });
    const found = await simulate(leaks, { input: undefined, seeds: 0 });
    expect(found.violations[0]).toMatchObject({ kind: "result" });
  });

  test("a step that two processes at once execute", async () => {
    const report = await simulate(orderWith(false), { input: 300, seeds: 0, faults: ["pause"] });
    expect(report.violations[0]).toMatchObject({ kind: "doubled", case: { faults: [{ kind: "pause" }] } });
    const charged = report.violations[0]!.trace.filter((line) => line.includes("effect charge is done"));
    expect(charged.map((line) => /n\d/.exec(line)?.[0]).sort()).toEqual(["n1", "n2"]);
  });

  test("a retry after a lost reply", async () => {
    const report = await simulate(orderWith(false), { input: 300, seeds: 0, faults: ["lostReply"] });
    expect(report.violations[0]).toMatchObject({ kind: "doubled", case: { faults: [{ kind: "lostReply" }] } });
  });

  test("work after an abort", async () => {
    const deaf = (heeds: boolean) => (effects: Effects) =>
      workflow("deaf", async (ctx) => {
        await ctx.step("two things", async ({ idempotencyKey, signal }) => {
          await effects.call("first", {}, { key: `${idempotencyKey} 1` });
          if (heeds) signal.throwIfAborted();
          await effects.call("second", {}, { key: `${idempotencyKey} 2` });
        });
      });
    const report = await simulate(deaf(false), { input: undefined, seeds: 0, faults: ["stop"] });
    expect(report.violations[0]).toMatchObject({ kind: "leaked", case: { faults: [{ kind: "stop" }] } });
    (await simulate(deaf(true), { input: undefined, seeds: 0, faults: ["stop"] })).assert();
  });

  test("one key for different requests", async () => {
    const wrong = (effects: Effects) =>
      workflow("wrong", async (ctx) => {
        await ctx.step("a", () => effects.call("charge", 1, { key: "k" }));
        await ctx.step("b", () => effects.call("charge", 2, { key: "k" }));
      });
    const report = await simulate(wrong, { input: undefined });
    expect(report.violations[0]).toMatchObject({ kind: "key", case: { faults: [] } });
  });

  test("a program that does not end, with what it waits for", async () => {
    const waits = workflow("waits", async (ctx) => ctx.approval("ship", { ask: "Ship?" }));
    const report = await simulate(waits, { input: undefined });
    expect(report.violations[0]).toMatchObject({ kind: "stuck" });
    expect(report.violations[0]?.message).toContain('parked on approval "ship"');
  });

  test("a double only under two faults, and leaves out the others", async () => {
    // The first process to fail remembers it outside; only a second failure charges again.
    const twice = (effects: Effects) =>
      workflow("twice", async (ctx, cents: number) => {
        await ctx.step("charge", { retry: 1 }, ({ idempotencyKey, fence }) =>
          effects.call("charge", { cents }, { key: `${idempotencyKey} ${fence > 2n}` }),
        );
        await ctx.step("ship", ({ idempotencyKey }) => effects.call("ship", {}, { key: idempotencyKey }));
      });
    const single = await simulate(twice, { input: 1, seeds: 0, faults: ["crash", "pause"] });
    expect(single.ok, String(single)).toBe(true);
    const report = await simulate(twice, { input: 1, crashes: "none", seeds: 150, faults: ["crash", "pause"] });
    expect(report.violations[0]).toMatchObject({ kind: "doubled" });
    expect(report.violations[0]?.case.faults.length).toBe(2);
  });
});

test("children, approvals and services take part", async () => {
  const child = workflow("child", async (ctx, n: number) => {
    const { log } = ctx.services as { log?: (n: number, key: string) => Promise<number> };
    return ctx.step("add", ({ idempotencyKey }) => log!(n, idempotencyKey));
  });
  const parent = (effects: Effects) =>
    workflow("parent", async (ctx, n: number) => {
      const answer = await ctx.approval("go", { ask: "Go?" });
      const sum = (await ctx.children(child, [n, n + 1])).reduce((a, b) => a + b, 0);
      await ctx.step("charge", ({ idempotencyKey }) => effects.call("charge", { sum }, { key: idempotencyKey }));
      return `${sum} ${answer.outcome}`;
    });
  const report = await simulate(parent, {
    input: 1,
    seeds: 3,
    programs: [child],
    services: ({ call }) => ({ log: (n: number, key: string) => call("log", n, { key, result: n + 1 }) }),
    stubs: (stub) => stub.approval("go", { choice: "approved" }),
  });
  report.assert();
  expect(report.cases).toBeGreaterThan(80);
  expect(report.effects.map(({ name }) => name).sort()).toEqual(["charge", "log", "log"]);
});

test("a transaction is recorded once, whatever happens", async () => {
  const save = workflow("save", async (ctx, id: string) =>
    ctx.transaction("insert", async (tx) => {
      await tx.query("insert into orders (id) values ($1)", [id]);
      return id;
    }),
  );
  const report = await simulate(save, { input: "o-1", seeds: 3, database: async () => ({ rows: [] }) });
  report.assert();
  expect(report.cases).toBeGreaterThan(10);
});

test("the same case has the same trace", async () => {
  const one = { seed: 7, faults: [{ kind: "crash", at: 6, backAfterMs: 5_000 }] } as const;
  const run = async () => (await simulate(orderWith(false), { input: 300, only: one })).violations[0]?.trace;
  expect(await run()).toEqual(await run());
});
