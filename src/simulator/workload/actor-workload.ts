// Episodes of three actors under faults: one limit each, with an overflow policy, strategies in moves with checkpoints;
// an expectation for each recovery policy, one of them started by events that several processes see.

import { actor } from "../../actor/actor.js";
import { expectation } from "../../actor/expectation.js";
import { strategy } from "../../actor/strategy.js";
import type { Overflow } from "../../kernel/run/new-run.js";
import type { AnyDefinition } from "../../program/definition.js";
import { signal } from "../../replay/signal.js";
import { event, on } from "../../trigger/event.js";
import type { Chance } from "../chance.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import { keyOfResult } from "../effect-log.js";
import type { DriveOptions, EffectOp, Place, Workload } from "./workload.js";

const RING = signal<string>("ring");
type Turn = { readonly do: "work"; readonly op: EffectOp } | { readonly do: "save" } | { readonly do: "hear" };

/** Default attempts of a step. */
const INIT: EffectOp = { do: "step", attempts: 3, ms: 3, fails: 0.05, kills: 0.02 };

export interface Episode {
  readonly resource: string;
  readonly turns: readonly Turn[];
}

const moved = (overflow: string) => event<Episode & { readonly no: string }>()(`moved ${overflow}`);

/** Without a place it can be started, but not executed. */
const moves = (place: Place | null) =>
  strategy({
    steps: {
      work: (step, { op, after }: { op: EffectOp; after: readonly string[] }) =>
        place!.effect(step.idempotencyKey.split(":")[0]!, step, op, after),
    },
    signals: { ring: RING },
    init: async (step, { turns }: Episode) => ({
      effect: await place!.effect(step.idempotencyKey.split(":")[0]!, step, INIT, []),
      left: turns,
      results: [] as string[],
      saved: 0,
    }),
    next: ({ left, results }) => {
      const [turn] = left;
      if (!turn) return { do: "done", result: results };
      if (turn.do === "save") return { do: "checkpoint" };
      if (turn.do === "hear") return { do: "wait", name: "ring", timeout: 200 };
      const retry = { attempts: turn.op.attempts, delay: 20, backoff: "fixed" } as const;
      return { do: "call", name: "work", args: { op: turn.op, after: results.slice(-1).map(keyOfResult) }, retry };
    },
    handle: ({ effect, left, results, saved }, step) => ({
      effect,
      left: left.slice(1),
      results: step.did === "call" ? [...results, step.result] : results,
      saved: saved + (step.did === "checkpoint" ? 1 : 0),
    }),
  });

const POLICIES = ["queue", "drop", "shed-oldest"] as const satisfies ("queue" | Overflow)[];
const NO_BUDGET = { turns: null, tokens: null, timeout: null };

function actors(place: Place | null) {
  return POLICIES.map((overflow) =>
    actor(`sim-${overflow}`, {
      concurrency: 2,
      overflow,
      expectations: {
        serial: expectation(
          { on: [on(moved(overflow), { subject: "resource" })], serial: "subject", budget: NO_BUDGET },
          moves(place),
        ),
        restarted: expectation({ recovery: "restart", budget: NO_BUDGET }, moves(place)),
        once: expectation({ recovery: "fail", budget: NO_BUDGET }, moves(place)),
      },
    }),
  );
}

function programs(place: Place | null): readonly AnyDefinition[] {
  return actors(place).flatMap(({ expectations }) => Object.values(expectations) as AnyDefinition[]);
}

export class ActorWorkload implements Workload {
  readonly #all = programs(null);
  /** By event: the runs that clients got as answers. */
  readonly #begun = new Map<string, Set<string>>();
  #told = 0;

  programs(place: Place): readonly AnyDefinition[] {
    return programs(place);
  }

  drive(options: DriveOptions): void {
    const { client, chance, swarm, at } = options;
    for (let i = 0; i < swarm.runs; i++) this.#emitByMany(options, `e${i}`);
    for (let i = 0; i < swarm.runs; i++) {
      const program = chance.one(this.#all);
      const episode = drawEpisode(chance, swarm.leaseMs);
      const rings = Array.from({ length: chance.int(0, 2) }, () => chance.between(0, swarm.faultsForMs / 2));
      const cancelAfterMs = chance.happens(0.1) ? chance.between(0, swarm.faultsForMs / 2) : null;
      at(chance.between(0, swarm.faultsForMs * 0.7), async () => {
        const runId = await client.start(program, episode, { key: `episode-${i}` });
        if (runId === null) return;
        for (const ms of rings) at(ms, () => void client.signal(runId, RING, `ring ${++this.#told}`));
        if (cancelAfterMs !== null) at(cancelAfterMs, () => void client.cancel(runId));
      });
    }
  }

  /** The same event from several processes, at about the same time. */
  #emitByMany({ chance, swarm, clients, at }: DriveOptions, no: string): void {
    const type = moved(chance.one(POLICIES));
    const payload = { ...drawEpisode(chance, swarm.leaseMs), no };
    const about = chance.between(0, swarm.faultsForMs * 0.7);
    for (const client of clients) {
      at(about + chance.between(0, swarm.weather.timeoutMs), async () => {
        const { runs = [] } = (await client.emit(type, payload)) ?? {};
        for (const { runId } of runs) if (runId !== null) this.#begun.set(no, new Set(this.#begun.get(no)).add(runId));
      });
    }
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  /** What is skipped was never begun; a result has what its turns did, in their order, each once. */
  async check(history: History): Promise<void> {
    for (const run of history.runs.values()) {
      if (!run.program.startsWith("sim-")) continue;
      if (run.state === "completed") checkResult(history, run);
      if (run.state === "skipped") history.expect(run.grants.length === 0, "S15", run, "was granted, and skipped");
      checkRecovery(history, run);
    }
    for (const [no, told] of this.#begun) {
      const kept = [...told].filter((runId) => !history.lost.has(runId));
      if (kept.length > 1) history.broken("S10", kept[1]!, `${no} began ${kept.length} episodes`);
    }
  }
}

/** Restarted or failed only as its expectation says, and as often as it was reclaimed. */
function checkRecovery(history: History, run: ModelRun): void {
  const restarts = run.journal.filter(({ kind, name }) => kind === "start" && name === "recovery").length;
  const orphaned = run.journal.some(({ kind, token }) => kind === "failed" && token === null);
  history.expect(restarts === 0 || run.program.endsWith("::restarted"), "S9", run, "restarted");
  const retries = run.journal.filter(({ kind, name, seq }) => {
    return kind === "retried" || (kind === "start" && seq > 1 && name !== "recovery");
  }).length;
  const generations = restarts + retries;
  history.expect(run.generation === generations, "S16", run, `generation ${run.generation}, not ${generations}`);
  history.expect(!orphaned || run.program.endsWith("::once"), "S9", run, "given up");
}

function checkResult(history: History, run: ModelRun): void {
  const log = run.journal.slice(run.baseSeq);
  const { turns } = JSON.parse(log[0]!.payload!.data) as Episode;
  const results = JSON.parse(log.at(-1)!.payload!.data) as string[];
  const worked = turns.filter((turn) => turn.do === "work").length;
  history.expect(results.length === worked, "S6", run, `${results.length} results of ${worked} turns`);
  const steps = log.filter(({ kind, name }) => kind === "step" && name === "work").map(({ payload }) => payload!.data);
  const told = results.map((result) => JSON.stringify(result)).join();
  history.expect(told === steps.join(), "S6", run, `returned ${told}, recorded ${steps.join()}`);
  const saves = turns.filter((turn) => turn.do === "save").length;
  const saved = log.filter(({ kind }) => kind === "checkpoint").length;
  history.expect(saved === saves, "S6", run, `${saved} checkpoints of ${saves}`);
}

function drawEpisode(chance: Chance, leaseMs: number): Episode {
  const turns: Turn[] = [];
  for (let i = chance.int(1, 5); i > 0; i--) {
    const op = {
      ms: chance.between(0, leaseMs / 3),
      fails: chance.happens(0.2) ? chance.one([0.3, 0.9]) : 0,
      kills: chance.happens(0.1) ? chance.one([0.2, 0.2, 1]) : 0,
    };
    turns.push({ do: "work", op: { do: "step", attempts: 4, ...op } });
    if (chance.happens(0.3)) turns.push({ do: "save" });
    if (chance.happens(0.2)) turns.push({ do: "hear" });
  }
  return { resource: chance.one(["a", "b", "c"]), turns };
}
