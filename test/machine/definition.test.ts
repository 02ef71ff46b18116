// What machine() refuses, and what it draws.

import { describe, expect, test } from "vitest";
import { assign, createMachine, emit, enqueueActions, fromPromise, log, setup, spawnChild } from "xstate";
import { machine } from "../../src/machine/index.js";
import { escapeLabel } from "../../src/machine/mermaid.js";
import { redact } from "../../src/machine/redact.js";
import { renameValue } from "../../src/machine/rename-states.js";

const refusal = (definition: never) => {
  try {
    machine("m", definition);
  } catch (error) {
    return (error as Error).message;
  }
  return null;
};

describe("rejected at definition, with what to use instead", () => {
  const actor = fromPromise(async () => 1);
  const cases: [string, object, RegExp][] = [
    ["an inline entry action", { entry: () => {} }, /inline action/],
    ["an inline action of a transition", { on: { GO: { actions: function note() {} } } }, /inline action "note"/],
    [
      "an inline action of an initial transition",
      { initial: { target: "a", actions: () => {} }, states: { a: {} } },
      /inline/,
    ],
    [
      "an inline action of always",
      { initial: "a", states: { a: { always: { target: "b", actions: () => {} } }, b: {} } },
      /inline/,
    ],
    [
      "an inline action after a delay",
      { initial: "a", states: { a: { after: { 10: { actions: () => {} } } } } },
      /inline/,
    ],
    ["a spawned actor", { entry: spawnChild(actor) }, /spawnChild/],
    ["a name without an implementation", { entry: "mail" }, /names an action "mail"/],
  ];
  for (const [name, config, message] of cases) {
    test(name, () => {
      const said = refusal(createMachine(config as never) as never);
      expect(said).toMatch(message);
      expect(said).toContain("`effects`");
    });
  }

  test("assign, raise, emit, log and enqueueActions are not effects", () => {
    const definition = createMachine({
      context: { n: 0 },
      entry: [
        assign({ n: 1 }),
        emit({ type: "x" }),
        log("hello"),
        enqueueActions(({ enqueue }) => enqueue.assign({ n: 2 })),
      ],
    } as never);
    const made = machine("m", definition as never);
    expect([...made.effects.keys()]).toEqual([]);
    const { orders } = made.logic.begin(undefined);
    expect(orders.map(({ kind }) => kind)).toEqual(["entered", "emit", "log"]);
  });

  test("an action of the machine's own that talks to an actor, unless `effects` replaces it", () => {
    type Args = { self: { send(event: object): void }; system: { get(id: string): unknown } };
    const cases: [unknown, string][] = [
      [({ self }: Args) => self.send({ type: "X" }), "self"],
      [async (args: Args) => args.system.get("x"), "system"],
      [
        function note(args: Args) {
          return args.self;
        },
        "self",
      ],
    ];
    for (const [note, used] of cases) {
      const definition = createMachine({ entry: "note" } as never).provide({ actions: { note } } as never);
      expect(refusal(definition as never)).toMatch(new RegExp(`action "note" that uses \`${used}\`.*\`effects\``));
      expect(machine("m", definition as never, { effects: { note: () => {} } } as never).effects.size).toBe(1);
    }
    const other = { self: 1 };
    const fine = (args: { context: unknown }) => [args.context, other.self];
    const definition = createMachine({ entry: "note" } as never).provide({ actions: { note: fine } } as never);
    expect(refusal(definition as never)).toBe(null);
  });

  test("an inline action enqueued by enqueueActions is rejected when it occurs", () => {
    const hidden = () => {};
    const made = machine("m", createMachine({ entry: enqueueActions(({ enqueue }) => enqueue(hidden)) }) as never);
    expect(() => made.logic.begin(undefined)).toThrow(/inline action/);
  });

  test("an actor spawned by assign is rejected when it occurs", () => {
    const spawning = createMachine({
      context: ({ spawn }: { spawn: (logic: never) => unknown }) => ({ child: spawn(actor as never) }),
    } as never);
    expect(() => machine("m", spawning as never).logic.begin(undefined)).toThrow(/spawns an actor/);
  });

  test("invalid options", () => {
    const definition = setup({}).createMachine({ initial: "a", states: { a: {} } });
    expect(() => machine("m", definition, { renamed: { a: "a" } })).toThrow(/is a state of this definition/);
    expect(() => machine("m", definition, { renamed: { old: "b" } })).toThrow(/no state "b"/);
    expect(() => machine("m", definition, { snapshotEvery: 0 })).toThrow(/at least 1/);
    expect(() => machine("m", definition, { locking: "none" as never })).toThrow(/optimistic, lease/);
    expect(() => machine("m", definition, { redact: ["ctx.email" as never] })).toThrow(/begins with one of context/);
    expect(() => machine("m", definition, { redact: ["context" as never] })).toThrow(/redact\[0\]/);
    expect(() => machine("no name", definition)).toThrow(/machine name/);
  });
});

describe("a diagram", () => {
  test("shows states, events, guards and delays, and where an instance was and is", () => {
    const definition = setup({ guards: { paid: () => true } }).createMachine({
      initial: "pending",
      states: {
        pending: { after: { 1800000: "expired" }, on: { PAY: { guard: "paid", target: "work" }, NOTE: {} } },
        work: { type: "parallel", states: { left: { initial: "a", states: { a: {} } }, right: {} } },
        expired: { type: "final" },
      },
    });
    const trace = { visited: ["pending"], current: { work: { left: "a", right: {} } } };
    expect(machine("m", definition).toMermaid({ trace })).toBe(`stateDiagram-v2
  [*] --> s1
  state "pending" as s1
  s1 --> s2: PAY #91;paid#93;
  s1 --> s1: NOTE #40;stays#41;
  s1 --> s6: after 30m
  state "work" as s2
  state s2 {
    state "left" as s3
    state s3 {
      [*] --> s4
      state "a" as s4
    }
    --
    state "right" as s5
  }
  state "expired" as s6
  s6 --> [*]
  classDef visited fill:#add8e6
  classDef current fill:#90ee90
  class s1 visited
  class s2 current
  class s3 current
  class s4 current
  class s5 current
`);
  });

  test("labels are escaped once, whatever is in them", () => {
    expect(escapeLabel('a#b;c:"<>\n{}')).toBe("a#35;b#59;c#58;#34;#60;#62; #123;#125;");
    expect(escapeLabel("--> [*]")).toBe("#45;#45;#62; #91;*#93;");
  });
});

test("redacted fields are not shown, wherever they are", () => {
  const value = { card: { number: "4111", name: "Ann" }, items: [{ secret: 1 }, { secret: 2 }] };
  expect(redact(value, "event", ["event.card.number", "event.items.*.secret", "context.card"])).toEqual({
    card: { number: "[redacted]", name: "Ann" },
    items: [{ secret: "[redacted]" }, { secret: "[redacted]" }],
  });
  expect(value.card.number).toBe("4111");
});

test("state values are renamed by path", () => {
  expect(renameValue({ a: "x.y" }, "a")).toEqual({ x: "y" });
  expect(renameValue({ "p.l": "p.left" }, { p: { l: "1", r: "2" } })).toEqual({ p: { left: "1", r: "2" } });
});
