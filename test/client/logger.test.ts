// A logger gets every event of its node once, at the right level, with the node's identity.

import { expect, test } from "vitest";
import type { Logger } from "../../src/kernel/logger.js";
import { createNode } from "../../src/node/create-node.js";
import type { NodeEvents } from "../../src/node/node-events.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { createBus } from "../../src/telemetry/bus.js";
import { workflow } from "../../src/workflow/workflow.js";

const hello = workflow("hello", async () => "hello");

function recorder() {
  const lines: { level: string; message: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const at = (level: string) => (message: string, fields: Readonly<Record<string, unknown>>) => {
    lines.push({ level, message, fields });
  };
  const logger: Logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { lines, logger };
}

test("the life of a node and of a run is logged, with the node's identity, name and incarnation", async () => {
  const { lines, logger } = recorder();
  const node = await createNode({ store: memoryStore(), programs: [hello], identity: { id: "i", name: "n" }, logger });
  const run = await node.start(hello);
  await run.result({ timeout: "5s" });
  await node.stop();
  expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "info node.started",
    "debug run.claimed",
    "debug run.settled",
    "info node.stopping",
    "info node.stopped",
  ]);
  for (const { fields } of lines) {
    expect(fields["node"]).toEqual({ identity: "i", name: "n", incarnation: node.incarnation });
  }
  expect(lines[0]?.fields).toMatchObject({ serves: [{ program: "hello" }] });
  expect(lines[2]?.fields).toMatchObject({ runId: run.id, program: "hello", epoch: 1, as: "completed" });
});

test("two nodes on one bus are distinguished, and a logger that throws disturbs nothing", async () => {
  const bus = createBus<NodeEvents>();
  const told: string[] = [];
  bus.on("node.started", ({ node }) => told.push(node.name));
  const broken = () => {
    throw new TypeError("the disk is full");
  };
  const logger: Logger = { debug: broken, info: broken, warn: broken, error: broken };
  const store = memoryStore();
  await using one = await createNode({ store, programs: [hello], identity: { name: "one" }, bus, logger });
  await using two = await createNode({ store, programs: [], identity: { name: "two" }, bus });
  expect(told).toEqual(["one", "two"]);
  expect(await (await two.start(hello)).result({ timeout: "5s" })).toBe("hello");
  expect(one.active).toBe(0);
});

test("failures are logged as warnings", async () => {
  const { lines, logger } = recorder();
  const store = memoryStore();
  const away: Store = {
    ...store,
    housekeep: async () => Promise.reject(new TypeError("away")),
    runs: { ...store.runs, claim: async () => Promise.reject(new TypeError("away")) },
  };
  const node = await createNode({
    store: away,
    programs: [hello],
    logger,
    timing: { housekeeping: 20, pollInterval: 20 },
  });
  await expect
    .poll(() => new Set(lines.filter(({ level }) => level === "warn").map(({ message }) => message)))
    .toEqual(new Set(["housekeeping.failed", "claim.failed"]));
  await node.stop();
});

test("a logger that rejects disturbs nothing: no unhandled rejection ends the process", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on("unhandledRejection", note);
  const reject = async () => Promise.reject(new Error("disk full"));
  const logger: Logger = { debug: reject, info: reject, warn: reject, error: reject };
  const node = await createNode({ store: memoryStore(), programs: [hello], logger });
  expect(await (await node.start(hello)).result({ timeout: "5s" })).toBe("hello");
  await node.stop();
  expect(unhandled).toEqual([]);
  process.off("unhandledRejection", note);
});
