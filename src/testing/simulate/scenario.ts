// One simulated history: two processes, one run or instance, and the faults of one case at its points.

import { AsyncLocalStorage } from "node:async_hooks";
import type { RunHandle } from "../../client/run-handle.js";
import { canonicalText } from "../../kernel/codec/canonical.js";
import { HoldfastError } from "../../kernel/error.js";
import { isEnded } from "../../kernel/run/run-state.js";
import { sleep, type UserCall } from "../../kernel/world.js";
import { Instance } from "../../machine/instance.js";
import type { MachineEvent } from "../../machine/logic.js";
import type { NodeEvents } from "../../node/node-events.js";
import type { NodeOptions } from "../../node/node-options.js";
import type { AnyDefinition } from "../../program/definition.js";
import type { Services } from "../../program/environment.js";
import type { Transaction } from "../../store/contract/transaction.js";
import { createBus } from "../../telemetry/bus.js";
import { answerWaits } from "../node/answer-waits.js";
import { driven } from "../node/driven.js";
import { TestStuck } from "../node/driver.js";
import type { Life } from "../node/life.js";
import type { Passage } from "../node/life-store.js";
import { anyCanMove } from "../node/next-due.js";
import { Stubs } from "../node/stubs.js";
import { type Process, TestBed } from "../node/test-bed.js";
import type { FaultKind, Point, SimulatedCase, SimulatedFault } from "./case.js";
import { type Effects, Ledger } from "./ledger.js";
import { hasFound, isCounted, isLook, labelOf } from "./points.js";

export type AnyInstance = Instance<MachineEvent, unknown, unknown, unknown>;

/** What is simulated. */
export interface Subject {
  /** Made again for each process: what the program keeps in memory ends with it. */
  readonly make: (effects: Effects) => AnyDefinition;
  readonly input: unknown;
  readonly programs: NodeOptions["programs"];
  readonly services: ((effects: Effects) => Services) | undefined;
  readonly database: Transaction["query"] | undefined;
  readonly stubs: ((stub: Stubs) => unknown) | undefined;
  readonly act: ((started: RunHandle<unknown> | AnyInstance) => Promise<void>) | undefined;
}

export interface SimulatedHistory {
  /** How it ended: the same text for the same end. */
  readonly outcome: string;
  readonly points: readonly Point[];
  readonly ledger: Ledger;
  /** Effects asked for by steps whose signal was aborted. */
  readonly leaks: readonly string[];
  /** What the engine reported: code that does not replay, something that broke. */
  readonly troubles: readonly { readonly kind: "replay" | "engine"; readonly text: string }[];
  readonly stuck: string | null;
  readonly trace: readonly string[];
}

/** The simulation lost the reply of something outside: whether it happened is unknown to the step. */
export class ReplyLost extends HoldfastError {
  readonly code = "REPLY_LOST";
}

const LEASE_MS = 2_000;
const PAUSE_MS = 3 * LEASE_MS;
const EFFECT_MS = 5;
/** A stopping process gets this long before an answer arrives: its signals are aborted then. */
const STOPPING_MS = 500;
const TIMING = { lease: LEASE_MS, renewEvery: 500, housekeeping: 250, pollInterval: 500, pollMax: 1_000 } as const;
const SETTINGS = { programs: [], timing: TIMING, patience: 0, giveUp: "3s", identity: { build: "simulated" } } as const;
const USER_CODE: ReadonlySet<string> = new Set(["step", "transaction", "node", "item", "task"]);

export class Scenario {
  readonly #subject: Subject;
  readonly #plan: ReadonlyMap<number, SimulatedFault>;
  readonly #bed: TestBed;
  readonly #stubs = new Stubs(() => {});
  readonly #names = new Map<Life, string>();
  readonly #processes = new Map<string, Process>();
  readonly #calls = new AsyncLocalStorage<UserCall>();
  readonly #points: Point[] = [];
  readonly #ledger = new Ledger();
  /** Calls that have made an effect. */
  readonly #begun = new WeakSet<UserCall>();
  readonly #leaks: string[] = [];
  readonly #troubles: { kind: "replay" | "engine"; text: string }[] = [];
  readonly #trace: string[] = [];

  constructor(subject: Subject, { seed, faults }: SimulatedCase) {
    this.#subject = subject;
    this.#plan = new Map(faults.map((fault) => [fault.at, fault]));
    subject.stubs?.(this.#stubs);
    const bus = createBus<NodeEvents>();
    bus.on("run.misfit", ({ error, program }) => this.#trouble("replay", `${program}: ${error}`));
    bus.on("run.broken", ({ error }) => this.#trouble("engine", String(error)));
    const answered = new Map<string, number>();
    this.#bed = new TestBed(
      { ...SETTINGS, bus, seed, ...(subject.database && { database: subject.database }) },
      {
        perform: (life, call, work) => this.#perform(life, call, work),
        answer: () => answerWaits(this.#bed, this.#stubs, answered),
      },
    );
  }

  async run(): Promise<SimulatedHistory> {
    const { driver } = this.#bed;
    let outcome = "did not end";
    let stuck: string | null = null;
    try {
      for (const name of ["n1", "n2"]) await this.#open(name);
      outcome = canonicalText(await this.#play(), "result");
      // What was paused, stopped or answered late comes to rest.
      if (this.#plan.size > 0) await driver.advance(4 * PAUSE_MS);
    } catch (error) {
      if (!(error instanceof TestStuck)) throw error;
      stuck = error.message;
    } finally {
      for (const life of this.#names.keys()) life.kill();
      // Otherwise every promise of the process pays for each history so far.
      this.#calls.disable();
    }
    const shown = { outcome, stuck, points: this.#points, ledger: this.#ledger };
    return { ...shown, leaks: this.#leaks, troubles: this.#troubles, trace: this.#trace };
  }

  async #play(): Promise<unknown> {
    const { client, driver, outside } = this.#bed;
    const { make, input, act } = this.#subject;
    const program = make(this.#effects(outside));
    const convert = (handle: RunHandle<unknown>) => driven(handle, driver, convert);
    const there = driven(client, driver, convert);
    // A machine's start resolves with an instance.
    const started = (await there.start(program, input)) as RunHandle<unknown> | AnyInstance;
    await act?.(started);
    return started instanceof Instance ? this.#instanceEnd(started) : this.#runEnd(started);
  }

  async #runEnd(run: RunHandle<unknown>): Promise<unknown> {
    const { driver, tables } = this.#bed;
    const stateOf = () => tables.runs.get(run.id)?.state ?? "dead";
    const isBroken = () => stateOf() === "quarantined" || this.#troubles.length > 0;
    await driver.until(() => isEnded(stateOf()) || isBroken());
    if (isBroken()) return { state: stateOf() };
    return run.result().then(
      (value) => ({ state: "completed", value }),
      (error: Error) => ({ state: stateOf(), error: (error.cause as Error | undefined)?.message ?? error.name }),
    );
  }

  /** An instance need not end: it may wait for events, with nothing left to do. */
  async #instanceEnd(instance: AnyInstance): Promise<unknown> {
    const { driver, tables } = this.#bed;
    const isActive = () => tables.instances.get(instance.key)?.status === "active";
    const isBusy = () => anyCanMove(tables) || tables.timers.size > 0;
    await driver.until(() => !isActive() || !isBusy());
    await driver.until(() => !anyCanMove(tables));
    const { value, status, output, context } = await instance.state();
    return { value, status, output, context };
  }

  async #open(name: string): Promise<void> {
    const { programs, make, services } = this.#subject;
    const process = await this.#bed.open({
      id: name,
      programs: (life) => {
        this.#names.set(life, name);
        return this.#stubs.programs([make(this.#effects(life)), ...programs]);
      },
      ...(services && { services: (life) => services(this.#effects(life)) }),
      passage: (request, apply) => this.#pass(request, apply),
    });
    this.#processes.set(name, process);
  }

  #effects(life: Life): Effects {
    return {
      call: async <T = void>(name: string, detail?: unknown, options: { key?: string; result?: T } = {}) => {
        const call = this.#calls.getStore();
        if (call) this.#watch(call, name);
        await this.#point(life, `effect ${name} is sent`, ["crash", "pause", "stop"]);
        const by = this.#nameOf(life);
        this.#ledger.perform({ name, detail, key: options.key ?? null, by, step: call?.name ?? null });
        const isLost = await this.#point(life, `effect ${name} is done`, ["crash", "lostReply", "stop"]);
        await sleep(life, EFFECT_MS);
        if (isLost) throw new ReplyLost(`The reply of ${name} was lost.`);
        return options.result as T;
      },
    };
  }

  /** A step that waits for an answer and then does more, although it was aborted meanwhile. */
  #watch(call: UserCall, effect: string): void {
    const isFirst = !this.#begun.has(call);
    this.#begun.add(call);
    if (!isFirst && call.info.signal.aborted) this.#leaks.push(`${effect}, asked for by ${call.kind} ${call.name}`);
  }

  #perform<T>(life: Life, call: UserCall, work: () => T): T {
    if (!USER_CODE.has(call.kind)) return work();
    const interrupted = async () => {
      await this.#point(life, `${call.kind} ${call.name} begins`, ["crash", "pause"]);
      const value = await this.#calls.run(call, () => this.#stubs.perform(call, work));
      await this.#point(life, `${call.kind} ${call.name} returns`, ["crash", "pause", "stop"]);
      return value;
    };
    // Its caller awaits it.
    return interrupted() as T;
  }

  async #pass(request: Parameters<Passage>[0], apply: () => Promise<unknown>): Promise<unknown> {
    if (!isCounted(request)) return apply();
    const { life, name } = request;
    const label = labelOf(request);
    if (!isLook(request)) await this.#point(life, `before ${label}`, ["crash", "pause"]);
    const answer = await apply();
    if (isLook(request) && !hasFound(answer)) return answer;
    const takes: readonly FaultKind[] = name === "runs.transact" ? ["crash"] : ["crash", "lostReply"];
    const isLost = await this.#point(life, `after ${label}`, takes);
    // As a store does: a request without an answer is repeated, and finds its own effect.
    return isLost ? apply() : answer;
  }

  /** True: the reply is lost. Never resolves in a process that is gone. */
  async #point(life: Life, label: string, takes: readonly FaultKind[]): Promise<boolean> {
    await life.thawed();
    if (life === this.#bed.outside) return false;
    this.#points.push({ label, takes });
    const at = this.#points.length;
    const fault = this.#plan.get(at);
    const hit = fault && takes.includes(fault.kind) ? fault : null;
    const ms = String(Math.round(this.#bed.clock.monotonicNow())).padStart(6);
    this.#trace.push(`${ms} ms  point ${at}  ${this.#nameOf(life)}  ${label}${hit ? `  <-- ${hit.kind}` : ""}`);
    if (!hit) return false;
    return this.#strike(life, hit);
  }

  async #strike(life: Life, { kind, backAfterMs }: SimulatedFault): Promise<boolean> {
    const name = this.#nameOf(life);
    switch (kind) {
      case "lostReply":
        return true;
      case "pause":
        life.freeze(PAUSE_MS);
        await life.thawed();
        return false;
      case "stop": {
        const stopped = this.#processes.get(name)?.node.stop({ grace: 0 });
        // The process ends a moment after its node, so that what ignores its abort is seen.
        const end = () => this.#bed.outside.after(STOPPING_MS, () => this.#comeBack(name, life, backAfterMs));
        stopped?.then(end).catch((error) => this.#trouble("engine", error));
        await sleep(life, STOPPING_MS);
        return false;
      }
      case "crash":
        this.#comeBack(name, life, backAfterMs);
        return new Promise(() => {});
    }
  }

  #comeBack(name: string, life: Life, backAfterMs: number): void {
    life.kill();
    this.#bed.outside.after(backAfterMs, () => {
      this.#trace.push(`           ${name} starts again`);
      this.#open(name).catch((error) => this.#trouble("engine", error));
    });
  }

  #nameOf(life: Life): string {
    return this.#names.get(life) ?? "client";
  }

  #trouble(kind: "replay" | "engine", what: unknown): void {
    this.#troubles.push({ kind, text: String(what) });
  }
}
