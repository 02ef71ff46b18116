// A separate part of the store for one case: fresh env and ids, and the few operations that most cases begin with.

import type { Payload } from "../../kernel/codec/payload.js";
import type { Effect, ParkEffect } from "../../kernel/run/effect.js";
import type { NewKey, NewRun, RunGroup } from "../../kernel/run/new-run.js";
import { systemWorld } from "../../kernel/system-world.js";
import type { NewMessage } from "../../store/contract/inbox/inbox.js";
import type { Witness } from "../../store/contract/node/house.js";
import type { NodeRegistration } from "../../store/contract/node/nodes.js";
import type {
  ClaimedRun,
  ClaimRequest,
  CommitAnswer,
  DeclaredProgram,
  RunRecord,
} from "../../store/contract/run/runs.js";
import type { Store } from "../../store/contract/store.js";
import type { Transaction } from "../../store/contract/transaction.js";
import { same, some } from "./expect.js";
import type { StoreHarness } from "./harness.js";

/** Longer than any case takes, also on a slow machine with a real clock. */
export const LONG_MS = 600_000;
/** Over as soon as the case moves the clock by `PAST_MS`. */
export const SHORT_MS = 20;
export const PAST_MS = 40;

/** Only ids and tokens are drawn from it; the store's clock is the harness's. */
const world = systemWorld();

type RunOptions = Partial<Omit<NewRun, "group">> & { readonly group?: Partial<RunGroup> };

export class Scene {
  readonly store: Store;
  readonly env: string;
  readonly owner = world.token();
  readonly #harness: StoreHarness;

  constructor(harness: StoreHarness) {
    this.#harness = harness;
    this.store = harness.store;
    this.env = `env-${world.token()}`;
  }

  advance(ms: number): Promise<void> {
    return this.#harness.advance(ms);
  }

  transaction<T>(end: "commit" | "rollback", fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#harness.transaction(fn, end);
  }

  id(): string {
    return world.id();
  }

  token(): string {
    return world.token();
  }

  group(other: Partial<RunGroup> = {}): RunGroup {
    return { env: this.env, stack: null, queue: "work", program: "work", version: null, ...other };
  }

  /** A node that started a moment ago, serves these groups, takes runs of them and declares them. Answers its incarnation. */
  async declare(programs: readonly DeclaredProgram[]): Promise<string> {
    await this.advance(1);
    const incarnation = await this.node(programs.map(({ group }) => group));
    await this.store.runs.declare(incarnation, programs);
    return incarnation;
  }

  /** A registered node that serves these groups. */
  async node(groups: readonly RunGroup[], more: Partial<NodeRegistration> = {}): Promise<string> {
    const incarnation = world.token();
    const serves = await this.store.runs.groupIds(groups);
    const who = { incarnation, identity: incarnation, name: "n", env: this.env, stack: null, build: null };
    const { outcome } = await this.store.nodes.register({ ...who, serves, heartbeatMs: LONG_MS, ...more });
    same(outcome, "registered", "registration");
    return incarnation;
  }

  newRun(options: RunOptions = {}): NewRun {
    const { group, ...rest } = options;
    const input = payload({ run: "input" });
    return { id: world.id(), priority: 0, delayMs: 0, crashLimit: 5, input, ...rest, group: this.group(group) };
  }

  newKey(key: Partial<NewKey> = {}): NewKey {
    return { scope: "work", key: "k", payloadHash: "h1", lifetime: "live", onMismatch: "conflict", ...key };
  }

  async insert(options: RunOptions = {}): Promise<NewRun> {
    const run = this.newRun(options);
    same(await this.store.runs.insert([run]), [{ outcome: "inserted", runId: run.id }], "insert");
    return run;
  }

  async request(options: Partial<ClaimRequest> = {}): Promise<ClaimRequest> {
    const groupIds = options.groupIds ?? (await this.store.runs.groupIds([this.group()]));
    return { owner: this.owner, token: world.token(), limit: 100, leaseMs: LONG_MS, ...options, groupIds };
  }

  async claim(options: Partial<ClaimRequest> = {}): Promise<readonly ClaimedRun[]> {
    return this.store.runs.claim(await this.request(options));
  }

  /** The one run that is claimable in this scene. */
  async claimOne(options: Partial<ClaimRequest> = {}): Promise<ClaimedRun> {
    const claims = await this.claim(options);
    same(claims.length, 1, "number of claimable runs");
    return claims[0]!;
  }

  /** A run, inserted and claimed. */
  async start(options: RunOptions = {}, claim: Partial<ClaimRequest> = {}): Promise<ClaimedRun> {
    const { id } = await this.insert(options);
    const claims = await this.claim(claim);
    return some(
      claims.find(({ runId }) => runId === id),
      "the claim on the new run",
    );
  }

  async commit(claim: ClaimedRun, effects: readonly Effect[], expectedSeq = claim.seq): Promise<CommitAnswer> {
    const [answer] = await this.store.runs.commit([{ claim, expectedSeq, effects }]);
    return some(answer, "the answer to the commit");
  }

  /** Commits and expects to be accepted; answers the new sequence. */
  async accept(claim: ClaimedRun, effects: readonly Effect[], expectedSeq = claim.seq): Promise<number> {
    const answer = await this.commit(claim, effects, expectedSeq);
    same(answer.outcome, "accepted", `commit of ${effects.map(({ kind }) => kind).join(", ")}`);
    return expectedSeq + effects.length;
  }

  /** A node that has watched for longer than any case needs. */
  witness(incarnation = world.token()): Witness {
    return { incarnation, env: this.env, watchedMs: LONG_MS, troubled: false };
  }

  message(runId: string, message: Partial<NewMessage> = {}): NewMessage {
    const messageId = world.token();
    const key = `signal:${messageId}`;
    return { runId, key, messageId, kind: "signal", name: "paid", payload: payload(1), sender: "somebody", ...message };
  }

  async run(runId: string): Promise<RunRecord> {
    return some(await this.store.runs.get(runId), "the run's record");
  }

  /** The whole log, as `kind` per entry. */
  async log(runId: string): Promise<readonly string[]> {
    const page = some(await this.store.journal.read(runId), "the run's journal");
    return page.entries.map(({ kind }) => kind);
  }

  async unreadKeys(runId: string): Promise<readonly string[]> {
    return (await this.store.inbox.unread(runId)).map(({ key }) => key);
  }

  /** Wakes what other cases left behind, so that the next count is this case's alone. */
  async wakeLeftovers(): Promise<void> {
    while ((await this.store.runs.wakeParked({ limit: 1000 })) > 0);
  }
}

export function payload(value: unknown): Payload {
  return { codec: "json", data: JSON.stringify(value) };
}

export function append(name: string, value?: unknown): Effect {
  const entry = { kind: "step", name };
  return { kind: "append", entry: value === undefined ? entry : { ...entry, payload: payload(value) } };
}

export const complete: Effect = { kind: "complete", output: payload("done") };
export const handBack: Effect = { kind: "handBack" };
export const take = (messageKey: string): Effect => ({ kind: "take", messageKey });
export const pause: Effect = { kind: "pause" };

export function fail(as: Extract<Effect, { kind: "fail" }>["as"] = "failed"): Effect {
  return { kind: "fail", as, reason: payload({ message: "no" }) };
}

export function retry(delayMs: number): Effect {
  return { kind: "retry", delayMs, error: payload({ message: "again" }) };
}

export function park(options: Partial<Omit<ParkEffect, "kind">> = {}): Effect {
  return { kind: "park", wakeInMs: null, wakeAfter: 1, seenInboxSeq: 0, ...options };
}
