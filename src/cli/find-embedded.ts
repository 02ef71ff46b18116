// Finds the running embedded server of a folder; starts and creates nothing.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { urlOf } from "../embedded/answers.js";
import { choosePlace, defaultRefuge } from "../embedded/place.js";
import { readPostmaster } from "../embedded/postmaster-file.js";

export const EMBEDDED_FOLDER = join(".holdfast", "postgres");

/** Also finds a server that is still starting: the store tries again until it answers. */
export async function findEmbedded(cwd: string): Promise<string | null> {
  const dataDir = join(cwd, EMBEDDED_FOLDER);
  // Choosing a place creates the folder if it does not exist.
  if (!existsSync(dataDir)) return null;
  try {
    const place = await choosePlace({ dataDir, refuge: defaultRefuge(), onNotice: () => {} });
    const postmaster = await readPostmaster(place.data);
    return postmaster && (await urlOf(place, postmaster.port));
  } catch {
    // Another user's folder must not be used.
    return null;
  }
}
