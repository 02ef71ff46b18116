// A temporary server: nothing of it is left when it has stopped, wherever its data was stored.

import { existsSync } from "node:fs";
import { chmod, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { expect, test, vi } from "vitest";
import { EmbeddedFailed, startEmbedded } from "../../src/embedded/index.js";
import { startEmbedded as startWithInternals } from "../../src/embedded/start.js";
import { InvalidInput } from "../../src/kernel/error.js";
import { isAlive, isRoot, query, scratchFolder } from "./scratch.js";

test("it serves queries from a folder of its own, and stopping it removes the folder", async () => {
  const server = await startEmbedded({ temporary: true });
  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  const folder = dirname(server.dataDir);
  expect(dirname(folder)).toBe(tmpdir());
  await Promise.all([server.stop(), server.stop()]);
  expect(isAlive(server.pid)).toBe(false);
  expect(existsSync(folder)).toBe(false);
});

test.runIf(isRoot)("data stored in a fallback folder is removed there, too", async () => {
  const closed = await scratchFolder();
  await chmod(closed, 0o700);
  const refuge = await scratchFolder();
  vi.stubEnv("TMPDIR", closed);
  try {
    const server = await startWithInternals({ temporary: true, onNotice: () => {} }, { refuge });
    expect(dirname(server.dataDir)).toBe(refuge);
    await server.stop();
    expect(existsSync(server.dataDir)).toBe(false);
    expect(await readdir(closed)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("a start that fails leaves nothing", async () => {
  const folder = await scratchFolder();
  vi.stubEnv("TMPDIR", folder);
  try {
    const settings = { shared_buffers: "a lot" };
    await expect(startEmbedded({ temporary: true, settings })).rejects.toThrow(EmbeddedFailed);
    expect(await readdir(folder)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test("a temporary server rejects a folder option", async () => {
  await expect(startEmbedded({ temporary: true, dataDir: "somewhere" })).rejects.toThrow(InvalidInput);
});
