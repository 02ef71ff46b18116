// A store with a history that follows it, to show that the checkers notice: what is applied is reported, unless a test lies.

import type { Claim } from "../../src/kernel/run/claim.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import type { NewRun } from "../../src/kernel/run/new-run.js";
import type { Applied } from "../../src/simulator/applied.js";
import { checkApplied } from "../../src/simulator/check/applied.js";
import { History } from "../../src/simulator/check/history.js";
import type { EffectRecord } from "../../src/simulator/effect-log.js";
import type { NewMessage } from "../../src/store/contract/inbox/inbox.js";
import type { ClaimedRun, ClaimRequest, Commit, Reclaimed } from "../../src/store/contract/run/runs.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { tablesOf } from "../../src/store/memory/table/open-stores.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";

export const LEASE_MS = 1_000;
const GROUP = { env: "default", stack: null, queue: "q", program: "script", version: null };

export const park = { kind: "park", wakeInMs: null, wakeAfter: 1, seenInboxSeq: 0 } as const;
export const done = (data: string): Effect => ({ kind: "complete", output: { codec: "json", data } });
export const entry = (kind: string, name = "a", key = "1", data = "null"): Effect => ({
  kind: "append",
  entry: { kind, name, key, payload: { codec: "json", data } },
});

export class Scene {
  readonly world = new VirtualWorld();
  readonly store = memoryStore({ world: this.world });
  readonly tables = tablesOf(this.store);
  readonly history = new History(this.tables, () => this.world.monotonicNow());

  get broken(): readonly string[] {
    return this.history.violations.map(({ invariant }) => invariant);
  }

  tell(applied: Applied): void {
    checkApplied(this.history, applied, "n0.1");
  }

  newRun(more: Partial<NewRun> = {}): NewRun {
    const input = { codec: "json", data: "[]" };
    return { id: this.world.id(), group: GROUP, priority: 0, delayMs: 0, crashLimit: 3, input, ...more };
  }

  async insert(more: Partial<NewRun> = {}): Promise<NewRun> {
    const run = this.newRun(more);
    const answers = await this.store.runs.insert([run]);
    this.tell({ op: "runs.insert", args: [[run]], answer: answers });
    return run;
  }

  async clean(): Promise<void> {
    const round = { part: "generations", env: "default", everyMs: 0, keepMs: 0, limit: 100 } as const;
    this.tell({ op: "cleanUp", args: [round], answer: await this.store.cleanUp(round) });
  }

  async request(limit = 1): Promise<ClaimRequest> {
    const groupIds = await this.store.runs.groupIds([GROUP]);
    return { owner: this.world.token(), token: this.world.token(), groupIds, limit, leaseMs: LEASE_MS };
  }

  /** Registers a node with the length of its leases, as every node that renews does; returns its incarnation. */
  async node(name: string): Promise<string> {
    const incarnation = this.world.token();
    const who = { incarnation, identity: name, name, env: "default", stack: null, build: null };
    await this.store.nodes.register({ ...who, heartbeatMs: LEASE_MS, leaseMs: LEASE_MS });
    this.history.heard(incarnation);
    return incarnation;
  }

  async beat(incarnation: string): Promise<void> {
    if (await this.store.nodes.heartbeat(incarnation)) this.history.heard(incarnation);
  }

  async claim(more: Partial<ClaimRequest> = {}): Promise<ClaimedRun> {
    const request = { ...(await this.request()), ...more };
    const granted = await this.store.runs.claim(request);
    this.tell({ op: "runs.claim", args: [request], answer: granted });
    return granted[0]!;
  }

  async inserted(more: Partial<NewRun> = {}): Promise<ClaimedRun> {
    await this.insert(more);
    return this.claim();
  }

  commitOf({ runId, epoch, token }: Claim, effects: readonly Effect[]): Commit {
    return { claim: { runId, epoch, token }, expectedSeq: this.tables.runs.get(runId)!.seq, effects };
  }

  async commit(claim: Claim, ...effects: Effect[]): Promise<void> {
    const commits = [this.commitOf(claim, effects)];
    const answers = await this.store.runs.commit(commits);
    this.tell({ op: "runs.commit", args: [commits], answer: answers });
  }

  message(runId: string, key: string): NewMessage {
    const [kind, name] = key.startsWith("wait:") ? (["decision", "permit"] as const) : (["signal", "red"] as const);
    const sender = kind === "decision" ? "ann" : null;
    return { runId, key, messageId: this.world.token(), kind, name, payload: null, sender };
  }

  async send(runId: string, key: string): Promise<void> {
    const messages = [this.message(runId, key)];
    this.tell({ op: "inbox.send", args: [messages], answer: await this.store.inbox.send(messages) });
  }

  /** `lie`: what the store claims to have counted. */
  async sweep(lie: Partial<Pick<Reclaimed, "crashes">> = {}): Promise<void> {
    const reclaimed = await this.store.runs.reclaimExpired({ env: "default", limit: 10 });
    this.tell({
      op: "runs.reclaimExpired",
      args: [{ env: "default", limit: 10 }],
      answer: reclaimed.map((one) => ({ ...one, ...lie })),
    });
  }

  async wake(): Promise<void> {
    this.tell({
      op: "runs.wakeParked",
      args: [{ limit: 10 }],
      answer: await this.store.runs.wakeParked({ limit: 10 }),
    });
  }

  attempt({ runId, epoch }: Claim, more: Partial<EffectRecord> = {}): EffectRecord {
    const idempotencyKey = `${runId}:0:step:a:1`;
    const made = { no: 0, kind: "step", attempts: 3, runId, by: "n0.1", idempotencyKey, epoch, attempt: 1 } as const;
    return { ...made, at: this.world.monotonicNow(), after: [], result: null, failed: false, aborted: false, ...more };
  }
}
