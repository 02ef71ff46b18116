// Several processes on one folder, and what a process that dies at a bad moment leaves behind.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startEmbedded } from "../../src/embedded/index.js";
import { startChild } from "./child.js";
import { initialisedDataDir, isAlive, query, scratchDataDir, serverProcesses, until } from "./scratch.js";

test("three processes starting together share one server, and one of them has started it", async () => {
  const dataDir = await scratchDataDir();
  const children = [1, 2, 3].map(() => startChild({ options: { dataDir } }));
  const started = await Promise.all(children.map((child) => child.started));
  expect(new Set(started.map((one) => one.pid)).size).toBe(1);
  expect(started.filter((one) => !one.reused)).toHaveLength(1);
  const starter = started.findIndex((one) => !one.reused);
  for (const [index, child] of children.entries()) if (index !== starter) await child.tell("stop");
  expect(await query(started[starter]!.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await children[starter]!.tell("stop");
  expect(serverProcesses(dataDir)).toEqual([]);
});

test("a killed starter takes its server along, and the next start has every committed row", async () => {
  const dataDir = await initialisedDataDir();
  const child = startChild({ options: { dataDir } });
  const { url, pid } = await child.started;
  await query(url, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS answer");
  await child.signal("SIGKILL");
  await using next = await startEmbedded({ dataDir });
  expect(next.pid).not.toBe(pid);
  expect(next).toMatchObject({ reused: false, url });
  expect(await query(next.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
});

test("a detached server outlives its killed starter and is found again", async () => {
  const dataDir = await initialisedDataDir();
  const child = startChild({ options: { dataDir, detached: true } });
  const { url, pid } = await child.started;
  await child.signal("SIGKILL");
  const next = await startEmbedded({ dataDir });
  expect(next).toMatchObject({ pid, url, reused: true });
  await next.stop();
  expect(isAlive(pid)).toBe(true);
});

test.each(["SIGINT", "SIGTERM"] as const)("a starter ended by %s leaves no server behind", async (signal) => {
  const dataDir = await initialisedDataDir();
  const child = startChild({ options: { dataDir } });
  await child.started;
  await child.signal(signal);
  await until("the server followed", () => serverProcesses(dataDir).length === 0);
});

test("a starter that exits without stop leaves no server behind", async () => {
  const dataDir = await initialisedDataDir();
  const child = startChild({ options: { dataDir } });
  await child.started;
  await child.tell("exit");
  await until("the server followed", () => serverProcesses(dataDir).length === 0);
});

test("an orphan server whose watch was killed, too, is adopted by the next start and stopped with it", async () => {
  const dataDir = await initialisedDataDir();
  const child = startChild({ options: { dataDir } });
  const { pid } = await child.started;
  for (const watch of watchesOf(pid)) process.kill(watch, "SIGKILL");
  await child.signal("SIGKILL");
  const next = await startEmbedded({ dataDir });
  expect(next).toMatchObject({ pid, reused: false });
  await next.stop();
  expect(serverProcesses(dataDir)).toEqual([]);
});

test("after a kill in the middle of initdb, the next start initialises from scratch", async () => {
  const dataDir = await scratchDataDir();
  const child = startChild({ options: { dataDir } });
  await until("initdb is at work", () => drafts(dataDir).some((name) => existsSync(join(dataDir, name, "data/base"))));
  await child.signal("SIGKILL");
  expect(existsSync(join(dataDir, "cluster"))).toBe(false);
  await using next = await startEmbedded({ dataDir });
  expect(await query(next.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(drafts(dataDir)).toEqual([]);
});

test.each([
  { killAt: "embedded:initialised", folder: scratchDataDir },
  { killAt: "embedded:launching", folder: initialisedDataDir },
  { killAt: "embedded:port-chosen", folder: initialisedDataDir },
])("killed at $killAt, the next start works", async ({ killAt, folder }) => {
  const dataDir = await folder();
  await startChild({ options: { dataDir }, killAt }).ended;
  await using next = await startEmbedded({ dataDir });
  expect(await query(next.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(drafts(dataDir)).toEqual([]);
});

test("a server that was killed recovers, even when its pid now belongs to another process", async () => {
  const dataDir = await initialisedDataDir();
  const first = await startEmbedded({ dataDir });
  await query(first.url, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS answer");
  const file = join(dataDir, "cluster", "data", "postmaster.pid");
  const content = await readFile(file, "utf8");
  process.kill(first.pid, "SIGKILL");
  await until("its backends are gone", () => serverProcesses(dataDir).length === 0);
  await writeFile(file, content.replace(/^\d+/, String(process.pid)));
  await using next = await startEmbedded({ dataDir });
  expect(await query(next.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
});

test.each([
  { holder: "a dead process", lock: JSON.stringify({ pid: 2 ** 22 + 1, birth: "boot:1", token: "left" }) },
  {
    holder: "an earlier process with our pid",
    lock: JSON.stringify({ pid: process.pid, birth: "boot:1", token: "left" }),
  },
  { holder: "a power failure", lock: "" },
])("a lock left by $holder is taken over", async ({ lock }) => {
  const dataDir = await initialisedDataDir();
  await writeFile(join(dataDir, "lock"), lock);
  if (lock === "") {
    await writeFile(join(dataDir, "owner.json"), "");
    await writeFile(join(dataDir, "cluster", "data", "postmaster.pid"), "");
  }
  await using server = await startEmbedded({ dataDir });
  expect(server.reused).toBe(false);
  expect(readdirSync(dataDir).filter((name) => name.startsWith("lock"))).toEqual([]);
});

test("a folder reached through a symbolic link is the same folder", async () => {
  const dataDir = await initialisedDataDir();
  const other = join(dataDir, "..", "other");
  await symlink("postgres", other);
  await using first = await startEmbedded({ dataDir: other });
  expect(await startEmbedded({ dataDir })).toMatchObject({ pid: first.pid, reused: true });
});

function drafts(dataDir: string): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => name.startsWith("cluster.new-")) : [];
}

/** The shells that wait for a starter's end. */
function watchesOf(serverPid: number): number[] {
  const lines = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line.includes(`holdfast-watch ${serverPid} `)).map((line) => Number.parseInt(line, 10));
}
