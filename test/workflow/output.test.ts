// An output is delivered at most once under its key: among runs at once, over generations, and when its node dies or the delivery fails.

import { expect, test } from "vitest";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

onBothStores((bench) => {
  test("of eight runs with one key, one delivers and the others name it", async () => {
    const delivered: string[] = [];
    const invoice = workflow("invoice", async (ctx, n: number) =>
      ctx.output("invoice-7", async () => {
        delivered.push(ctx.runId);
        return `sent by ${n}`;
      }),
    );
    const node = await bench.open({ programs: [invoice] });
    const runs = await Promise.all(Array.from({ length: 8 }, (_, n) => node.start(invoice, n)));
    const results = await Promise.all(runs.map((run) => run.result({ timeout: "10s" })));
    expect(delivered).toHaveLength(1);
    const [first] = results.filter(({ outcome }) => outcome === "delivered");
    expect(first).toMatchObject({ value: expect.stringMatching(/^sent by \d$/) });
    const others = results.filter(({ outcome }) => outcome === "duplicate");
    expect(others).toEqual(Array.from({ length: 7 }, () => ({ outcome: "duplicate", by: delivered[0] })));
  });

  test("the same key twice in one run, and in its next generation, is delivered once", async () => {
    let deliveries = 0;
    const again = workflow("again", async (ctx, round: number): Promise<unknown> => {
      const key = "report 1";
      const first = await ctx.output(key, () => ++deliveries);
      const second = await ctx.output(key, () => ++deliveries);
      if (round === 0) return ctx.continueAsNew(1);
      return [first.outcome, second.outcome, "by" in first && first.by === ctx.runId];
    });
    const node = await bench.open({ programs: [again] });
    expect(await (await node.start(again, 0)).result({ timeout: "10s" })).toEqual(["duplicate", "duplicate", true]);
    expect(deliveries).toBe(1);
  });

  test("a delivery whose node dies is not repeated, neither by the next node nor by an operator's retry", async () => {
    let deliveries = 0;
    let release = () => {};
    const send = workflow("send", async (ctx, key: string) =>
      ctx.output(key, () => {
        deliveries++;
        return new Promise<void>((resolve) => (release = resolve));
      }),
    );
    const first = await bench.open({ programs: [send], timing: { lease: 300, renewEvery: 250 } });
    const run = await first.start(send, "mail 1");
    await expect.poll(() => deliveries).toBe(1);
    const stopped = first.stop({ grace: 0 });
    const second = await bench.open({ programs: [send] });
    await expect(second.run(run.id).result({ timeout: "10s" })).rejects.toMatchObject({
      cause: { code: "STEP_INTERRUPTED" },
    });
    release();
    await stopped;
    await second.run(run.id).retry();
    await expect(second.run(run.id).result({ timeout: "10s" })).rejects.toMatchObject({
      cause: { code: "STEP_INTERRUPTED" },
    });
    await second.dead.retry([run.id], { from: "start" });
    expect(await second.run(run.id).result({ timeout: "10s" })).toEqual({ outcome: "duplicate", by: run.id });
    expect(deliveries).toBe(1);
  });

  test("a delivery that throws fails its call and keeps the key, until its time has passed", async () => {
    const calls: string[] = [];
    const send = workflow("fails", async (ctx, name: string) => {
      const { outcome } = await ctx.output("letter", { keep: "50ms", timeout: "5s" }, () => {
        calls.push(name);
        if (name === "first") throw new Error("the post office is closed");
      });
      return outcome;
    });
    const node = await bench.open({ programs: [send] });
    await expect((await node.start(send, "first")).result({ timeout: "10s" })).rejects.toMatchObject({
      cause: { message: "the post office is closed" },
    });
    await expect.poll(async () => (await node.start(send, "later")).result({ timeout: "10s" })).toBe("delivered");
    expect(calls).toEqual(["first", "later"]);
  });

  test("a key that is none is refused where it is asked for", async () => {
    const wrong = workflow("wrong", async (ctx) => {
      const codes = [];
      for (const key of ["", "x".repeat(181), "a\nb"]) {
        codes.push(
          await Promise.resolve()
            .then(() => ctx.output(key, () => 1))
            .catch((error) => error.code),
        );
      }
      return codes;
    });
    const node = await bench.open({ programs: [wrong] });
    const codes = await (await node.start(wrong)).result({ timeout: "10s" });
    expect(codes).toEqual(["INVALID_INPUT", "LIMIT_EXCEEDED", "INVALID_INPUT"]);
  });

  test("a race does not take a delivery: one that loses would have used its key", async () => {
    const racing = workflow("racing", async (ctx) => {
      const sent = ctx.output("raced", () => "sent");
      const refused = await Promise.resolve()
        .then(() => ctx.race({ sent, late: ctx.sleep("late", "1m") }))
        .catch((error) => error.message);
      return { refused, sent: await sent };
    });
    const node = await bench.open({ programs: [racing] });
    expect(await (await node.start(racing)).result({ timeout: "10s" })).toEqual({
      refused: expect.stringMatching(/race\.sent: must be .* not of ctx\.output/),
      sent: { outcome: "delivered", value: "sent" },
    });
  });
});
