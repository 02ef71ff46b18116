// A machine whose definition is edited while instances and their timers exist, in virtual time.

import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { machine } from "../../src/machine/index.js";
import { MINUTE, open } from "./virtual-node.js";

describe("an edited definition", () => {
  const version = (after: Record<number, string>, states: Record<string, object> = {}) =>
    setup({ types: {} as { events: { type: "GO" } } }).createMachine({
      initial: "a",
      states: { a: { after }, b: {}, c: {}, ...states } as { a: object; b: object; c: object },
    });

  /** Starts with one definition, continues with another. */
  async function edited(before: ReturnType<typeof machine>, after: ReturnType<typeof machine>) {
    const first = await open([before]);
    await first.done(first.node.start(before, undefined, { id: "i" }));
    await first.done(first.node.stop({ grace: 0 }));
    const next = await open([after], first.world, first.store);
    return { ...next, one: next.node.instance(after, "i") };
  }

  test("keeps the deadlines of pending timers, and fires them through its own branches", async () => {
    const before = machine("m", version({ 60000: "b" })) as unknown as ReturnType<typeof machine>;
    const after = machine("m", version({ 600000: "b" })) as unknown as ReturnType<typeof machine>;
    const { world, done, one } = await edited(before, after);
    await world.advance(MINUTE + 1_000);
    expect(await done(one.state())).toMatchObject({ value: "b" });
  });

  test("of several branches, takes the one that leads where the old one did", async () => {
    const before = machine("m", version({ 60000: "b", 120000: "c" })) as unknown as ReturnType<typeof machine>;
    const after = machine("m", version({ 30000: "c", 90000: "b" })) as unknown as ReturnType<typeof machine>;
    const { world, done, one } = await edited(before, after);
    await world.advance(MINUTE + 1_000);
    expect(await done(one.state())).toMatchObject({ value: "b" });
  });

  test("timers whose branch is gone are kept and shown, and fire when it is back", async () => {
    const before = machine("m", version({ 60000: "b" })) as unknown as ReturnType<typeof machine>;
    const after = machine("m", version({})) as unknown as ReturnType<typeof machine>;
    const { world, store, done, one, node } = await edited(before, after);
    await world.advance(10 * MINUTE);
    expect(await done(one.timers())).toMatchObject(
      [{ name: "after 1m in a", state: "pending", problem: /branch/ }].map((timer) => ({
        ...timer,
        problem: expect.stringMatching(timer.problem),
      })),
    );
    await done(node.stop({ grace: 0 }));
    const back = await open([before], world, store);
    await world.advance(2 * MINUTE);
    expect(await back.done(back.node.instance(before, "i").state())).toMatchObject({ value: "b" });
  });

  test("renamed states are found by their new names, with their timers", async () => {
    const before = machine("m", version({ 60000: "b" })) as unknown as ReturnType<typeof machine>;
    const renamed = setup({}).createMachine({ initial: "start", states: { start: { after: { 60000: "b" } }, b: {} } });
    const after = machine("m", renamed, { renamed: { a: "start" } }) as unknown as ReturnType<typeof machine>;
    const { world, done, one } = await edited(before, after);
    expect(await done(one.state())).toMatchObject({ value: "start" });
    await world.advance(MINUTE + 1_000);
    expect(await done(one.state())).toMatchObject({ value: "b" });
  });

  test("a state it does not have is quarantined, not lost: migrate brings it over, or the old code continues", async () => {
    const before = machine("m", version({ 60000: "b" }), { version: "1" }) as unknown as ReturnType<typeof machine>;
    const other = setup({ types: {} as { events: { type: "GO" } } }).createMachine({
      initial: "x",
      states: { x: { on: { GO: "y" } }, y: {} },
    });
    const after = machine("m", other, { version: "2" });
    const { world, store, done, node } = await edited(before, after as unknown as ReturnType<typeof machine>);
    const problems: string[] = [];
    node.on("instance.quarantined", ({ problem }) => problems.push(problem));
    const one = node.instance(after, "i");
    await expect(done(one.send({ type: "GO" }))).rejects.toMatchObject({ code: "INSTANCE_QUARANTINED" });
    expect(problems[0]).toContain("'a'");
    const [shown] = (await done(node.instances.list())).instances;
    expect(shown).toMatchObject({ id: "i", value: "a", version: "1", problem: expect.stringContaining("'a'") });
    await done(node.stop({ grace: 0 }));
    const migrating = machine("m", other, {
      version: "3",
      migrate: (snapshot, from) => ({ value: from === "1" ? "x" : (snapshot.value as "x"), context: {} }),
    });
    const next = await open([migrating], world, store);
    const brought = next.node.instance(migrating, "i");
    expect(await next.done(brought.send({ type: "GO" }))).toMatchObject({ outcome: "applied", value: "y" });
    expect(await next.done(brought.state())).toMatchObject({ value: "y", version: "3" });
    expect((await next.done(next.node.instances.list())).instances[0]).toMatchObject({ problem: null, version: "3" });
  });
});
