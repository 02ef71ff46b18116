// The bus: whatever listeners do, the emitter continues.

import { expect, test } from "vitest";
import { type Bus, createBus, type Telemetry } from "../../src/telemetry/bus.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

interface TeaEvents {
  "tea.poured": { readonly cups: number };
}
interface CakeEvents {
  "cake.cut": { readonly slices: number };
}

test("listeners get the facts and the time, until they unsubscribe", () => {
  const world = new VirtualWorld({ startAt: 5_000 });
  const bus = createBus<TeaEvents & CakeEvents>({ world });
  const seen: unknown[] = [];
  const off = bus.on("tea.poured", (event) => seen.push(event));
  bus.emit("tea.poured", { cups: 2 });
  bus.emit("cake.cut", { slices: 8 });
  world.block(7);
  bus.emit("tea.poured", { cups: 3 });
  off();
  off();
  bus.emit("tea.poured", { cups: 4 });
  expect(seen).toEqual([
    { cups: 2, at: 5_000 },
    { cups: 3, at: 5_007 },
  ]);
});

test("a bus of several parts serves each of them, and names and facts are checked by the compiler", () => {
  const both: Bus<TeaEvents & CakeEvents> = createBus();
  const tea: Telemetry<TeaEvents> = both;
  const listen: Bus<CakeEvents> = both;
  const slices: number[] = [];
  listen.on("cake.cut", ({ slices: n, at }) => slices.push(n, Math.sign(at)));
  tea.emit("tea.poured", { cups: 1 });
  both.emit("cake.cut", { slices: 6 });
  // @ts-expect-error: no such event in this part
  tea.emit("cake.cut", { slices: 6 });
  // @ts-expect-error: wrong facts
  tea.emit("tea.poured", { slices: 1 });
  expect(slices).toEqual([6, 1, 6, 1]);
});

test("a listener that throws, rejects or breaks the error hook disturbs neither the emitter nor the others", async () => {
  const reported: unknown[] = [];
  const bus = createBus<TeaEvents>({
    onListenerError: (error, name) => {
      reported.push([name, (error as Error).message]);
      throw new TypeError("the hook is broken, too");
    },
  });
  let heard = 0;
  bus.on("tea.poured", () => {
    throw new TypeError("sync");
  });
  bus.on("tea.poured", async () => {
    throw new TypeError("async");
  });
  bus.on("tea.poured", () => heard++);
  bus.emit("tea.poured", { cups: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toBe(1);
  expect(reported).toEqual([
    ["tea.poured", "sync"],
    ["tea.poured", "async"],
  ]);
  expect(bus.listenerErrors).toBe(2);
});

test("one function subscribed twice is called twice, and each subscription ends alone", () => {
  const bus = createBus<TeaEvents>();
  let heard = 0;
  const listener = () => heard++;
  const off = bus.on("tea.poured", listener);
  bus.on("tea.poured", listener);
  bus.emit("tea.poured", { cups: 1 });
  off();
  bus.emit("tea.poured", { cups: 1 });
  expect(heard).toBe(3);
});

test("subscribing or unsubscribing during an event affects the next one", () => {
  const bus = createBus<TeaEvents>();
  const heard: string[] = [];
  const off = bus.on("tea.poured", () => {
    heard.push("first");
    off();
    bus.on("tea.poured", () => heard.push("second"));
  });
  bus.emit("tea.poured", { cups: 1 });
  bus.emit("tea.poured", { cups: 1 });
  expect(heard).toEqual(["first", "second"]);
});
