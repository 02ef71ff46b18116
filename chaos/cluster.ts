// The processes: one PostgreSQL, and nodes that each reach it through a proxy of their own.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pass } from "node:timers/promises";
import { postgres } from "../src/store/postgres/index.js";
import { type FaultProxy, startProxy } from "../test/harness/proxy.js";
import { installAudit } from "./audit.js";
import { compileChild } from "./compile-child.js";
import { Database } from "./database.js";
import type { ChildConfig } from "./node.child.js";
import type { LoggedMark, Version } from "./programs.js";

const STOP_MS = 8_000;
/** For a deployment in the middle of the harm: its grace, and a goodbye that the database does not answer. */
const ROLL_MS = 12_000;
/** As soon as a supervisor starts it again. */
const RESPAWN_MS = 500;
const STDERR_KEPT = 2_000;

export interface Member {
  readonly name: string;
  readonly proxy: FaultProxy;
  process: ChildProcess | null;
  /** Something is being done to it: what ends it, early or in time. */
  relief: (() => void) | null;
  /** Of the code it is started with. */
  version: Version;
  /** In another env. */
  readonly foreign: boolean;
}

export interface Pause {
  readonly pid: number;
  readonly from: number;
  readonly until: number;
}

interface Told {
  readonly event: "ready" | "poisoned" | "run.broken";
  readonly incarnation?: string;
  readonly error?: string;
}

export class Cluster {
  readonly database: Database;
  readonly members: Member[] = [];
  /** The way of the outside client. */
  readonly clientProxy: FaultProxy;
  /** Processes that ended although nobody killed them, and what they had to say. */
  readonly surprises: string[] = [];
  /** When the process of an incarnation was killed or had ended, by the machine's clock, which is the database's, too. */
  readonly endedAt = new Map<string, number>();
  /** When which process was frozen: it cannot know what happened meanwhile, and is late with everything. */
  readonly pauses: Pause[] = [];
  readonly #folder: string;
  readonly #program: string;
  readonly #expected = new WeakSet<ChildProcess>();
  readonly #incarnations = new Map<ChildProcess, string>();
  #foreign: Member | null = null;
  #stopping = false;

  private constructor(database: Database, clientProxy: FaultProxy, folder: string, program: string) {
    this.database = database;
    this.clientProxy = clientProxy;
    this.#folder = folder;
    this.#program = program;
  }

  static async start(nodes: number): Promise<Cluster> {
    const database = await Database.start();
    const store = postgres(database.url);
    await store.migrate();
    await store.close();
    await installAudit(database);
    const folder = await mkdtemp(join(tmpdir(), "holdfast-chaos-log-"));
    const cluster = new Cluster(
      database,
      await startProxy(database.address),
      folder,
      await compileChild(join(import.meta.dirname, "node.child.ts")),
    );
    await writeFile(cluster.#logPath, "");
    for (let i = 0; i < nodes; i++) {
      cluster.members.push(await cluster.#member(`node-${String.fromCharCode(97 + i)}`, false));
    }
    process.once("exit", () => cluster.#killAll());
    await Promise.all(cluster.members.map((member) => cluster.spawn(member)));
    return cluster;
  }

  async #member(name: string, foreign: boolean): Promise<Member> {
    const proxy = await startProxy(this.database.address);
    return { name, proxy, process: null, relief: null, version: 1, foreign };
  }

  get clientUrl(): string {
    return this.clientProxy.url(this.database.url);
  }

  get #logPath(): string {
    return join(this.#folder, "effects.jsonl");
  }

  /** Resolves when the node is at work, or ended before that. */
  async spawn(member: Member): Promise<void> {
    const { name, version, foreign } = member;
    const url = member.proxy.url(this.database.url);
    const config: ChildConfig = { url, name, version, foreign, logPath: this.#logPath };
    const child = fork(this.#program, [], {
      execArgv: [],
      env: { ...process.env, HOLDFAST_CHAOS_CHILD: JSON.stringify(config) },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    member.process = child;
    let said = "";
    child.stderr!.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-STDERR_KEPT);
    });
    child.on("message", ({ event, incarnation, error }: Told) => {
      if (event === "ready") this.#incarnations.set(child, incarnation!);
      if (event === "run.broken") this.surprises.push(`${member.name}: run broken: ${error}`);
      if (event === "poisoned") this.#poisoned(member, child);
    });
    child.on("exit", (code, signal) => {
      this.#ended(child);
      if (this.#expected.has(child)) return;
      // It gave up on a database that was away for too long; its supervisor starts it again.
      if (!this.#incarnations.has(child) && said.includes("STORE_UNAVAILABLE")) void this.#startAgain(member, child);
      else this.surprises.push(`${member.name} ended by itself (${code ?? signal}): ${said}`);
    });
    await Promise.race([once(child, "message"), once(child, "exit")]);
  }

  kill(member: Member, signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): void {
    if (member.process === null) return;
    this.#expected.add(member.process);
    member.process.kill(signal);
    if (signal !== "SIGKILL") return;
    this.#ended(member.process);
    member.process = null;
  }

  /** Restarts a member with another version of the code, in order. */
  async roll(member: Member, version: Version): Promise<void> {
    const child = member.process;
    member.version = version;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      this.kill(member, "SIGTERM");
      await Promise.race([ended, pass(ROLL_MS, undefined, { ref: false })]);
      if (member.process === child) this.kill(member);
    }
    // A poison run may have ended it meanwhile, and its supervisor started it again, with this version.
    if (member.process === null) await this.spawn(member);
  }

  /** A node of another env, on the same database; it stays. False: it is there already. */
  async startForeign(): Promise<boolean> {
    if (this.#foreign) return false;
    this.#foreign = await this.#member("foreign", true);
    await this.spawn(this.#foreign);
    return true;
  }

  #ended(child: ChildProcess): void {
    const incarnation = this.#incarnations.get(child);
    if (incarnation !== undefined && !this.endedAt.has(incarnation)) this.endedAt.set(incarnation, Date.now());
  }

  /** It kills itself in the next moment; its supervisor starts it again. */
  #poisoned(member: Member, child: ChildProcess): void {
    this.#expected.add(child);
    this.#ended(child);
    child.once("exit", () => void this.#startAgain(member, child));
  }

  async #startAgain(member: Member, child: ChildProcess): Promise<void> {
    if (member.process === child) member.process = null;
    do await pass(RESPAWN_MS, undefined, { ref: false });
    while (member.relief !== null);
    if (member.process === null && !this.#stopping) await this.spawn(member);
  }

  /** Every process that is alive, stopped in order, and after a while not so. */
  async stopNodes(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      this.#all().map(async (member) => {
        const child = member.process;
        if (child === null || child.exitCode !== null) return;
        const ended = once(child, "exit");
        this.kill(member, "SIGTERM");
        if (await Promise.race([ended.then(() => true), pass(STOP_MS, false, { ref: false })])) return;
        this.surprises.push(`${member.name} did not stop within ${STOP_MS} ms`);
        this.kill(member);
      }),
    );
  }

  /** What the nodes wrote down before they began a step; survives any kill. */
  async marks(): Promise<LoggedMark[]> {
    const lines = (await readFile(this.#logPath, "utf8")).split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as LoggedMark);
  }

  /** Answers where the data is when it was to be kept. */
  async stop(options: { keep: boolean }): Promise<string | null> {
    this.#killAll();
    await Promise.all([this.clientProxy.stop(), ...this.#all().map(({ proxy }) => proxy.stop())]);
    await rm(this.#program, { force: true });
    await rm(this.#folder, { recursive: true, force: true });
    return this.database.stop(options);
  }

  #killAll(): void {
    this.#stopping = true;
    for (const member of this.#all()) this.kill(member);
  }

  #all(): readonly Member[] {
    return this.#foreign ? [...this.members, this.#foreign] : this.members;
  }
}
