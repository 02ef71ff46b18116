// A workload of triggers: several clients emit the same events, subjects are debounced, breakers open, schedules fire,
// and steps emit in their transactions.

import { codecs } from "../../kernel/codec/codecs.js";
import { HoldfastError } from "../../kernel/error.js";
import type { AnyDefinition } from "../../program/definition.js";
import { event, on } from "../../trigger/event.js";
import { every } from "../../trigger/schedule.js";
import type { Context } from "../../workflow/context.js";
import { workflow } from "../../workflow/workflow.js";
import { checkGathered, checkWindows } from "../check/events.js";
import type { History } from "../check/history.js";
import type { ModelRun } from "../check/model.js";
import type { EffectLog } from "../effect-log.js";
import type { Swarm } from "../swarm.js";
import type { StepOp } from "./script.js";
import type { DriveOptions, Place, Workload } from "./workload.js";

const happened = event<{ kind: "a" | "b"; no: string }>()("happened");
const ticked = event<{ subject: string; no: number }>()("ticked");
const tried = event<{ no: string; fails: boolean }>()("tried");
type Range = readonly [least: number, most: number];
/** How many of each kind are emitted. */
const MANY: Readonly<Record<"many" | "ticks" | "tries" | "emits", Range>> = {
  many: [4, 10],
  ticks: [10, 30],
  tries: [6, 16],
  emits: [2, 5],
};
const FEW: typeof MANY = { many: [1, 2], ticks: [1, 4], tries: [2, 5], emits: [0, 1] };
/** Programs whose input names the event or the window that started them. */
const NAMED: readonly string[] = ["noted", "seen", "counted", "fragile", "timed"];
const WORK: StepOp = { do: "step", name: "work", ms: 5, fails: 0, attempts: 1, delayMs: 5, kills: 0 };

class RolledBack extends HoldfastError {
  readonly code = "ROLLED_BACK";
}

export class EventWorkload implements Workload {
  readonly #swarm: Swarm;
  /** The answers of clients, as `program no`. */
  readonly #told = new Map<string, Set<string>>();
  readonly #few: boolean;

  /** `few`: next to other work. */
  constructor(swarm: Swarm, few = false) {
    this.#swarm = swarm;
    this.#few = few;
  }

  get #everyMs(): number {
    return this.#few ? 1000 * Math.ceil(this.#swarm.leaseMs / 500) : 1000;
  }

  /** Every second history has two stacks, and a client of none: the same events and windows in all of them. */
  stackOf(who: "node" | "client", nth: number): string | null {
    if (this.#swarm.seed % 2 === 1) return null;
    return (who === "node" ? ["blue", "green"] : [null, "blue", "green"])[nth % (who === "node" ? 2 : 3)] ?? null;
  }

  programs(place: Place): readonly AnyDefinition[] {
    const { leaseMs, slots } = this.#swarm;
    const circuitBreaker = { threshold: 2, halfOpenAfter: leaseMs };
    const work = async (ctx: Context, fails = false) => {
      const op = { ...WORK, fails: fails ? 1 : 0 };
      await ctx.step("work", { retry: 1 }, (info) => place.effect(ctx.runId, info, op, []));
    };
    const debounced = on(ticked, { subject: "subject", debounce: Math.ceil(leaseMs / 2) });
    return [
      workflow("noted", { on: [on(happened, { where: { kind: "a" } })] }, (ctx) => work(ctx)),
      workflow("seen", { on: [on(happened)] }, (ctx) => work(ctx)),
      workflow("gathered", { on: [debounced], ...(slots !== null && { concurrency: slots }) }, (ctx) => work(ctx)),
      // In addition to the gathering run, each of these events starts a run of its own.
      workflow("counted", { on: [on(ticked)] }, (ctx) => work(ctx)),
      workflow("fragile", { on: [on(tried)], circuitBreaker }, (ctx, { fails }) => work(ctx, fails)),
      workflow("timed", { on: [every(this.#everyMs)], circuitBreaker }, (ctx, { window }) =>
        work(ctx, /[1-4]\.\d+Z$/.test(window)),
      ),
      emitting(place),
    ];
  }

  drive(options: DriveOptions): void {
    const { chance, swarm, clients, at, runIds } = options;
    const moment = () => chance.between(0, swarm.faultsForMs);
    const some = (count: number, act: (i: number) => void) => Array.from({ length: count }, (_, i) => act(i));
    const { many, ticks, tries, emits } = this.#few ? FEW : MANY;
    some(chance.int(...many), (i) => this.#emitByMany(options, i));
    some(chance.int(...ticks), (no) => {
      const [client, subject] = [chance.one(clients), chance.one(["x", "y"])];
      at(moment(), () => void client.emit(ticked, { subject, no }));
    });
    some(chance.int(...tries), (i) => {
      const [client, no, fails] = [chance.one(clients), `t${i}`, chance.happens(0.6)];
      at(moment(), async () => this.#note("default", no, await client.emit(tried, { no, fails })));
    });
    some(chance.int(...emits), (i) => {
      at(moment(), () => void options.client.start(emitting(null), i, { key: `emits-${i}` }));
    });
    some(chance.int(0, 2), () => {
      at(moment(), () => {
        const ids = runIds();
        if (ids.length > 0) void options.client.cancel(chance.one(ids));
      });
    });
  }

  urge(): void {}

  mayWait(): boolean {
    return false;
  }

  async check(history: History, effects: EffectLog): Promise<void> {
    checkGathered(history);
    checkWindows(history, "timed", this.#everyMs);
    checkWindows(history, "timed", this.#everyMs, "sister");
    const runs = runsByEvent(history);
    for (const [name, found] of runs) {
      if (found.length > 1) history.broken("S10", found[1]!.id, `${name} has ${found.length} runs`);
    }
    for (const [name, told] of this.#told) {
      const kept = [...told].filter((runId) => !history.lost.has(runId));
      const found = runs.get(name)?.map(({ id }) => id) ?? [];
      const missing = kept.filter((runId) => !found.includes(runId));
      if (missing.length > 0) history.broken("S10", missing[0]!, `${name} was the answer, but the run is ${found}`);
    }
    checkTransactions(history, effects, runs);
  }

  /** The same event from several processes, at about the same time. */
  #emitByMany({ chance, swarm, clients, sister, at }: DriveOptions, i: number): void {
    const payload = { kind: chance.one(["a", "b"] as const), no: `e${i}` };
    const options = chance.happens(0.5) ? { id: `id-${i}` } : {};
    const about = chance.between(0, swarm.faultsForMs);
    for (const client of clients) {
      if (!chance.happens(0.8)) continue;
      const ms = about + chance.between(0, swarm.weather.timeoutMs);
      at(ms, async () => this.#note("default", payload.no, await client.emit(happened, payload, options)));
    }
    if (sister) at(about, async () => this.#note("sister", payload.no, await sister.emit(happened, payload, options)));
  }

  #note(env: string, no: string, emitted: Awaited<ReturnType<DriveOptions["client"]["emit"]>>): void {
    for (const { program, runId } of emitted?.runs ?? []) {
      const name = `${env} ${program} ${no}`;
      if (runId !== null) this.#told.set(name, new Set(this.#told.get(name)).add(runId));
    }
  }
}

/** Without a place it can be started, but not executed. */
function emitting(place: Place | null) {
  return workflow("emitting", async (ctx, _no: number): Promise<string> => {
    const op: StepOp = { ...WORK, do: "transaction", name: "emit", attempts: 3 };
    return ctx.transaction("emit", { retry: { attempts: 3, delay: 5, backoff: "fixed" } }, async (tx, info) => {
      const result = await place!.effect(ctx.runId, info, op, []);
      await place!.emit(happened, { kind: "b", no: `${info.idempotencyKey} ${info.attempt}` }, tx);
      // What it has emitted goes with it.
      if (info.attempt === 1) throw new RolledBack("the first attempt");
      return result;
    });
  });
}

/** By `env program no`, and by `env program window`: whatever names what has started it. */
function runsByEvent(history: History): Map<string, ModelRun[]> {
  const { decode } = codecs();
  const runs = new Map<string, ModelRun[]>();
  for (const run of history.everyRun) {
    if (!NAMED.includes(run.program)) continue;
    const input = decode(run.journal[0]!.payload!) as { no?: string | number; window?: string };
    const name = `${run.env} ${run.program} ${input.no ?? input.window}`;
    runs.set(name, [...(runs.get(name) ?? []), run]);
  }
  return runs;
}

/** What a transaction emitted has its run exactly when the transaction's result is recorded. */
function checkTransactions(history: History, effects: EffectLog, runs: ReadonlyMap<string, readonly ModelRun[]>): void {
  const { decode } = codecs();
  const emitters = history.everyRun.filter(({ program }) => program === "emitting");
  const ids = new Set(emitters.map(({ id }) => id));
  const transactions = effects.records.filter(({ kind, runId }) => kind === "transaction" && ids.has(runId));
  const keyOf = new Map(transactions.map(({ result, idempotencyKey }) => [result, idempotencyKey]));
  const ended = emitters.flatMap(({ journal }) => journal.filter(({ kind }) => kind === "transaction"));
  const recorded = new Set(ended.map(({ payload }) => keyOf.get(decode(payload!) as string)));
  const emitted = [...runs.keys()].filter((name) => name.startsWith("default seen "));
  for (const key of new Set(keyOf.values())) {
    // By whichever attempt.
    const there = emitted.filter((name) => name.startsWith(`default seen ${key} `)).length;
    // A failover may have lost who was declared, until they say it again.
    const most = recorded.has(key) ? 1 : 0;
    const least = history.disturbedAt >= 0 ? 0 : most;
    if (there < least || there > most) {
      history.broken("S10", key.split(":")[0]!, `${key}: ${there} runs, recorded: ${recorded.has(key)}`);
    }
  }
}
