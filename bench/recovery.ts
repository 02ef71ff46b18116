// `npm run bench -- recovery`: what it costs when processes die, connections flap, the database restarts, a run is poison, or code is
// rolled, all at default settings. Each figure has the limit it is judged by.

import { median } from "./measure.js";
import { aYoungNode, largestShare, oneOfSeveral, theOnlyNode, underFlapping } from "./recovery-kills.js";
import { takenFromLiveNodes } from "./recovery-outage.js";
import { poisonBesideInnocents, poisonHarmless } from "./recovery-poison.js";
import { rateAfterOutage } from "./recovery-rate.js";
import { rollForwardAndBack } from "./recovery-roll.js";
import { allAnswered, statementsOfWaiters } from "./recovery-waiters.js";

export interface RecoveryOptions {
  readonly quick: boolean;
  readonly say: (line: string) => void;
  /** One figure by its name; all when not given. */
  readonly only?: string | undefined;
}

interface Figure {
  readonly ok: boolean;
}

/** `median` is judged where one slow start of a process must not decide, else the worst round. */
function judged(values: readonly number[], limit: number, by: "median" | "max" = "median") {
  const spread = { min: Math.min(...values), median: median(values), max: Math.max(...values) };
  return { ok: spread[by] <= limit, limit, ...spread, rounds: values.length };
}

const TAKEOVER_MS = 2_500;
const FLAPPING_MS = 20_000;
/** Twice the mean share of 30 runs over 4 nodes. */
const SHARE = 15;
const STATEMENTS = 20;
const RATE_AGAIN_MS = 10_000;

type Measure = (url: string, options: RecoveryOptions) => Promise<Figure>;

const FIGURES: Readonly<Record<string, Measure>> = {
  oneOfSeveralMs: async (url, { quick, say }) => judged(await oneOfSeveral(url, quick ? 3 : 9, say), TAKEOVER_MS),
  onlyNodeMs: async (url, { quick, say }) => judged(await theOnlyNode(url, quick ? 3 : 9, say), TAKEOVER_MS),
  youngNodeMs: async (url, { quick, say }) => judged(await aYoungNode(url, quick ? 3 : 9, say), TAKEOVER_MS),
  takenFromLive: async (_url, { quick, say }) => {
    const { restarts, outages } = await takenFromLiveNodes(quick ? 1 : 3, quick ? 1 : 2, say);
    const [restart, outage] = [judged(restarts, 0, "max"), judged(outages, 0, "max")];
    return { ok: restart.ok && outage.ok, restart, outage };
  },
  /** L8. */
  rateAfterOutage: async (_url, { quick, say }) => {
    const { recoveredMs, ended, before } = await rateAfterOutage(quick ? 20_000 : 60_000, say);
    const recovered = judged([recoveredMs], RATE_AGAIN_MS, "max");
    return { ok: recovered.ok && ended === 0, before, recovered, ended };
  },
  flappingMs: async (url, { quick, say }) => judged(await underFlapping(url, quick ? 1 : 3, say), FLAPPING_MS, "max"),
  largestShare: async (url, { quick, say }) => judged(await largestShare(url, quick ? 3 : 9, say), SHARE, "max"),
  poison: async (url, { quick, say }) => {
    const rounds = { one: [] as number[], three: [] as number[] };
    let harmless = true;
    for (let i = 0; i < (quick ? 1 : 3); i++) {
      for (const [name, nodes] of [
        ["one", 1],
        ["three", 3],
      ] as const) {
        const poisoned = await poisonBesideInnocents(url, nodes, say);
        rounds[name].push(poisoned.innocentsDead);
        harmless &&= poisonHarmless(poisoned);
      }
    }
    return { ok: harmless, onOneNode: judged(rounds.one, 0, "max"), onThreeNodes: judged(rounds.three, 0, "max") };
  },
  rolling: async (url, { quick, say }) => {
    const rolls = [];
    for (let i = 0; i < (quick ? 1 : 3); i++) rolls.push(await rollForwardAndBack(url, say));
    const failed = judged(
      rolls.map((one) => one.failed),
      0,
      "max",
    );
    const quarantined = judged(
      rolls.map((one) => one.quarantined),
      0,
      "max",
    );
    const completed = rolls.every((one) => one.completed === one.runs && one.runs > 100);
    return { ok: failed.ok && quarantined.ok && completed, failed, quarantined, rolls };
  },
  waiters: async (url, { quick, say }) => {
    const measured = await statementsOfWaiters(url, quick ? 2 : 4, say);
    const perSecond = judged(measured.statementsPerSecond, STATEMENTS, "max");
    const { cores, answered, waiters } = measured;
    return { ok: perSecond.ok && allAnswered(measured), perSecond, cores, answered, waiters };
  },
};

export async function benchRecovery(url: string, options: RecoveryOptions) {
  const { only, say } = options;
  if (only !== undefined && !Object.hasOwn(FIGURES, only))
    throw new Error(`no figure ${only}; there are: ${Object.keys(FIGURES).join(", ")}`);
  const figures: Record<string, Figure> = {};
  for (const [name, measure] of Object.entries(FIGURES)) {
    if (only !== undefined && only !== name) continue;
    figures[name] = await measure(url, options);
    say(`${name}: ${figures[name].ok ? "holds" : "DOES NOT HOLD"} ${JSON.stringify(figures[name])}`);
  }
  return { ok: Object.values(figures).every(({ ok }) => ok), ...figures };
}
