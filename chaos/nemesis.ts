// The nemesis: a seeded schedule of faults. Each hits a random node for a while; at the end everything is healed.

import { setTimeout as pass } from "node:timers/promises";
import type { Chance } from "../src/simulator/chance.js";
import type { Cluster, Member } from "./cluster.js";
import { NEWEST, type Version } from "./programs.js";
import { LEASE_MS } from "./settings.js";

export const FAULTS = [
  "kill",
  "pause",
  "terminate",
  "reset",
  "cut",
  "presenceRefused",
  "swallowedReply",
  "blackHole",
  "latency",
  "databaseCrash",
  "foreignEnv",
  "roll",
  "poison",
] as const;
export type Fault = (typeof FAULTS)[number];

const WEIGHTS: readonly (readonly [number, Fault])[] = [
  [18, "kill"],
  [26, "pause"],
  [14, "terminate"],
  [12, "reset"],
  [8, "cut"],
  [8, "presenceRefused"],
  [16, "swallowedReply"],
  [8, "blackHole"],
  [6, "latency"],
  [2, "databaseCrash"],
  [3, "roll"],
  [2, "poison"],
];
/** Statements whose reply is worth losing: what the server did then is known to it alone. */
const LOST_REPLIES = ["commit_runs", "claim_runs", "renew_claims", "housekeep", "insert", "send", "wake_runs"];
const CRASHES_APART_MS = 12_000;
/** A poison run is dead after seven crashes, each with a restart; it should not keep the healing waiting for long. */
const POISON_MS = 20_000;
/** So many nodes stay untouched: somebody must be there to take over. */
const SPARED = 2;

interface Hands {
  readonly say: (line: string) => void;
  /** Starts a run that kills its process. */
  readonly poison: () => void;
}

export class Nemesis {
  readonly counts: Record<Fault, number>;
  readonly #cluster: Cluster;
  readonly #chance: Chance;
  readonly #faults: readonly Fault[];
  readonly #say: (line: string) => void;
  readonly #startPoison: () => void;
  readonly #stop = new AbortController();
  readonly #pending = new Set<Promise<void>>();
  #lastCrash = Number.NEGATIVE_INFINITY;
  #lastPoison = Number.NEGATIVE_INFINITY;
  #version: Version = 1;
  #rolling = false;
  #until = 0;

  constructor(cluster: Cluster, chance: Chance, faults: readonly Fault[], { say, poison }: Hands) {
    this.#cluster = cluster;
    this.#chance = chance;
    this.#faults = faults;
    this.#say = say;
    this.#startPoison = poison;
    this.counts = Object.fromEntries(faults.map((fault) => [fault, 0])) as Record<Fault, number>;
  }

  /** Does harm until the time is over. Each kind comes once before chance decides alone. */
  async run(ms: number): Promise<void> {
    this.#until = performance.now() + ms;
    const first = shuffled(this.#faults, this.#chance);
    const weights = WEIGHTS.filter(([, fault]) => this.#faults.includes(fault));
    while (performance.now() < this.#until) {
      const fault = first[0] ?? this.#chance.weighted(weights);
      if (await this.#strike(fault)) first.shift();
      await pass(this.#chance.between(150, 550));
    }
  }

  /** Ends every fault and waits until the cluster is whole again. */
  async heal(): Promise<void> {
    this.#stop.abort();
    for (const { relief } of this.#cluster.members) relief?.();
    await Promise.all(this.#pending);
    await this.#cluster.database.open();
    for (const member of this.#cluster.members) {
      member.proxy.mode = "pass";
      member.proxy.refuse = "none";
      member.process?.kill("SIGCONT");
      if (member.process === null) await this.#cluster.spawn(member);
    }
    // What the newest code has moved on needs it.
    const older = this.#cluster.members.filter(({ version }) => version !== NEWEST);
    if (this.counts.roll > 0) await Promise.all(older.map((member) => this.#cluster.roll(member, NEWEST)));
  }

  /** False: nobody is left whom this could be done to now. */
  async #strike(fault: Fault): Promise<boolean> {
    if (fault === "databaseCrash") return this.#crashDatabase();
    if (fault === "terminate") return this.#terminate();
    if (fault === "swallowedReply") return this.#swallowReply();
    if (fault === "foreignEnv") return this.#startForeign();
    if (fault === "roll") return this.#roll();
    if (fault === "poison") return this.#poison();
    const well = this.#cluster.members.filter(({ relief, process }) => relief === null && process !== null);
    if (fault === "reset") return this.#reset(well);
    if (well.length <= SPARED) return false;
    const member = this.#chance.one(well);
    if (fault === "kill") this.#kill(member);
    else if (fault === "pause") this.#pause(member);
    else if (fault === "cut" || fault === "presenceRefused") this.#refuse(member, fault);
    else this.#disturb(member, fault);
    return true;
  }

  #kill(member: Member): void {
    this.#done("kill", member.name);
    this.#cluster.kill(member);
    this.#during(member, this.#chance.between(200, 1_500), () => this.#cluster.spawn(member));
  }

  /** From a moment after the lease is over to a lease later: the write that comes then is late by much or by little. */
  #pause(member: Member): void {
    const ms = LEASE_MS + this.#chance.between(200, 2_500);
    this.#done("pause", `${member.name} for ${Math.round(ms)} ms`);
    const child = member.process!;
    child.kill("SIGSTOP");
    const from = Date.now();
    this.#during(member, ms, () => {
      child.kill("SIGCONT");
      this.#cluster.pauses.push({ pid: child.pid!, from, until: Date.now() });
    });
  }

  #disturb(member: Member, fault: "blackHole" | "latency"): void {
    const ms = this.#chance.between(1_000, 5_000);
    this.#done(fault, `${member.name} for ${Math.round(ms)} ms`);
    member.proxy.mode = fault === "blackHole" ? "blackhole" : this.#chance.int(20, 250);
    this.#during(member, ms, () => {
      member.proxy.mode = "pass";
    });
  }

  /** Resets, and refuses what is opened again: everything, or only the connection that holds the presence lock. */
  #refuse(member: Member, fault: "cut" | "presenceRefused"): void {
    const ms = this.#chance.between(1_000, 5_000);
    this.#done(fault, `${member.name} for ${Math.round(ms)} ms`);
    member.proxy.refuse = fault === "cut" ? "all" : "presence";
    this.#during(member, ms, () => {
      member.proxy.refuse = "none";
    });
  }

  async #startForeign(): Promise<boolean> {
    if (await this.#cluster.startForeign()) this.#done("foreignEnv", "");
    return true;
  }

  #poison(): boolean {
    const now = performance.now();
    if (now - this.#lastPoison < POISON_MS || (this.counts.poison > 0 && now > this.#until - POISON_MS)) return false;
    this.#lastPoison = now;
    this.#done("poison", "");
    this.#startPoison();
    return true;
  }

  /** One node after the other is restarted with the other version of the code, while others are harmed. */
  #roll(): boolean {
    if (this.#rolling) return false;
    this.#rolling = true;
    this.#version = this.#version === 1 ? 2 : 1;
    const version = this.#version;
    this.#done("roll", `to version ${version}`);
    this.#track(
      (async () => {
        for (const member of this.#cluster.members) {
          while (member.relief !== null && !this.#stop.signal.aborted) await pass(50);
          if (this.#stop.signal.aborted) break;
          member.relief = () => {};
          await this.#cluster.roll(member, version);
          member.relief = null;
        }
        this.#rolling = false;
      })(),
    );
    return true;
  }

  #reset(well: readonly Member[]): boolean {
    const proxies = [this.#cluster.clientProxy, ...well.map(({ proxy }) => proxy)];
    this.#done("reset", "");
    this.#chance.one(proxies).resetAll();
    return true;
  }

  #swallowReply(): boolean {
    const members = this.#cluster.members.map(({ proxy }) => proxy);
    const proxy = this.#chance.one([this.#cluster.clientProxy, ...members]);
    const statement = this.#chance.one(LOST_REPLIES);
    // Counted when it has happened: a node that is paused sends nothing.
    void proxy
      .loseNextReply((request) => request.includes(statement))
      .then(() => this.#done("swallowedReply", statement));
    return true;
  }

  async #terminate(): Promise<boolean> {
    if (!this.#cluster.database.running) return false;
    const found = await this.#cluster.database
      .query<{ pid: number }>("select pid from pg_stat_activity where application_name = 'holdfast' order by pid")
      .catch(() => []);
    if (found.length === 0) return false;
    const pids = Array.from({ length: this.#chance.int(1, 3) }, () => this.#chance.one(found).pid);
    await this.#cluster.database
      .query("select pg_terminate_backend(pid) from unnest($1::int[]) pid", [pids])
      .catch(() => {});
    this.#done("terminate", "");
    return true;
  }

  #crashDatabase(): boolean {
    const { database } = this.#cluster;
    if (!database.running || performance.now() - this.#lastCrash < CRASHES_APART_MS) return false;
    this.#lastCrash = performance.now();
    this.#done("databaseCrash", "");
    const downMs = this.#chance.between(100, 1_500);
    this.#track(
      (async () => {
        await database.crash();
        await pass(downMs);
        await database.open();
      })(),
    );
    return true;
  }

  /** `end` comes after so long, or when everything is healed. */
  #during(member: Member, ms: number, end: () => void | Promise<void>): void {
    let relieved = () => {};
    const early = new Promise<void>((resolve) => {
      relieved = resolve;
    });
    member.relief = relieved;
    this.#track(
      (async () => {
        await Promise.race([pass(ms, undefined, { signal: this.#stop.signal }).catch(() => {}), early]);
        await end();
        member.relief = null;
      })(),
    );
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }

  #done(fault: Fault, detail: string): void {
    this.counts[fault]++;
    this.#say(`${fault} ${detail}`);
  }
}

function shuffled<T>(items: readonly T[], chance: Chance): T[] {
  return items
    .map((item) => [chance.random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}
