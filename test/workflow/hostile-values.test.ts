// Values of user code that cannot be inspected or stored as they are, thrown, passed or returned, on both stores: recorded or
// rejected, and never a hang or a silent change.

import { describe, expect, test } from "vitest";
import { outcomeOf } from "../../src/compat/job-outcome.js";
import { dag } from "../../src/dag/dag.js";
import { each, task } from "../../src/dag/task.js";
import { graph, state } from "../../src/graph/index.js";
import type { AnyDefinition } from "../../src/program/definition.js";
import { workflow } from "../../src/workflow/workflow.js";
import { onBothStores } from "./node-suite.js";

const refuses = () => {
  throw new TypeError("do not touch");
};
const hostile: Record<string, () => unknown> = {
  "a revoked Proxy": () => {
    const { proxy, revoke } = Proxy.revocable(new Error("was here"), {});
    revoke();
    return proxy;
  },
  "a Proxy that refuses everything": () => new Proxy({}, { get: refuses, getPrototypeOf: refuses, has: refuses }),
  "an object whose code cannot be read": () => Object.defineProperty({}, "code", { get: refuses }),
};
const S = state<{ n: number }>();
const once = { retry: 1 } as const;

/** Programs that throw what they are given, each at another place. */
const places: Record<string, (thrown: () => unknown) => AnyDefinition> = {
  "a step": (thrown) => workflow("hostile-step", (ctx) => ctx.step("throws", once, () => Promise.reject(thrown()))),
  "a transaction": (thrown) =>
    workflow("hostile-transaction", (ctx) => ctx.transaction("throws", once, () => Promise.reject(thrown()))),
  "a workflow": (thrown) => workflow("hostile-body", () => Promise.reject(thrown())),
  "a node": (thrown) =>
    graph("hostile-node", {
      state: S,
      start: "one",
      nodes: { one: S.node(once, () => Promise.reject(thrown())) },
      edges: { one: "end" },
    }),
  "a task": (thrown) => dag("hostile-task", { one: task(once, () => Promise.reject(thrown())) }),
  "the list of a fan-out": (thrown) => {
    const over = () => {
      throw thrown();
    };
    return dag("hostile-over", { one: each({ ...once, over }, () => 1) });
  },
};

onBothStores(
  (bench) => {
    describe.each(Object.keys(hostile))("%s", (what) => {
      test.each(Object.keys(places))("thrown in %s is its failure", async (place) => {
        const program = places[place]!(hostile[what]!);
        // A lease longer than the test: a run that hangs would not be reclaimed in time.
        const node = await bench.open({ programs: [program], timing: { lease: "60s" } });
        const run = await node.start(program, { n: 1 });
        await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ code: "RUN_FAILED", state: "failed" });
      });
    });

    test("a Promise as input is refused, not awaited", async () => {
      const takes = workflow("takes", async (_ctx, input: unknown) => input);
      const node = await bench.open({ programs: [takes] });
      const promise: unknown = Promise.resolve(1);
      const refused = { code: "INVALID_INPUT", path: "input", message: expect.stringMatching(/`await`/) };
      await expect(node.start(takes, promise)).rejects.toMatchObject(refused);
      // biome-ignore lint/suspicious/noThenProperty: what is refused here
      await expect(node.start(takes, { then: () => {} })).rejects.toMatchObject(refused);
      await expect(node.start(takes, { a: [promise] })).rejects.toMatchObject({ path: "input.a[0]" });
      const [many] = await node.startMany(takes, [{ input: promise }]);
      expect(many).toMatchObject({ outcome: "refused", error: refused });
      await expect(node.start(takes, { at: new Date("soon") })).rejects.toMatchObject({ path: "input.at" });
    });

    test("a Promise inside a result, or given to a child, fails with its path", async () => {
      const child = workflow("hostile-child", async (_ctx, input: unknown) => input);
      const inside = workflow("inside", async (ctx, where: string) => {
        const promise: unknown = Promise.resolve(1);
        if (where === "child") return ctx.child(child, promise);
        if (where === "step") return ctx.step("answers", once, () => ({ list: [promise] }));
        return { list: [promise] };
      });
      const node = await bench.open({ programs: [inside, child] });
      const message = async (where: string) => {
        const run = await node.start(inside, where);
        const error = await run.result({ timeout: "10s" }).catch((thrown) => thrown);
        return String((error as { cause?: Error }).cause?.message);
      };
      expect(await message("step")).toMatch(/result of step "answers"\.list\[0\].*`await`/);
      expect(await message("run")).toMatch(/result\.list\[0\].*`await`/);
      expect(await message("child")).toMatch(/input.*`await`/);
    });

    test("an object without prototype is read back as one, wherever it was stored", async () => {
      const passes = workflow("passes", async (ctx, input: object) => ctx.step("pass", () => ({ input })));
      const node = await bench.open({ programs: [passes] });
      const run = await node.start(passes, Object.assign(Object.create(null), { a: 1 }));
      const { input } = await run.result({ timeout: "10s" });
      expect(Object.getPrototypeOf(input)).toBeNull();
      expect({ ...input }).toEqual({ a: 1 });
    });
  },
  { perTest: true },
);

test.each(Object.keys(hostile))("%s thrown by a job's handler is its failure", async (what) => {
  expect(await outcomeOf(() => Promise.reject(hostile[what]!()))).toMatchObject({ kind: "failed" });
});
