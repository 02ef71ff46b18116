// A node: one process at work. It assembles the parts of the engine and knows how to stop them in order.

import { settles } from "../kernel/effect.js";
import type { Settings } from "../kernel/setting-options.js";
import { sleep, type World } from "../kernel/world.js";
import type { Attendance } from "../store/contract/attend.js";
import type { ClaimedRun, Commit } from "../store/contract/runs.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";
import { Admitter } from "./admitter.js";
import { ClaimLoop } from "./claim-loop.js";
import { Committer } from "./committer.js";
import type { EngineEvents } from "./events.js";
import { keepHouse } from "./housekeeping.js";
import { LeaseKeeper } from "./lease-keeper.js";
import type { Program } from "./program.js";
import { Session } from "./session.js";

export interface EngineOptions {
  readonly store: Store;
  readonly programs: readonly Program[];
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly identity: string;
  readonly name: string;
  readonly env: string;
  readonly stack: string | null;
  readonly build: string | null;
}

export class Engine {
  readonly incarnation: string;
  readonly #options: EngineOptions;
  readonly #keeper: LeaseKeeper;
  readonly #committer: Committer;
  readonly #admitter: Admitter;
  readonly #programs = new Map<number, Program>();
  readonly #house = new AbortController();
  #loop: ClaimLoop | null = null;
  #attendance: Attendance | null = null;
  #keeping: Promise<void> = Promise.resolve();

  constructor(options: EngineOptions) {
    const { store, settings, world, bus } = options;
    this.#options = options;
    this.incarnation = world.token();
    this.#admitter = new Admitter(store.runs, () => this.hint());
    this.#committer = new Committer(store.runs, world, (written) => this.#admitter.soon(written.flatMap(movedInLine)));
    this.#keeper = new LeaseKeeper(store.runs, settings, world, bus);
  }

  async start(): Promise<void> {
    const { store, settings, world, bus, programs, env, stack, identity, name, build } = this.#options;
    await store.nodes.register({ incarnation: this.incarnation, identity, name, env, stack, build });
    for (const program of programs) {
      for (const group of groupsOf(program, env, stack)) {
        const [id] = await store.runs.groupIds([group]);
        this.#programs.set(id!, program);
      }
    }
    this.#loop = new ClaimLoop({
      store: store.runs,
      settings,
      world,
      bus,
      owner: this.incarnation,
      groupIds: [...this.#programs.keys()],
      onClaimed: (run, askedAt) => this.#work(run, askedAt),
    });
    const mine = new Set(this.#programs.keys());
    this.#attendance = await store.attend({
      incarnation: this.incarnation,
      onHint: (groupIds) => {
        if (groupIds.length === 0 || groupIds.some((id) => mine.has(id))) this.hint();
      },
    });
    this.#keeper.start();
    this.#loop.start();
    const house = { store, settings, world, bus, incarnation: this.incarnation, onWork: () => this.hint() };
    this.#keeping = keepHouse(house, this.#house.signal);
    bus.emit("node.started", { incarnation: this.incarnation });
  }

  /** There may be work: look now instead of at the next poll. */
  hint(): void {
    this.#loop?.hint();
  }

  get active(): number {
    return this.#loop?.active ?? 0;
  }

  /** Claims nothing more, lets what runs come to a point where it can be given back, and after the grace aborts it. */
  async stop(graceMs: number): Promise<void> {
    const { store, world, bus } = this.#options;
    await this.#loop?.stop();
    for (const session of this.#keeper.held) session.stop();
    const until = world.monotonicNow() + graceMs;
    while (this.active > 0 && world.monotonicNow() < until) await sleep(world, 10);
    for (const session of this.#keeper.held) session.lose();
    this.#house.abort();
    await this.#keeping;
    await this.#keeper.stop();
    await this.#admitter.stop();
    await store.nodes.stop(this.incarnation);
    await this.#attendance?.leave();
    bus.emit("node.stopped", { incarnation: this.incarnation });
  }

  async #work(run: ClaimedRun, askedAt: number): Promise<void> {
    const { store, settings, world, bus } = this.#options;
    const program = this.#programs.get(run.groupId)!;
    const writer = this.#committer.open(run, run.seq);
    const session = new Session(run, writer, store, world, askedAt, settings.leaseMs);
    this.#keeper.add(session);
    const attempt = run.failures + 1;
    bus.emit("run.claimed", { runId: run.runId, program: program.name, epoch: run.epoch, attempt });
    try {
      await program.execute(session);
      bus.emit("run.settled", { runId: run.runId, program: program.name });
    } catch (error) {
      if ((error as { code?: unknown }).code === "CLAIM_LOST") {
        bus.emit("claim.lost", { runId: run.runId, epoch: run.epoch });
      } else bus.emit("run.broken", { runId: run.runId, error });
    } finally {
      this.#keeper.remove(session);
    }
  }
}

/** The runs whose keys are worth a look after this commit: limited children, and a limited run that gave its claim back. */
function movedInLine({ claim, effects }: Commit): string[] {
  const children = effects.flatMap((effect) =>
    effect.kind === "enqueue" && (effect.run.limits?.length ?? 0) > 0 ? effect.run.id : [],
  );
  // A writer is opened with the whole claimed run.
  const { limited } = claim as Partial<ClaimedRun>;
  return limited && settles(effects.at(-1)!) ? [...children, claim.runId] : children;
}

/** A run without a stack belongs to any stack, one without a version to any version. */
function groupsOf({ queue, name: program, version }: Program, env: string, stack: string | null) {
  const stacks = stack === null ? [null] : [stack, null];
  const versions = version === null ? [null] : [version, null];
  return stacks.flatMap((s) => versions.map((v) => ({ env, stack: s, queue, program, version: v })));
}
