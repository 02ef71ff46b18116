// Start, run, kill, recover, stop: the same story with every way to run the application.

import { equal } from "node:assert/strict";
import { type Place, type Surroundings, Watched } from "../place.js";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
}

/** A process is killed between two steps; the next one continues, does no step twice and ends by SIGTERM with code 0. */
export async function killAndRecover(place: Place, { program, args, cwd }: Command): Promise<object> {
  const env = { DATABASE_URL: await place.newDatabase(), SCHEMA: "holdfast", HOLDFAST_LOG: "off" };
  const start = (more: Record<string, string>) => {
    const surroundings: Surroundings = { env: { ...env, ...more }, ...(cwd !== undefined && { cwd }) };
    return new Watched(program, args, surroundings);
  };
  const first = start({ HOLD: "yes" });
  await first.line("ship");
  equal(await first.end("SIGKILL"), "SIGKILL");

  const killedAt = performance.now();
  const second = start({ STAY: "yes" });
  equal(await second.line("result"), "result charged o-1, shipped");
  const recoveredMs = Math.round(performance.now() - killedAt);
  equal(first.lines.filter((line) => line === "charge").length, 1);
  equal(second.lines.filter((line) => line === "charge").length, 0);
  equal(second.lines.filter((line) => line === "ship").length, 1);
  equal(await second.end("SIGTERM"), 0);
  return { recoveredMs };
}
