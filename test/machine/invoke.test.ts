// Invoked actors: promises as durable effects, machines as instances of their own.

import { describe, expect, test } from "vitest";
import {
  assign,
  createActor,
  createMachine,
  enqueueActions,
  forwardTo,
  fromCallback,
  fromPromise,
  sendParent,
  sendTo,
  setup,
} from "xstate";
import { machine } from "../../src/machine/index.js";
import { deferred } from "../harness/deferred.js";
import { onBothStores } from "../workflow/node-suite.js";
import { open } from "./virtual-node.js";

interface Loaded {
  readonly name: string;
}

const loading = (load: (id: string, signal: AbortSignal) => Promise<Loaded>) =>
  setup({
    types: {} as {
      context: { id: string; name: string; why: string };
      input: { id: string };
      events: { type: "AGAIN" } | { type: "LEAVE" };
    },
    actors: {
      load: fromPromise<Loaded, { id: string }>(({ input, signal }) => load(input.id, signal)),
    },
  }).createMachine({
    context: ({ input }) => ({ id: input.id, name: "", why: "" }),
    initial: "loading",
    states: {
      loading: {
        invoke: {
          src: "load",
          input: ({ context }) => ({ id: context.id }),
          onDone: { target: "loaded", actions: assign({ name: ({ event }) => event.output.name }) },
          onError: { target: "failed", actions: assign({ why: ({ event }) => (event.error as Error).message }) },
        },
        on: { LEAVE: "left", AGAIN: { target: "loading", reenter: true } },
      },
      loaded: {},
      failed: { on: { AGAIN: "loading" } },
      left: { on: { AGAIN: "loading" } },
    },
  });

onBothStores((bench) => {
  test("a promise is a durable effect: done, failed, with its input", async () => {
    const calls: string[] = [];
    const load = async (id: string) => {
      calls.push(id);
      if (id === "bad") throw new Error("not there");
      return { name: id.toUpperCase() };
    };
    const program = machine("loading", loading(load));
    const node = await bench.open({ programs: [program] });
    const good = await node.start(program, { id: "good" });
    const bad = await node.start(program, { id: "bad" });
    const state = await good.waitFor(({ value }) => value === "loaded", { timeout: "10s" });
    expect(state.context.name).toBe("GOOD");
    const failed = await bad.waitFor(({ value }) => value === "failed", { timeout: "10s" });
    expect(failed.context.why).toBe("not there");
    expect(calls.sort()).toEqual(["bad", "good"]);
    expect((await good.history()).map(({ type }) => type)).toEqual([
      "start",
      expect.stringMatching(/^xstate\.done\.actor\./),
    ]);
  });

  test("a machine is an instance of its own: started with its input, sent to, heard, and its output is the answer", async () => {
    const childDef = setup({
      types: {} as {
        context: { by: string; ok: boolean };
        input: { by: string };
        output: { by: string };
        events: { type: "STAMP" };
      },
    }).createMachine({
      context: ({ input }) => ({ by: input.by, ok: false }),
      initial: "open",
      output: ({ context }) => ({ by: context.by }),
      states: {
        open: { entry: sendParent({ type: "READY" }), on: { STAMP: "closed" } },
        closed: { type: "final" },
      },
    });
    const child = machine("review", childDef);
    const parentDef = setup({
      types: {} as { context: { by: string }; events: { type: "READY" } | { type: "OK" } },
      actors: { review: childDef },
    }).createMachine({
      context: { by: "" },
      initial: "reviewing",
      states: {
        reviewing: {
          invoke: {
            id: "review",
            src: "review",
            input: { by: "ann" },
            onDone: { target: "done", actions: assign({ by: ({ event }) => event.output.by }) },
          },
          initial: "waiting",
          on: { OK: { actions: sendTo("review", { type: "STAMP" }) } },
          states: { waiting: { on: { READY: "ready" } }, ready: {} },
        },
        done: { type: "final" },
      },
    });
    const parent = machine("document", parentDef, { actors: { review: child } });
    const node = await bench.open({ programs: [parent, child] });
    const one = await node.start(parent, undefined, { id: "d" });
    await one.waitFor(({ value }) => JSON.stringify(value) === '{"reviewing":"ready"}', { timeout: "10s" });
    expect(await node.instance(child, "d/review@1").state()).toMatchObject({ value: "open", context: { by: "ann" } });
    await one.send({ type: "OK" });
    const end = await one.waitFor(({ status }) => status === "done", { timeout: "10s" });
    expect(end.context).toEqual({ by: "ann" });
    expect((await node.instance(child, "d/review@1").state()).status).toBe("done");
  });
});

describe("an invoked promise", () => {
  test("is stopped when its state is left: its run is cancelled and its answer dropped", async () => {
    const aborted: string[] = [];
    const waits = new Map([
      ["one", deferred<Loaded>()],
      ["two", deferred<Loaded>()],
    ]);
    let turn = 0;
    const load = (_: string, signal: AbortSignal) => {
      const name = ["one", "two"][turn++]!;
      signal.addEventListener("abort", () => aborted.push(name));
      return waits.get(name)!.promise;
    };
    const program = machine("loading", loading(load));
    const { node, done, world } = await open([program]);
    const one = await done(node.start(program, { id: "x" }));
    await world.advance(100);
    await done(one.send({ type: "LEAVE" }));
    await world.advance(5_000);
    expect(aborted).toEqual(["one"]);
    await done(one.send({ type: "AGAIN" }));
    waits.get("one")!.resolve({ name: "old" });
    await world.advance(5_000);
    expect((await done(one.state())).value).toBe("loading");
    waits.get("two")!.resolve({ name: "new" });
    const state = await done(one.waitFor(({ value }) => value === "loaded"));
    expect(state.context.name).toBe("new");
  });

  test("with attempts of its own is tried again before it fails", async () => {
    let calls = 0;
    const load = async () => {
      if (++calls < 3) throw new Error("busy");
      return { name: "third" };
    };
    const program = machine("loading", loading(load), { actors: { load: { retry: 3 } } });
    const { node, done } = await open([program]);
    const one = await done(node.start(program, { id: "x" }));
    expect((await done(one.waitFor(({ value }) => value === "loaded"))).context.name).toBe("third");
  });

  test("without onError fails the instance, as in XState", async () => {
    const def = createMachine({
      initial: "a",
      states: { a: { invoke: { id: "bad", src: fromPromise(() => Promise.reject(new Error("gone"))) } } },
    });
    const program = machine("unhandled", def as never);
    const { node, done } = await open([program]);
    const one = await done(node.start(program, undefined as never));
    const state = await done(one.waitFor(({ status }) => status !== "active"));
    expect(state).toMatchObject({ status: "error", error: { message: "gone" } });
    const actor = createActor(def);
    actor.subscribe({ error: () => {} });
    actor.start();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(actor.getSnapshot().status).toBe("error");
  });

  test("of a state that is left in the same step is never begun", async () => {
    let calls = 0;
    const def = createMachine({
      initial: "a",
      states: {
        a: { invoke: { src: fromPromise(async () => calls++) }, always: "b" },
        b: {},
      },
    });
    const program = machine("transient", def as never);
    const { node, done, world } = await open([program]);
    await done(node.start(program, undefined as never));
    await world.advance(30_000);
    expect(calls).toBe(0);
  });
});

test("an invoked machine is stopped when its state is left", async () => {
  const childDef = createMachine({ initial: "a", states: { a: {} } });
  const child = machine("child", childDef as never);
  const parentDef = createMachine({
    initial: "on",
    states: { on: { invoke: { id: "kid", src: childDef }, on: { OFF: "off" } }, off: {} },
  });
  const parent = machine("parent", parentDef as never, { actors: { kid: child } });
  const { node, done, world } = await open([parent, child]);
  const one = await done(node.start(parent, undefined as never, { id: "p" }));
  await done(
    node
      .instance(child, "p/kid@1")
      .waitFor(() => true)
      .catch(() => null),
  );
  await world.advance(30_000);
  await done(one.send({ type: "OFF" } as never));
  await world.advance(30_000);
  expect((await done(node.instance(child, "p/kid@1").state())).status).toBe("stopped");
  expect((await done(one.state())).value).toBe("off");
});

test("an event for an actor that is not running is refused, and nothing is written", async () => {
  const childDef = createMachine({ initial: "a", states: { a: {} } });
  const child = machine("child", childDef as never);
  const def = createMachine({
    initial: "off",
    on: { HI: { actions: sendTo("kid", { type: "HI" }) }, FWD: { actions: forwardTo("kid") } },
    states: { off: {}, on: { invoke: { id: "kid", src: childDef } } },
  } as never);
  const program = machine("sender", def as never, { actors: { kid: child } });
  const { node, done } = await open([program, child]);
  const one = await done(node.start(program, undefined as never));
  for (const type of ["HI", "FWD"]) {
    await expect(done(one.send({ type } as never))).rejects.toMatchObject({ code: "RECEIVER_UNKNOWN" });
  }
  expect((await done(one.state())).seq).toBe(1);
});

describe("refused at definition, with the construct, the state and the replacement", () => {
  const promise = fromPromise(async () => 1);
  const inState = (config: object) => ({ initial: "a", states: { a: config } });
  const cases: [string, object, RegExp][] = [
    ["a callback actor", inState({ invoke: { src: fromCallback(() => {}) } }), /not a promise \(in state .*\.a\)/],
    [
      "a machine without a durable one",
      inState({ invoke: { src: createMachine({}) } }),
      /invokes a machine .*`actors`/,
    ],
    ["an actor without an implementation", inState({ invoke: { src: "load" } }), /"load" that is not implemented/],
    ["onSnapshot", inState({ invoke: { src: promise, onSnapshot: {} } }), /onSnapshot/],
    [
      "a spawn in the context",
      { context: ({ spawn }: { spawn: never }) => ({ spawn }) },
      /spawns an actor in its context/,
    ],
    [
      "a spawn in assign",
      inState({
        entry: assign({ kid: ({ spawn }: { spawn: (what: unknown) => unknown }) => spawn(promise) } as never),
      }),
      /spawns an actor in assign\(\) \(in state .*\.a\).*`invoke`/,
    ],
    [
      "enqueue.spawnChild",
      { entry: enqueueActions(({ enqueue }) => enqueue.spawnChild(promise as never)) },
      /spawnChild/,
    ],
    ["an inline function in enqueueActions", { entry: enqueueActions(({ enqueue }) => enqueue(() => {})) }, /inline/],
    [
      "an unknown name in enqueueActions",
      { entry: enqueueActions(({ enqueue }) => enqueue("mail" as never)) },
      /"mail" that is not implemented/,
    ],
    ["sendTo an unknown child", { entry: sendTo("kid", { type: "HI" }) }, /sends to "kid", which no state invokes/],
    ["forwardTo an unknown child", { entry: forwardTo("kid") }, /sends to "kid"/],
    ["a route", { initial: "a", states: { a: { id: "a", route: {} } } }, /has a route \(in state a\)/],
  ];
  for (const [name, config, message] of cases) {
    test(name, () => {
      expect(() => machine("m", createMachine(config as never) as never)).toThrow(message);
    });
  }

  test("misspelt options of machine() and of start()", async () => {
    const def = createMachine({ initial: "a", states: { a: {} } });
    expect(() => machine("m", def as never, { snapshotsEvery: 2 } as never)).toThrow(/snapshotsEvery is not an option/);
    expect(() => machine("m", def as never, { actors: { unused: {} } })).toThrow(/no state of the machine invokes it/);
    const program = machine("m", def as never);
    const { node, done } = await open([program]);
    await expect(done(node.start(program, undefined as never, { initial: "a" } as never))).rejects.toThrow(/initial/);
  });
});

test("matches, hasTag, can, getMeta and subscribe, as on an XState actor", async () => {
  const def = setup({ types: {} as { events: { type: "GO" } | { type: "STOP" } } }).createMachine({
    id: "light",
    initial: "work",
    states: {
      work: {
        initial: "a",
        tags: "busy",
        meta: { hint: "wait" },
        states: { a: { on: { GO: "b" } }, b: {} },
        on: { STOP: "end" },
      },
      end: { type: "final" },
    },
  });
  const program = machine("light", def);
  const { node, done } = await open([program]);
  const one = await done(node.start(program));
  expect(await done(one.matches("work"))).toBe(true);
  expect(await done(one.matches({ work: "b" }))).toBe(false);
  expect(await done(one.hasTag("busy"))).toBe(true);
  expect(await done(one.can({ type: "GO" }))).toBe(true);
  expect(await done(one.getMeta())).toEqual({ "light.work": { hint: "wait" } });
  const seen: unknown[] = [];
  one.subscribe(({ value }) => seen.push(value));
  await done(one.state());
  await done(one.send({ type: "GO" }));
  expect(await done(one.can({ type: "GO" }))).toBe(false);
  await done(one.send({ type: "STOP" }));
  await done(one.waitFor(({ status }) => status === "done"));
  expect(seen[0]).toEqual({ work: "a" });
  expect(seen.at(-1)).toBe("end");
});
