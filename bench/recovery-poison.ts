// A run that kills its process, next to innocent ones, under a supervisor that starts every process again.

import { setTimeout as pass } from "node:timers/promises";
import { Fleet } from "./recovery-fleet.js";
import type { Say } from "./recovery-kills.js";
import { programs } from "./recovery-programs.js";

const INNOCENTS = 9;
/** Longer than the poison needs: an innocent run makes no progress between two crashes. */
const WORK_MS = 2_000;
const RESTART_MS = 500;
const LIMIT_MS = 90_000;

export interface Poisoned {
  readonly innocentsDead: number;
  readonly innocentsCompleted: number;
  readonly poisonDead: number;
  readonly crashes: number;
}

/** On `nodes` processes that keep their identity over restarts, as a supervisor's slots do. */
export async function poisonBesideInnocents(url: string, nodes: number, say: Say): Promise<Poisoned> {
  await using fleet = await Fleet.open(url);
  let over = false;
  let crashes = 0;
  const supervise = async (identity: string): Promise<void> => {
    while (!over) {
      const child = await fleet.spawn({ identity: { id: identity } });
      while (!over && child.exitCode === null && child.signalCode === null) await pass(20);
      if (!over) crashes++;
      if (!over) await pass(RESTART_MS);
    }
  };
  await fleet.client.start(programs.poison, undefined);
  await fleet.client.startMany(
    programs.innocent,
    Array.from({ length: INNOCENTS }, () => ({ input: WORK_MS })),
  );
  const supervised = Array.from({ length: nodes }, (_, i) => supervise(`slot-${i}`));
  const until = performance.now() + LIMIT_MS;
  const ended = async () => {
    const innocents = await fleet.states("innocent");
    const poison = await fleet.states("poison");
    const dead = innocents["dead"] ?? 0;
    const completed = innocents["completed"] ?? 0;
    return { innocentsDead: dead, innocentsCompleted: completed, poisonDead: poison["dead"] ?? 0 };
  };
  let seen = await ended();
  while (performance.now() < until && seen.innocentsDead + seen.innocentsCompleted + seen.poisonDead <= INNOCENTS) {
    await pass(200);
    seen = await ended();
  }
  over = true;
  for (const child of fleet.alive) child.kill("SIGKILL");
  await Promise.all(supervised);
  const report = { ...seen, crashes };
  say(`poison on ${nodes} node${nodes > 1 ? "s" : ""}: ${JSON.stringify(report)}`);
  return report;
}

export const poisonHarmless = ({ innocentsDead, innocentsCompleted, poisonDead }: Poisoned): boolean =>
  innocentsDead === 0 && innocentsCompleted === INNOCENTS && poisonDead === 1;
