// Finds the embedded server of a folder if one is running; starts and makes nothing.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { urlOf } from "../embedded/answers.js";
import { choosePlace, defaultRefuge } from "../embedded/place.js";
import { readPostmaster } from "../embedded/postmaster-file.js";

export const EMBEDDED_FOLDER = join(".holdfast", "postgres");

/** One that is still starting is found too: the store tries again until it answers. */
export async function findEmbedded(cwd: string): Promise<string | null> {
  const dataDir = join(cwd, EMBEDDED_FOLDER);
  // Choosing a place makes the folder when it is not there.
  if (!existsSync(dataDir)) return null;
  try {
    const place = await choosePlace({ dataDir, refuge: defaultRefuge(), onNotice: () => {} });
    const postmaster = await readPostmaster(place.data);
    return postmaster && (await urlOf(place, postmaster.port));
  } catch {
    // Another user's folder: not ours to use.
    return null;
  }
}
