// Follows everything the store does and reports violated invariants. It is independent of the engine.

import type { NewRun } from "../../kernel/run/new-run.js";
import { type EndedState, isEnded } from "../../kernel/run/run-state.js";
import type { Settings } from "../../kernel/setting/setting-options.js";
import type { Subscription } from "../../store/contract/event/events.js";
import type { ClaimRequest } from "../../store/contract/run/runs.js";
import type { RunRow } from "../../store/memory/table/rows.js";
import type { Tables } from "../../store/memory/table/tables.js";
import type { EffectRecord } from "../effect-log.js";
import type { Calm } from "./calm.js";
import type { Gathering, ModelEntry, ModelRun, Probe } from "./model.js";
import { foundSkipped } from "./overflow.js";
import { Promises } from "./promises.js";

export interface Violation {
  /** As in ARCHITECTURE.md: S4, L3, … */
  readonly invariant: string;
  readonly at: number;
  readonly runId: string | null;
  readonly detail: string;
}

/** The database counts whole microseconds. */
const ROUNDED_MS = 0.002;

export class History {
  runs = new Map<string, ModelRun>();
  /** Runs that retention has removed. */
  removed = new Map<string, ModelRun>();
  keys = new Map<string, string>();
  /** By id. */
  subscriptions = new Map<string, Subscription>();
  /** By subscription and subject: the event that no run has begun with yet. */
  gathering = new Map<string, Gathering>();
  /** By opening: the run that tries, by the number of its try. */
  probes = new Map<string, Map<number, Probe>>();
  readonly violations: Violation[] = [];
  /** Runs, and messages as `run key`, that a failover has lost: they cannot be asked for. */
  readonly lost = new Set<string>();
  /** By incarnation: what was taken from it, and when. */
  readonly takenFrom = new Map<string, readonly { readonly runId: string; readonly at: number }[]>();
  /** Runs whose holder may break off: a failover took from it what it had seen. */
  readonly excused = new Set<string>();
  /** Who asked for what is being checked. */
  by = "";
  /** Attempts under way, also those of processes that are gone. */
  readonly working = new Set<EffectRecord>();
  /** The call that each claim token was drawn for. */
  readonly drawnFor = new Map<string, ClaimRequest>();
  /** When leases last stopped meaning what their holders think: a failover, or the database's clock jumped. */
  disturbedAt = -1;
  jumpedAt = -1;
  readonly promises = new Promises();
  /** Set once everything has healed. */
  calm: Calm | null = null;
  /**
   * By incarnation, run and epoch: the token it was last granted under, and whether the holder has learned that it is
   * lost.
   */
  readonly #told = new Map<string, { readonly token: string; readonly lost: boolean }>();
  readonly #twice = new Set<string>();
  readonly tables: Tables;
  readonly #now: () => number;
  readonly #settings: Pick<Settings, "presenceGraceMs" | "housekeepingMs">;
  /** By incarnation, in virtual time. */
  readonly #lostAt = new Map<string, number>();
  /** By incarnation: when its last sign of life was accepted. */
  readonly heardAt = new Map<string, number>();
  readonly #ended: ModelRun[] = [];

  constructor(
    tables: Tables,
    now: () => number,
    settings: Pick<Settings, "presenceGraceMs" | "housekeepingMs"> = { presenceGraceMs: 0, housekeepingMs: 0 },
  ) {
    this.tables = tables;
    this.#now = now;
    this.#settings = settings;
  }

  get now(): number {
    return this.#now();
  }

  get nowUs(): number {
    return this.tables.nowUs();
  }

  /** A node's presence is held from now on, or lost. */
  presence(incarnation: string, held: boolean): void {
    if (held) this.#lostAt.delete(incarnation);
    else if (!this.#lostAt.has(incarnation)) this.#lostAt.set(incarnation, this.now);
  }

  /** A sign of life was accepted. */
  heard(incarnation: string): void {
    this.heardAt.set(incarnation, this.now);
  }

  /**
   * Whether others may reclaim its runs before their lease expires: its presence is lost, and by its own settings there
   * was no sign of life for long enough. `replaced`: by a start under its identity, for which the loss is enough.
   */
  isGone(incarnation: string, replaced: boolean): boolean {
    const lostAt = this.#lostAt.get(incarnation);
    if (lostAt === undefined) return false;
    const heardAt = this.heardAt.get(incarnation) ?? Number.NEGATIVE_INFINITY;
    // By the database's clock, which jumped, it may have been long enough; or a failover has lost a sign of life.
    if (replaced || this.disturbedAt >= Math.min(lostAt, heardAt)) return true;
    const { presenceGraceMs, housekeepingMs } = this.#settings;
    const silenceMs = Math.max(presenceGraceMs, 2 * housekeepingMs);
    return this.now - lostAt >= presenceGraceMs - ROUNDED_MS && this.now - heardAt >= silenceMs - ROUNDED_MS;
  }

  whereabouts(incarnation: string): string {
    const ago = (at: number | undefined) => (at === undefined ? "never" : `${(this.now - at).toFixed(3)} ms ago`);
    return `its presence lost ${ago(this.#lostAt.get(incarnation))}, last sign of life ${ago(this.heardAt.get(incarnation))}`;
  }

  broken(invariant: string, runId: string | null, detail: string): void {
    this.violations.push({ invariant, at: this.now, runId, detail });
  }

  expect(holds: boolean, invariant: string, run: ModelRun, detail: string): void {
    if (!holds) this.broken(invariant, run.id, detail);
  }

  /** Those that retention has removed, too. */
  get everyRun(): readonly ModelRun[] {
    return [...new Map([...this.removed, ...this.runs]).values()];
  }

  find(runId: string, doing: string): ModelRun | undefined {
    const run = this.runs.get(runId);
    if (!run) this.broken("S1", runId, `${doing} a run that was never inserted`);
    return run;
  }

  /** `ticket`: of a run that gathers events. */
  add(
    { id, group, crashLimit, input, parentId, limits = [] }: Omit<NewRun, "key">,
    ticket: string | null = null,
    needs: readonly string[] | null = null,
  ): void {
    if (this.runs.has(id)) return;
    const run: ModelRun = {
      id,
      env: group.env,
      program: group.program,
      crashLimit,
      parentId: parentId ?? null,
      limits,
      needs,
      state: "waiting",
      epoch: 0,
      token: null,
      owner: null,
      leaseUntilUs: 0,
      availableAtUs: 0,
      waitingSince: this.now,
      wakeAtUs: null,
      seq: 0,
      baseSeq: 0,
      generation: 0,
      streak: 0,
      taken: [],
      grants: [],
      journal: [],
      messages: [],
    };
    this.append(run, null, { kind: "start", name: group.program, key: ticket, payload: input });
    this.runs.set(id, run);
    if (!foundSkipped(this, run)) this.observe(run);
  }

  append(run: ModelRun, token: string | null, entry: Pick<ModelEntry, "kind" | "name" | "key" | "payload">): void {
    run.seq++;
    run.journal.push({ ...entry, seq: run.seq, token, atUs: this.nowUs, at: this.now });
  }

  /** Takes over what the row has become; says so when it may not. */
  observe(run: ModelRun): RunRow | undefined {
    const row = this.tables.runs.get(run.id);
    if (!row) {
      this.broken("S1", run.id, "its row is gone");
      return undefined;
    }
    if (isEnded(run.state) && row.state !== run.state) this.broken("S16", run.id, `${run.state} became ${row.state}`);
    this.expect((row.token !== null) === (row.state === "running"), "S3", run, `${row.state} with token ${row.token}`);
    this.expect(row.seq === run.seq, "S8", run, `the row is at ${row.seq}, the log at ${run.seq}`);
    if (row.state === "waiting" && run.state !== "waiting") run.waitingSince = this.now;
    run.state = row.state;
    run.token = row.token;
    run.availableAtUs = row.availableAtUs;
    run.wakeAtUs = row.wakeAtUs;
    return row;
  }

  /** The run has ended: nothing more is read. */
  end(run: ModelRun, state: EndedState): void {
    run.state = state;
    run.token = null;
    for (const message of run.messages) message.takenSeq ??= 0;
    this.#ended.push(run);
  }

  /** The sequence continues, the generation does not: the entry just written is the first of the next one. */
  nextGeneration(run: ModelRun): void {
    run.baseSeq = run.seq - 1;
    run.generation++;
  }

  /** After a whole operation is applied: live parents are notified of their children's ends. */
  tellParents(): void {
    for (const { id, parentId, state, needs, generation } of this.#ended.splice(0)) {
      // A task is counted; only failures are reported.
      if (needs && !["failed", "dead"].includes(state)) continue;
      const parent = parentId === null ? undefined : this.runs.get(parentId);
      const key = generation === 0 ? `child:${id}` : `child:${id}:${generation}`;
      if (!parent || isEnded(parent.state) || parent.messages.some((message) => message.key === key)) continue;
      parent.messages.push({ key, messageId: id, kind: "child", name: state, payload: null, takenSeq: null });
      this.observe(parent);
    }
  }

  /** What a lagging replica has. Call the answer when it becomes the database. */
  lag(): () => void {
    const runs = structuredClone(this.runs);
    const removed = new Map(this.removed);
    const { keys, subscriptions, gathering, probes } = structuredClone({
      keys: this.keys,
      subscriptions: this.subscriptions,
      gathering: this.gathering,
      probes: this.probes,
    });
    return () => {
      for (const [id, { messages }] of this.runs) {
        const kept = runs.get(id);
        if (!kept) this.lost.add(id);
        const known = new Set(kept?.messages.map(({ key }) => key));
        for (const { key } of messages) if (!known.has(key)) this.lost.add(`${id} ${key}`);
      }
      this.runs = runs;
      Object.assign(this, { removed, keys, subscriptions, gathering, probes });
      this.disturbedAt = this.now;
      this.promises.clear();
    };
  }

  /** After a failover the same epoch is granted again: what is said of the older token is no news. */
  told(holder: string, what: "granted" | "lost", token: string): void {
    const before = this.#told.get(holder);
    if (what === "granted" && before && before.token !== token) this.#twice.add(holder);
    if (what === "granted") this.#told.set(holder, { token, lost: false });
    else if (this.#told.get(holder)?.token === token) this.#told.set(holder, { token, lost: true });
  }

  knowsOfLoss(by: string, runId: string, epoch: number): boolean {
    return this.#told.get(`${by} ${runId} ${epoch}`)?.lost === true;
  }

  /** As its holder knows it. */
  tokenOf(by: string, runId: string, epoch: number): string | undefined {
    return this.#told.get(`${by} ${runId} ${epoch}`)?.token;
  }

  /**
   * A failover lost the grant, and the same process got the same epoch again: its two sessions cannot be distinguished.
   */
  hasTwice(by: string, runId: string, epoch: number): boolean {
    return this.#twice.has(`${by} ${runId} ${epoch}`);
  }

  clockJumped(): void {
    this.disturbedAt = this.now;
    this.jumpedAt = this.now;
  }
}
