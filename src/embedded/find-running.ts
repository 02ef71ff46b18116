// Finds a running server of a folder, and whether it still has an owner.

import { sleep, type World } from "../kernel/world.js";
import { answers, urlOf } from "./answers.js";
import { EmbeddedFailed } from "./error.js";
import { readOwner } from "./owner-file.js";
import type { Place } from "./place.js";
import { type Postmaster, readPostmaster } from "./postmaster-file.js";
import { isSameProcess } from "./process-life.js";
import { isGoneWithin } from "./shut-down.js";

const POLL_MS = 10;
const SETTLE_TIMEOUT_MS = 60_000;
/** How long a server whose starter died may take to stop before it counts as an orphan. */
const FOLLOW_MS = 1_000;

export interface Running {
  readonly postmaster: Postmaster;
  /** Its starter is dead and it was not detached: the process that finds it takes it over. */
  readonly orphan: boolean;
}

/** Waits for a server that is starting, recovering or stopping to settle. Null when there is none to use. */
export async function findRunning(world: World, place: Place): Promise<Running | null> {
  const giveUpAt = world.monotonicNow() + SETTLE_TIMEOUT_MS;
  let followed = false;
  for (;;) {
    const postmaster = await readPostmaster(place.data);
    if (postmaster === null) return null;
    const owner = await readOwner(place.owner);
    const orphan = owner === null || (!owner.detached && !isSameProcess(owner.starter));
    if (orphan && !followed) {
      // It is about to be stopped; returning it now would return a dying server.
      followed = true;
      if (await isGoneWithin(world, postmaster.life, FOLLOW_MS)) return null;
      continue;
    }
    if (postmaster.status === "ready" && (await answers(await urlOf(place, postmaster.port)))) {
      return { postmaster, orphan };
    }
    if (world.monotonicNow() > giveUpAt) {
      const { life, status } = postmaster;
      throw new EmbeddedFailed(`Process ${life.pid} serves ${place.folder} but does not answer (${status})`);
    }
    await sleep(world, POLL_MS);
  }
}
