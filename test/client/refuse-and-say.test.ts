// What is wrong is refused or reported at once: names, options, addresses, starts that no node takes.

import net from "node:net";
import { expect, test, vi } from "vitest";
import { createClient } from "../../src/client/create-client.js";
import { ResultTimeout } from "../../src/client/run-handle.js";
import { HoldfastError, InvalidInput } from "../../src/kernel/error.js";
import type { Logger } from "../../src/kernel/logger.js";
import { loggerOf, stderrLogger } from "../../src/kernel/stderr-logger.js";
import { createNode } from "../../src/node/create-node.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { migrationSql, postgres, StoreUnavailable } from "../../src/store/postgres/index.js";
import { workflow } from "../../src/workflow/workflow.js";

const hello = workflow("hello", async () => "hello");

function recorder() {
  const lines: { message: string; fields: Readonly<Record<string, unknown>>; at: number }[] = [];
  const add = (message: string, fields: Readonly<Record<string, unknown>>) => {
    lines.push({ message, fields, at: performance.now() });
  };
  const logger: Logger = { debug: () => {}, info: () => {}, warn: add, error: add };
  return { lines, logger };
}

test("two programs of one name are refused; the same one twice, and two versions, are not", async () => {
  const store = memoryStore();
  const other = workflow("hello", async () => "other");
  await expect(createNode({ store, programs: [hello, other] })).rejects.toThrow(/two programs are named "hello"/);
  const pinned = workflow("hello", { version: "2" }, async () => "two");
  const node = await createNode({ store, programs: [hello, hello, pinned] });
  await node.stop();
});

test("an address that is not set and unknown options are refused", () => {
  for (const source of [undefined, "", null, 5]) {
    expect(() => postgres(source as never)).toThrow(/postgres\(url\): must be the URL of a database, or a pg.Pool/);
  }
  expect(() => postgres(undefined as never)).toThrow(/DATABASE_URL/);
  expect(() => postgres("postgres://localhost/x", { pool: 3 } as never)).toThrow(/pool: no such option; .*connections/);
  expect(() => postgres("postgres://localhost/x", { retention: { done: "1d" } } as never)).toThrow(/retention.done/);
  expect(() => memoryStore({ retention: { audit: "1d" } })).toThrow(/at least 30 days/);
  expect(() => createClient({ store: memoryStore(), environment: "x" } as never)).toThrow(InvalidInput);
});

test("a start that no live node takes is reported at once, and in the timeout of its result", async () => {
  const { lines, logger } = recorder();
  const store = memoryStore();
  const client = createClient({ store, logger });
  const run = await client.start(hello);
  await client.start(hello);
  await vi.waitFor(() => expect(lines.length).toBe(1), 20_000);
  expect(lines[0]).toMatchObject({ message: "run.unserved", fields: { runId: run.id, program: "hello" } });
  const timeout = await run.result({ timeout: 20 }).catch((error: unknown) => error);
  expect(timeout).toBeInstanceOf(ResultTimeout);
  expect((timeout as Error).message).toContain('no live node has the program "hello"');
  const parent = workflow("parent", (ctx) =>
    ctx.child(
      workflow("nowhere", async () => 1),
      undefined,
    ),
  );
  const node = await createNode({ store, programs: [hello, parent], logger });
  await node.start(parent);
  await vi.waitFor(() => expect(lines.map(({ fields }) => fields["program"])).toContain("nowhere"), 20_000);
  expect(await run.result({ timeout: "5s" })).toBe("hello");
  await node.stop();
});

test("a failed run is a warning of the default logger, and one option turns it off", async () => {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    const broken = workflow("broken", async () => {
      throw new TypeError("no such template");
    });
    for (const logger of [stderrLogger, false] as const) {
      await using node = await createNode({ store: memoryStore(), programs: [broken], logger });
      const run = await node.start(broken);
      await run.result({ timeout: "5s" }).catch(() => {});
      await node.stop();
    }
    const lines = written.mock.calls.map(([text]) => String(text)).filter((text) => text.startsWith("holdfast "));
    expect(lines.length).toBe(1);
    expect(lines[0]).toMatch(/^holdfast warn run\.settled .*program=broken .*as=failed .*error=TypeError/);
    expect(loggerOf(undefined, {})).toBe(stderrLogger);
    expect(loggerOf(undefined, { HOLDFAST_LOG: "off" })).toBe(null);
  } finally {
    written.mockRestore();
  }
});

test("an unreachable database is reported within a second and fails within about five, without the password", async () => {
  const { lines, logger } = recorder();
  const silent = net.createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as net.AddressInfo;
  const startedAt = performance.now();
  const tries = [port, 1].map(async (at) => {
    const store = postgres(`postgres://ann:s3cret@127.0.0.1:${at}/x`, { logger });
    const error = await store.checkSchema().catch((thrown: unknown) => thrown);
    const ms = performance.now() - startedAt;
    await store.close();
    return { error, ms, at };
  });
  for (const { error, ms, at } of await Promise.all(tries)) {
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error).toMatchObject({ sent: false });
    expect((error as Error).message).toContain(`127.0.0.1:${at} could not be reached`);
    expect((error as Error).message).toContain("Nothing was sent");
    expect(JSON.stringify(error)).not.toContain("s3cret");
    expect(ms).toBeGreaterThan(3_000);
    expect(ms).toBeLessThan(8_000);
  }
  silent.close();
  expect(lines.map(({ message }) => message)).toEqual(["database.unreachable", "database.unreachable"]);
  for (const { fields, at } of lines) {
    expect(at - startedAt).toBeLessThan(1_500);
    expect(fields["database"]).toMatch(/^127\.0\.0\.1:\d+$/);
  }
});

test("errors serialise with what to do next, and without passwords", () => {
  class Odd extends HoldfastError {
    readonly code = "ODD";
  }
  const cause = Object.assign(new Error("connect postgres://u:p@ss@db:5432/x failed"), { code: "ECONNREFUSED" });
  expect(JSON.parse(JSON.stringify(new Odd("It broke. Repeat the call.", { cause })))).toEqual({
    name: "Odd",
    code: "ODD",
    message: "It broke. Repeat the call.",
    next: "Repeat the call.",
    cause: { name: "Error", code: "ECONNREFUSED", message: "connect postgres://…@db:5432/x failed" },
  });
  expect(new Odd("It broke").toJSON().next).toBe(null);
});

test("migrations are printed without a transaction of their own, and from a version", () => {
  const plain = migrationSql("mine", { transaction: false });
  expect(plain).not.toMatch(/^(begin|commit);$/m);
  expect(migrationSql("mine")).toBe(`begin;\n${plain}commit;\n`);
  expect(migrationSql("mine", { from: 1 })).toMatch(/^-- Nothing to do/);
  expect(() => migrationSql("mine", { from: 99 })).toThrow(InvalidInput);
});
