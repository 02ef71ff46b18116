// Common mistakes in workflow functions: nothing hangs, nothing ends the process, and the error names the fix.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { AnyWorkflow } from "../../src/workflow/context.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

const soon = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const fail = () => {
  throw new Error("bad");
};

/** What would have ended the process. */
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

onBothStores((bench) => {
  const reason = async (program: AnyWorkflow): Promise<unknown> => {
    const node = await bench.open({ programs: [program] });
    const run = await node.start(program);
    const error = await run.result({ timeout: "5s" }).then(
      () => null,
      (thrown: { cause?: unknown }) => thrown,
    );
    await node.stop();
    return error?.cause;
  };

  test("a function that awaits something that is not the context's is waited for, also in a replay", async () => {
    const elsewhere = workflow("elsewhere", async (ctx) => {
      const one = await ctx.step("one", () => 1);
      await soon(30);
      const two = await ctx.step("two", () => 2);
      await ctx.sleep("parks", 20);
      await soon(30);
      return one + two;
    });
    const node = await bench.open({ programs: [elsewhere] });
    const run = await node.start(elsewhere);
    expect(await run.result({ timeout: "5s" })).toBe(3);
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(entries.map(({ kind }) => kind)).toContain("parked");
    await node.stop();
  });

  test("a function that waits for ever can be cancelled, and its node can stop", async () => {
    // It could still clean up: its time for that ends it.
    const never = workflow("never", { cleanupTimeout: "300ms" }, async () => new Promise<never>(() => {}));
    const node = await bench.open({ programs: [never] });
    const [first, second] = [await node.start(never), await node.start(never)];
    await expect.poll(() => node.active).toBe(2);
    await first.cancel();
    await expect(first.result({ timeout: "5s" })).rejects.toMatchObject({ code: "RUN_CANCELLED" });
    await node.stop();
    expect(await second.status()).toMatchObject({ state: "waiting" });
    await second.cancel();
  });

  test("a call that fails before it is awaited, or is never awaited, does not end the process", async () => {
    const child = workflow("careless-child", async () => fail());
    const careless = workflow("careless", async (ctx) => {
      const never = [ctx.step("never awaited", { retry: 1 }, fail), ctx.child(child, undefined)];
      const late = ctx.step("late", { retry: 1 }, fail);
      await ctx.step("meanwhile", () => soon(50));
      await ctx.sleep("longer", 200);
      expect(never).toHaveLength(2);
      return late;
    });
    const node = await bench.open({ programs: [careless, child] });
    const run = await node.start(careless);
    await expect(run.result({ timeout: "5s" })).rejects.toMatchObject({ cause: { message: "bad" } });
    await node.stop();
    expect(unhandled).toEqual([]);
  });

  test("a step inside a step is rejected: a replay would not match once the outer one is recorded", async () => {
    const nested = workflow("nested", async (ctx) => ctx.step("outer", { retry: 1 }, () => ctx.step("inner", () => 5)));
    const message = expect.stringContaining("inside a step");
    expect(await reason(nested)).toMatchObject({ code: "INVALID_INPUT", message });
  });

  test("a step whose result cannot be stored is executed once: another attempt could not be recorded either", async () => {
    let done = 0;
    const program = workflow("unstorable", async (ctx) =>
      ctx.step("give", () => {
        done++;
        return () => 1;
      }),
    );
    expect(await reason(program)).toMatchObject({ code: "INVALID_INPUT" });
    expect(done).toBe(1);
  });

  test("a retryIf that throws ends the step with the error of the step", async () => {
    const unsure = workflow("unsure", async (ctx) => ctx.step("try", { retryIf: fail }, () => Promise.reject("no")));
    expect(await reason(unsure)).toMatchObject({ message: "no" });
  });

  test.for([
    ["a date that is none", "sleepUntil", workflow("odd-date", (ctx) => ctx.sleepUntil("x", new Date("?")))],
    ["a step key that cannot be stored", "key", workflow("odd-key", (ctx) => ctx.step("x", { key: "\0" }, () => {}))],
    [
      "a default that is no choice",
      "default",
      workflow("odd-default", (ctx) => ctx.approval("x", { ask: "?", choices: ["a"], default: "b" as "a" })),
    ],
    ["no choices at all", "choices", workflow("odd-choices", (ctx) => ctx.approval("x", { ask: "?", choices: [] }))],
  ] as const)("%s is refused before anything is written", async ([, what, program]) => {
    const message = expect.stringContaining(what);
    expect(await reason(program)).toMatchObject({ code: "INVALID_INPUT", message });
  });

  test("an unknown choice is rejected, and the run still waits", async () => {
    const asks = workflow("asks", async (ctx) => ctx.approval("ok", { ask: "?", choices: ["yes", "no"] }));
    const node = await bench.open({ programs: [asks] });
    const run = await node.start(asks);
    await expect.poll(async () => (await run.status()).state).toBe("parked");
    const wrong = run.decide("ok", { choice: "maybe", by: "ann" });
    await expect(wrong).rejects.toMatchObject({ code: "INVALID_INPUT", path: "choice" });
    await run.decide("ok", { choice: "yes", by: "ann" });
    expect(await run.result({ timeout: "5s" })).toMatchObject({ outcome: "yes" });
    await node.stop();
  });
});
