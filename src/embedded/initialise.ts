// Creates a new cluster: in a draft folder, then renamed into place, so that a killed initdb leaves nothing that looks
// complete.

import { existsSync } from "node:fs";
import { chmod, chown, mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { World } from "../kernel/world.js";
import { EmbeddedFailed } from "./error.js";
import type { Place } from "./place.js";
import { runProgram } from "./run-program.js";
import type { UsableBinaries } from "./usable-binaries.js";

export const SUPERUSER = "postgres";

export async function initialise(world: World, place: Place, binaries: UsableBinaries): Promise<void> {
  if (existsSync(place.cluster)) return;
  await removeDrafts(place);
  const token = world.token();
  const draft = `${place.cluster}.new-${token}`;
  const data = join(draft, "data");
  await mkdir(draft, { mode: 0o700 });
  await mkdir(data, { mode: 0o700 });
  const password = `${world.token()}${world.token()}`.replaceAll("-", "");
  await writeFile(join(draft, "password"), password, { mode: 0o600, flush: true });

  // initdb reads the password under the server's account, which must not be able to read ours.
  const handover = join(draft, "handover");
  await writeFile(handover, password, { mode: 0o600 });
  if (place.account !== null) {
    await chmod(draft, 0o711);
    for (const path of [data, handover]) await chown(path, place.account.uid, place.account.gid);
  }
  const outcome = await runProgram(binaries.initdb, initdbArgs(data, handover), {
    account: place.account,
    cwd: place.folder,
    env: binaries.env,
  });
  if (outcome.code !== 0) {
    await rm(draft, { recursive: true, force: true });
    throw new EmbeddedFailed(`initdb could not create a cluster in ${place.folder}`, { log: outcome.output });
  }
  await rm(handover);
  await world.faultPoint("embedded:initialised");
  await rename(draft, place.cluster);
  await syncFolder(place.folder);
}

function initdbArgs(data: string, passwordFile: string): string[] {
  return [
    `--pgdata=${data}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    // Not trust: every local user could connect.
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    // Sorts by code point, knows Unicode's upper and lower case, and is the same on every machine.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
  ];
}

/**
 * Removes what a killed initdb left. If one is still running and writing there, it fails and cleans up after itself.
 */
async function removeDrafts(place: Place): Promise<void> {
  const prefix = `${basename(place.cluster)}.new-`;
  for (const name of await readdir(place.folder)) {
    if (!name.startsWith(prefix)) continue;
    await rm(join(dirname(place.cluster), name), { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  }
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
