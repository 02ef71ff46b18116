// The keys of `holdfast dev`: a verb, then the letter of a node; quickly typed ones arrive together.

import { beforeEach, expect, test } from "vitest";
import type { Supervisor } from "../../src/admin/supervisor.js";
import { keyHandler } from "../../src/cli/dev/keys.js";
import { keysIn } from "../../src/cli/text/terminal.js";

const asked: (string | null)[] = [];
const done: string[] = [];
const nodes = ["a", "b", "c"].map((letter) => ({ name: `node-${letter}`, incarnation: `i-${letter}`, state: "up" }));
const verb = (name: string) => (incarnation: string) => done.push(`${name} ${incarnation}`);
const supervisor = {
  state: () => ({ nodes, problem: null }),
  kill: verb("kill"),
  freeze: verb("freeze"),
  restart: verb("restart"),
} as unknown as Supervisor;
const view = { ask: (text: string | null) => asked.push(text) } as never;

const handler = () =>
  keyHandler({ view, supervisor: () => supervisor, dashboard: () => null, quit: () => done.push("quit") });
const type = (...chunks: readonly string[]) => chunks.flatMap(keysIn).forEach(handler());

beforeEach(() => {
  asked.length = 0;
  done.length = 0;
});

test("a verb asks which node, and its letter answers", () => {
  type("k", "b");
  expect(asked).toEqual(["kill which node? a b c", null]);
  expect(done).toEqual(["kill i-b"]);
});

test("keys that arrive together are keys one after the other", () => {
  type("fa", "rcq");
  expect(done).toEqual(["freeze i-a", "restart i-c", "quit"]);
});

test("another key takes the question back; an arrow is no letter", () => {
  type("k", "x", "b", "\x1b[A", "\x1bOq");
  expect(done).toEqual([]);
  type("\x03");
  expect(done).toEqual(["quit"]);
});
