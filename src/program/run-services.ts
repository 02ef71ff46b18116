// Creates the services of one run. A function that throws is tried again, as a step would be.

import { attemptsLeft, retryDelayMs, retryPolicy, spread } from "../kernel/run/retry.js";
import { sleep, type World } from "../kernel/world.js";
import { PermanentError } from "../replay/step-error.js";
import { isStoreTrouble } from "../store/contract/trouble.js";
import type { RunOfServices, Services } from "./environment.js";

/** What a node was given: the services, or how to create them for a run. */
export type ServicesOption = Services | ((run: RunOfServices) => Services | Promise<Services>);

/** As of a step without options. */
const POLICY = retryPolicy(undefined);

/** The attempts are not recorded: nothing of the run has begun, and the next holder may find the cause gone. */
export function servicesMaker(
  services: ServicesOption | undefined,
  world: World,
): (run: RunOfServices) => Services | Promise<Services> {
  if (typeof services !== "function") return () => ({ ...services });
  return async (run) => {
    for (let failures = 1; ; failures++) {
      try {
        return { ...(await services(run)) };
      } catch (error) {
        // Trouble of the store is handled by the session.
        const isLast = error instanceof PermanentError || attemptsLeft(POLICY, failures) <= 0;
        if (isLast || isStoreTrouble(error)) throw error;
        await sleep(
          world,
          retryDelayMs(POLICY, failures, () => spread(`${run.runId}:${failures}`)),
        );
      }
    }
  };
}
