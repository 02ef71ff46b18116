// Where a durable machine must do what XState does: answers of a stay that is over, events to itself, eventless transitions, guards,
// remembered states, timers that a deployment adds, and copies of the context.

import { describe, expect, test } from "vitest";
import { assign, createActor, createMachine, raise, sendTo, setup } from "xstate";
import { type MachineOptions, machine } from "../../src/machine/index.js";
import { deferred } from "../harness/deferred.js";
import { MINUTE, open } from "./virtual-node.js";

const search = setup({
  types: {} as {
    context: { q: string; got: string };
    events: { type: "SEARCH"; q: string } | { type: "CANCEL" } | { type: "FOUND"; got: string };
  },
  actions: { find: (_, _params: { q: string }) => {} },
}).createMachine({
  context: { q: "", got: "" },
  initial: "idle",
  states: {
    idle: { on: { SEARCH: { target: "searching", actions: assign({ q: ({ event }) => event.q }) } } },
    searching: {
      entry: { type: "find", params: ({ context }) => ({ q: context.q }) },
      on: { CANCEL: "idle", FOUND: { target: "shown", actions: assign({ got: ({ event }) => event.got }) } },
    },
    shown: {},
  },
});

describe("an effect's answer", () => {
  test("to an earlier stay in the state is dropped and counted; that of the current stay counts", async () => {
    const slow = deferred<void>();
    const searches = machine("search", search, {
      effects: {
        find: async (_, { params }) => {
          if (params.q === "old") await slow.promise;
          return { type: "FOUND", got: params.q };
        },
      },
    });
    const { node, done, world } = await open([searches]);
    const stale: unknown[] = [];
    node.on("effect.stale", (event) => stale.push(event));
    const one = await done(node.start(searches, undefined, { id: "s" }));
    await done(one.send({ type: "SEARCH", q: "old" }));
    await done(one.send({ type: "CANCEL" }));
    await done(one.send({ type: "SEARCH", q: "new" }));
    await done(one.waitFor(({ value }) => value === "shown"));
    expect((await done(one.state())).context).toEqual({ q: "new", got: "new" });
    slow.resolve();
    await world.advance(30_000);
    expect((await done(one.state())).context).toEqual({ q: "new", got: "new" });
    expect(stale).toMatchObject([{ machine: "search", id: "s", effect: "find" }]);
  });

  test("that arrives first, to an earlier stay, does not answer the later one", async () => {
    const answers = { old: deferred<void>(), new: deferred<void>() };
    const searches = machine("search", search, {
      effects: {
        find: async (_, { params }) => {
          await answers[params.q as "old" | "new"].promise;
          return { type: "FOUND", got: params.q };
        },
      },
    });
    const { node, done, world } = await open([searches]);
    const one = await done(node.start(searches, undefined, { id: "s" }));
    await done(one.send({ type: "SEARCH", q: "old" }));
    await done(one.send({ type: "CANCEL" }));
    await done(one.send({ type: "SEARCH", q: "new" }));
    answers.old.resolve();
    await world.advance(1_000);
    expect(await done(one.state())).toMatchObject({ value: "searching", context: { q: "new", got: "" } });
    answers.new.resolve();
    await done(one.waitFor(({ value }) => value === "shown"));
    expect((await done(one.state())).context).toEqual({ q: "new", got: "new" });
  });

  test("that comes after its state was left for good is an event like any other", async () => {
    const slow = deferred<void>();
    const def = setup({
      types: {} as { events: { type: "NEXT" } | { type: "DONE" } },
      actions: { work: () => {} },
    }).createMachine({
      initial: "a",
      states: { a: { entry: "work", on: { NEXT: "b" } }, b: { on: { DONE: "c" } }, c: {} },
    });
    const works = machine("works", def, {
      effects: { work: () => slow.promise.then(() => ({ type: "DONE" }) as const) },
    });
    const { node, done } = await open([works]);
    const one = await done(node.start(works));
    await done(one.send({ type: "NEXT" }));
    slow.resolve();
    await done(one.waitFor(({ value }) => value === "c"));
  });

  test("that gives up is an event: effect.failed; when no transition takes it, a dead letter", async () => {
    const def = (on: object) =>
      setup({
        types: {} as { context: { why: string }; events: { type: "effect.failed"; error: { message: string } } },
        actions: { charge: () => {} },
      }).createMachine({
        context: { why: "" },
        initial: "paying",
        states: { paying: { entry: "charge", on: on as never }, refused: {} },
      });
    const failed = {
      "effect.failed": {
        target: "refused",
        actions: assign({ why: ({ event }: { event: { error: { message: string } } }) => event.error.message }),
      },
    };
    const charge = {
      retry: 1,
      run: () => {
        throw new Error("no money");
      },
    };
    const taken = machine("taken", def(failed), { effects: { charge } });
    const left = machine("left", def({}), { effects: { charge } });
    const { node, done, world } = await open([taken, left]);
    const one = await done(node.start(taken));
    const two = await done(node.start(left));
    await world.advance(30_000);
    expect(await done(one.state())).toMatchObject({ value: "refused", context: { why: "no money" } });
    expect((await done(two.state())).value).toBe("paying");
    const dead = await done(node.dead.list());
    expect(dead.letters.map(({ group }) => group.program)).toEqual(["left::effects"]);
  });
});

describe("events to itself", () => {
  const order = { order: [] as string[] };
  const note = (name: string) =>
    assign({ order: ({ context }: { context: typeof order }) => [...context.order, name] });
  const toSelf = (type: string) => sendTo(({ self }) => self, { type });

  test("are applied in the order in which they were sent", async () => {
    const def = createMachine({
      context: order,
      on: {
        GO: { actions: [toSelf("A"), toSelf("B")] },
        A: { actions: [note("A"), toSelf("C")] },
        B: { actions: note("B") },
        C: { actions: note("C") },
      },
    } as never);
    const program = machine("queue", def as never);
    const { node, done } = await open([program]);
    const one = await done(node.start(program, undefined as never));
    await done(one.send({ type: "GO" } as never));
    const actor = createActor(def).start();
    actor.send({ type: "GO" } as never);
    expect((await done(one.state())).context).toEqual(actor.getSnapshot().context);
    expect((await done(one.state())).context).toEqual({ order: ["A", "B", "C"] });
  });

  test("one that throws fails the instance, on record", async () => {
    const def = createMachine({
      context: order,
      on: {
        GO: { actions: [note("GO"), toSelf("BAD"), toSelf("LATE")] },
        BAD: {
          actions: assign(() => {
            throw new Error("broken");
          }),
        },
        LATE: { actions: note("LATE") },
      },
    } as never);
    const program = machine("broken", def as never);
    const { node, done } = await open([program]);
    const ended: unknown[] = [];
    node.on("instance.ended", (event) => ended.push(event));
    const one = await done(node.start(program, undefined as never, { id: "b" }));
    await done(one.send({ type: "GO" } as never));
    const state = await done(one.state());
    expect(state).toMatchObject({ status: "error", seq: 3, context: { order: ["GO"] } });
    expect(state.error).toMatchObject({ code: "TRANSITION_FAILED", message: expect.stringContaining("broken") });
    expect((await done(one.history())).map(({ type, by }) => `${type} ${by}`)).toEqual([
      "start null",
      "GO null",
      "BAD self",
    ]);
    expect(ended).toMatchObject([{ status: "error", error: { message: expect.stringContaining("broken") } }]);
    await expect(done(one.send({ type: "GO" } as never))).rejects.toMatchObject({ code: "INSTANCE_ENDED" });
  });
});

describe("eventless transitions and guards", () => {
  test("always is evaluated for an event that no transition takes", async () => {
    let open_ = false;
    const def = setup({ types: {} as { events: { type: "ANY" } }, guards: { open: () => open_ } }).createMachine({
      initial: "closed",
      states: { closed: { always: { guard: "open", target: "opened" } }, opened: {} },
    });
    const program = machine("door", def);
    const { node, done } = await open([program]);
    const one = await done(node.start(program));
    expect(await done(one.send({ type: "ANY" }))).toMatchObject({ outcome: "unhandled", seq: 1 });
    open_ = true;
    expect(await done(one.send({ type: "ANY" }))).toMatchObject({ outcome: "applied", value: "opened" });
  });

  test("a guard is asked once for each event", async () => {
    let asked = 0;
    const def = setup({
      types: {} as { events: { type: "GO" } },
      guards: { once: () => asked++ === 0 },
    }).createMachine({
      initial: "a",
      states: { a: { on: { GO: { guard: "once", target: "b" } } }, b: {} },
    });
    const program = machine("once", def);
    const { node, done } = await open([program]);
    const one = await done(node.start(program));
    expect(await done(one.send({ type: "GO" }))).toMatchObject({ outcome: "applied", value: "b" });
    expect(asked).toBe(1);
  });

  test("a forbidden transition takes nothing", async () => {
    const def = createMachine({
      initial: "a",
      on: { GO: ".b" },
      states: { a: { on: { GO: {} } }, b: {} },
    });
    const program = machine("forbidden", def as never);
    const { node, done } = await open([program]);
    const one = await done(node.start(program, undefined as never));
    expect(await done(one.send({ type: "GO" } as never))).toMatchObject({ outcome: "unhandled", value: "a" });
  });
});

test("a delayed event that is set again under its id replaces the pending one", async () => {
  const def = setup({
    types: {} as { context: { n: number }; events: { type: "GO" } | { type: "RING" } },
  }).createMachine({
    context: { n: 0 },
    on: {
      GO: { actions: raise({ type: "RING" }, { id: "r", delay: MINUTE }) },
      RING: { actions: assign({ n: ({ context }) => context.n + 1 }) },
    },
  });
  const program = machine("again", def);
  const { node, done, world } = await open([program]);
  const one = await done(node.start(program));
  await done(one.send({ type: "GO" }));
  await world.advance(MINUTE / 2);
  await done(one.send({ type: "GO" }));
  await world.advance(3 * MINUTE);
  expect((await done(one.state())).context).toEqual({ n: 1 });
});

describe("a deployment", () => {
  const remembering = (id: string, names: readonly [string, string], to = "hist") =>
    createMachine({
      id,
      initial: "p",
      states: {
        p: {
          initial: names[0],
          on: { OUT: "away" },
          states: { [names[0]]: { on: { NEXT: names[1] } }, [names[1]]: {}, [to]: { type: "history" } },
        },
        away: { on: { IN: `p.${to}` } },
      },
    } as never);
  const over = async (before: object, after: object, options: MachineOptions<never, never, never, never, never>) => {
    const old = machine("history", before as never);
    const first = await open([old]);
    const one = await first.done(first.node.start(old, undefined as never, { id: "h" }));
    await first.done(one.send({ type: "NEXT" } as never));
    await first.done(one.send({ type: "OUT" } as never));
    const now = machine("history", after as never, options as never);
    const { node, done } = await open([now], first.world, first.store);
    return done(node.instance(now, "h").send({ type: "IN" } as never));
  };

  test("renames what a history state remembers", async () => {
    const renamed = { "p.a": "p.aa", "p.b": "p.bb" };
    const sent = await over(remembering("m", ["a", "b"]), remembering("m", ["aa", "bb"]), { renamed });
    expect(sent).toMatchObject({ value: { p: "bb" } });
  });

  test("that renames the machine's id, or the history state, forgets nothing", async () => {
    const sent = await over(remembering("m", ["a", "b"]), remembering("other", ["a", "b"]), {});
    expect(sent).toMatchObject({ value: { p: "b" } });
    const renamed = { "p.hist": "p.last" };
    const again = await over(remembering("m", ["a", "b"]), remembering("m", ["a", "b"], "last"), { renamed });
    expect(again).toMatchObject({ value: { p: "b" } });
  });

  test("that removes a remembered state quarantines; migrate can forget it", async () => {
    const after = remembering("m", ["a", "c"]);
    await expect(over(remembering("m", ["a", "b"]), after, {})).rejects.toMatchObject({ code: "INSTANCE_QUARANTINED" });
    const migrate = (snapshot: object) => ({ ...snapshot, history: {} });
    const sent = await over(remembering("m", ["a", "b"]), after, { version: "2", migrate: migrate as never });
    expect(sent).toMatchObject({ value: { p: "a" } });
  });

  const timed = (after: object) => createMachine({ initial: "a", states: { a: { after }, b: {}, c: {} } } as never);
  const redeploy = async (after: object, options: object) => {
    const old = machine("timed", timed({ 3600000: "c" }) as never);
    const first = await open([old]);
    await first.done(first.node.start(old, undefined as never, { id: "t" }));
    await first.world.advance(10 * MINUTE);
    // Deployed one after the other: the old code would keep a timer that it does not know.
    void first.node.stop({ grace: 0 });
    await first.world.advance(1_000);
    const now = machine("timed", timed(after) as never, options as never);
    const { node, done, world } = await open([now], first.world, first.store);
    return { one: node.instance(now, "t"), done, world };
  };

  test("that adds a timer to a state arms the instances in it, from their entry", async () => {
    const { one, done, world } = await redeploy({ 3600000: "c", 1200000: "b" }, {});
    expect((await done(one.state())).value).toBe("a");
    expect((await done(one.timers())).map(({ name }) => name)).toEqual(["after 20m in a", "after 1h in a"]);
    expect((await done(one.history())).at(-1)).toMatchObject({ kind: "timer", type: "armed after 20m in a" });
    await world.advance(11 * MINUTE);
    expect((await done(one.state())).value).toBe("b");
  });

  test("or from now, and once", async () => {
    const { one, done, world } = await redeploy({ 3600000: "c", 1200000: "b" }, { addedTimers: "now" });
    await done(one.state());
    const seq = (await done(one.state())).seq;
    await world.advance(11 * MINUTE);
    expect(await done(one.state())).toMatchObject({ value: "a", seq });
    await world.advance(10 * MINUTE);
    expect((await done(one.state())).value).toBe("b");
  });

  test("that only changes a delay keeps the pending timer", async () => {
    const { one, done } = await redeploy({ 7200000: "c" }, {});
    const seq = (await done(one.state())).seq;
    expect(seq).toBe(1);
    expect(await done(one.timers())).toMatchObject([{ name: "after 1h in a" }]);
  });

  test("that migrates into a state with timers arms them and removes those of the state before", async () => {
    const def = createMachine({ initial: "a", states: { a: {}, b: { after: { 60000: "c" } }, c: {} } } as never);
    const old = machine("timed", timed({ 3600000: "c" }) as never);
    const first = await open([old]);
    await first.done(first.node.start(old, undefined as never, { id: "t" }));
    const migrate = ({ context }: { context: unknown }) => ({ value: "b", context });
    const now = machine("timed", def as never, { version: "2", migrate: migrate as never });
    const { node, done, world } = await open([now], first.world, first.store);
    const one = node.instance(now, "t");
    expect((await done(one.state())).value).toBe("b");
    expect((await done(one.timers())).map(({ name }) => name)).toEqual(["after 1m in b"]);
    await world.advance(2 * MINUTE);
    expect((await done(one.state())).value).toBe("c");
  });
});

describe("the context", () => {
  test("of state() is a copy: a caller's change is not stored", async () => {
    const def = setup({
      types: {} as { context: { list: string[] }; events: { type: "GO" } },
    }).createMachine({
      context: { list: [] },
      on: { GO: { actions: assign({ list: ({ context }) => context.list }) } },
    });
    const program = machine("copied", def);
    const { node, done, world, store } = await open([program]);
    const { id } = await done(node.start(program));
    // Another process reads it first, and keeps what it read for the next event.
    const { node: other } = await open([program], world, store);
    const one = other.instance(program, id);
    (await done(one.state())).context.list.push("mine");
    await done(one.send({ type: "GO" }));
    expect((await done(one.state())).context).toEqual({ list: [] });
  });

  test("with `self` in it is refused", async () => {
    const def = createMachine({ context: ({ self }: { self: unknown }) => ({ me: { self } }) } as never);
    const program = machine("selfish", def as never);
    const { node, done } = await open([program]);
    await expect(done(node.start(program, undefined as never))).rejects.toMatchObject({
      code: "MACHINE_REFUSED",
      message: expect.stringContaining("self"),
    });
  });
});
